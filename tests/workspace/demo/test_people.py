"""The questions of the census: what cannot occur is declared, with codes that exist."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.demo import census_description, people
from discreet.workspace.demo.geography import Kind, Milieu
from discreet.workspace.demo.people import AGE, AGES, census_zeros

ALL_WEIGHTS = [
    people.age_sex_weights,
    people.birthplace_weights,
    people.education_weights,
    people.employment_weights,
    people.occupation_weights,
]


@pytest.mark.parametrize("weights", ALL_WEIGHTS)
def test_every_die_has_a_face_to_fall_on_and_no_negative_weight(weights):
    table = weights()
    assert (table >= 0).all()
    assert (table.sum(axis=-1) > 0).all()


def test_children_have_only_the_answer_not_applicable_and_adults_never():
    education, employment = people.education_weights(), people.employment_weights()
    assert not education[..., : people.ADULT, : people.CHILD_EDUCATION].any()
    assert not education[..., people.ADULT :, people.CHILD_EDUCATION].any()
    assert not employment[..., : people.ADULT, :, : people.CHILD_EMPLOYMENT].any()
    assert not employment[..., people.ADULT :, :, people.CHILD_EMPLOYMENT].any()
    occupation = people.occupation_weights()
    assert not occupation[..., 0, :, :, : people.CHILD_OCCUPATION].any()
    assert not occupation[..., 1:, :8, :4, people.CHILD_OCCUPATION].any()


def test_who_is_employed_has_an_occupation():
    occupation = people.occupation_weights()
    assert not occupation[..., 1:, :8, people.EMPLOYED, people.NO_OCCUPATION].any()
    assert occupation[..., 1:, :8, people.UNEMPLOYED, people.NO_OCCUPATION].all()


def test_no_masters_degree_before_twenty():
    education = people.education_weights()
    assert not education[..., people.ADULT, people.MASTER].any()
    assert education[..., people.ADULT + 1 :, people.MASTER].all()


def test_the_share_without_an_occupation_is_what_the_table_says():
    occupation = people.occupation_weights()[..., 1:, :8, people.STUDENT, :]
    shares = occupation[..., people.NO_OCCUPATION] / occupation.sum(axis=-1)
    stated = people._PEOPLE_FIGURES["no_occupation"][people.STUDENT]
    assert shares == pytest.approx(np.broadcast_to(stated[:, None], shares.shape))


def test_kinds_of_neighbourhood_have_the_people_they_are_named_after():
    shares = people.age_sex_weights()
    shares = (shares / shares.sum(axis=1, keepdims=True)).reshape(len(Kind), 2, people.BANDS)
    ages = shares.sum(axis=1)
    assert ages[Kind.CAMPUS, 3:5].sum() > 3 * ages[Kind.TOWN, 3:5].sum()
    assert ages[Kind.RETIREMENT, 13:].sum() > 1.5 * ages[Kind.TOWN, 13:].sum()
    assert shares[Kind.GARRISON, people.MALE, 4] > 1.5 * shares[Kind.GARRISON, people.FEMALE, 4]


def test_students_live_on_campus_and_the_unemployed_in_deprived_areas():
    employment = people.employment_weights()
    shares = employment / employment.sum(axis=-1, keepdims=True)
    young = shares[:, :, :, people.ADULT + 1, :8]
    assert (young[Milieu.CAMPUS, ..., people.STUDENT] > young[Milieu.ORDINARY, ..., people.STUDENT]).all()
    assert (
        young[Milieu.DEPRIVED, ..., people.UNEMPLOYED] > young[Milieu.ORDINARY, ..., people.UNEMPLOYED]
    ).all()


def test_ages_are_five_year_bands_without_a_gap():
    assert len(AGE.categories) == len(AGES)
    starts = [int(band.split("-")[0].rstrip("+")) for band in AGES]
    assert starts == list(range(0, 5 * len(AGES), 5))


def test_every_structural_zero_names_codes_that_its_variables_have():
    dataset = parse_dataset(census_description(5000))
    assert len(dataset.structural_zeros) == len(census_zeros())
    for zero in dataset.structural_zeros:
        for name, codes in zero.where:
            assert codes <= set(dataset.variable(name).codes), zero.label
            assert codes != set(dataset.variable(name).codes), zero.label
