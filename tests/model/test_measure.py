"""Promises and notes speak of what a dataset counts; those of a dataset of persons stay as they were, word for word."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.measure import COUNT, DEFAULT_MEASURE, PERSON, unit_of, unit_title
from discreet.model.messages.text import message
from discreet.model.noise_distribution import NoiseDistribution, depends_on_count
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.claim import Claim
from discreet.release.notes import mandatory_note


@pytest.fixture
def dataset(town_workspace):
    return town_workspace.stored("town").dataset


def test_persons_people_and_records_are_persons(dataset):
    for unit in ("persons", "people", "records"):
        assert unit_of(replace(dataset, unit=unit)) == PERSON
    assert unit_of(replace(dataset, unit="households")).one == "one of the households"
    stays = replace(dataset, unit="stays", unit_column="patient")
    assert unit_of(stays).one == 'one unit of the column "patient"'  # not: one of the stays


def test_a_sentence_of_others_has_the_values_of_the_one_of_people(dataset):
    pair = message("{n} counts of one person", n=3), message("{n} counts of {one} and other {many}")
    assert PERSON.says(*pair) is pair[0]
    farms = unit_of(replace(dataset, unit="farms"))
    assert farms.says(*pair) == "3 counts of one of the farms and other farms"


@pytest.mark.parametrize("additivity", ["independent", "interior", "fitted"])
def test_notes_of_households_speak_of_no_people(dataset, additivity):
    note = mandatory_note(replace(dataset, unit="households"), additivity)
    assert "households" in note
    assert "people" not in note
    assert "people" in mandatory_note(replace(dataset, unit="persons"), additivity)


def test_claims_and_promises_of_households_name_no_person(town_workspace, dataset):
    homes = replace(dataset, unit="households")
    said = " ".join(town_workspace.stored("town").protector.promise(homes))
    assert "one of the households added or removed" in said
    assert "person" not in said
    assert "people" not in said
    claim = Claim(0.5, 1e-6, "basic", unit=unit_of(homes), records_per_unit=2)
    assert "one of the households (of at most 2 records) added or removed" in claim.sentence
    assert "3 units" in claim.for_group(3).sentence


@pytest.fixture(scope="module")
def dataset_measure(town):
    return parse_dataset(town.description)


def test_a_title_begins_with_the_unit_and_keeps_its_other_capitals(dataset_measure):
    assert unit_title(dataset_measure) == "Persons"
    assert unit_title(replace(dataset_measure, unit="owners of BMWs")) == "Owners of BMWs"


def test_every_dataset_has_counts_without_errors(dataset_measure):
    assert COUNT.name == DEFAULT_MEASURE
    assert COUNT.refuse(dataset_measure) is None
    assert COUNT.about(dataset_measure) is None
    assert (COUNT.is_count, COUNT.has_errors) == (True, False)


NARROW = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
BY_COUNT = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-2, 2), (2, 4))))


class ByHand(NoiseDistribution):
    """Two laws, laid out by hand."""

    laws = (NARROW, BY_COUNT)
    kind = np.array([[0, 1, 0], [1, 1, 0]])
    impossible = np.zeros((2, 3), dtype=bool)

    def source(self, *_place):
        return None

    def cut(self, _places):
        raise NotImplementedError

    def document(self):
        return {}


def test_each_cell_has_the_law_and_the_largest_variance_of_its_kind():
    law = ByHand()
    assert law.at(0, 0) is NARROW
    assert law.at(1, 1) is BY_COUNT
    assert law.variance().tolist() == [[0.5, 4.0, 0.5], [4.0, 4.0, 0.5]]


def test_the_masks_of_all_laws_share_no_cell_and_leave_none_out():
    masks = [mask for mask, _ in ByHand().kinds()]
    assert sum(mask.astype(int) for mask in masks).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert [law for _, law in ByHand().kinds()] == [NARROW, BY_COUNT]


def test_noise_of_several_rows_depends_on_the_count():
    assert depends_on_count(BY_COUNT)
    assert not depends_on_count(NARROW)
