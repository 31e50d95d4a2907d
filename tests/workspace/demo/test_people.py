"""The questions of the census: what cannot occur is declared, with codes that exist."""

from __future__ import annotations

import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.demo import census_description, people
from discreet.workspace.demo.people import census_zeros

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


def test_who_is_employed_has_an_occupation():
    occupation = people.occupation_weights()
    assert not occupation[..., 1:, :8, people.EMPLOYED, people.NO_OCCUPATION].any()
    assert occupation[..., 1:, :8, people.UNEMPLOYED, people.NO_OCCUPATION].all()


def test_no_masters_degree_before_twenty():
    education = people.education_weights()
    assert not education[..., people.ADULT, people.MASTER].any()
    assert education[..., people.ADULT + 1 :, people.MASTER].all()


def test_every_structural_zero_names_codes_that_its_variables_have():
    dataset = parse_dataset(census_description(5000))
    assert len(dataset.structural_zeros) == len(census_zeros())
    for zero in dataset.structural_zeros:
        for name, codes in zero.where:
            assert codes <= set(dataset.variable(name).codes), zero.label
            assert codes != set(dataset.variable(name).codes), zero.label
