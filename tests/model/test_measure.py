"""Promises and notes speak of what a dataset counts; each cell has the noise distribution of its kind."""

from dataclasses import replace

import numpy as np

from discreet.model.messages.text import message
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.request import PERSON, unit_of
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.claim import Claim
from discreet.release.notes import mandatory_note


def test_persons_people_and_records_are_persons_and_others_have_their_own_sentence(dataset):
    for unit in ("persons", "people", "records"):
        assert unit_of(replace(dataset, unit=unit)) == PERSON
    assert unit_of(replace(dataset, unit="households")).one == "one of the households"
    stays = replace(dataset, unit="stays", unit_column="patient")
    assert unit_of(stays).one == 'one unit of the column "patient"'  # not: one of the stays
    pair = message("{n} counts of one person", n=3), message("{n} counts of {one} and other {many}")
    assert PERSON.says(*pair) is pair[0]
    farms = unit_of(replace(dataset, unit="farms"))
    assert farms.says(*pair) == "3 counts of one of the farms and other farms"


def test_notes_claims_and_promises_of_households_name_no_person(town_workspace, dataset):
    homes = replace(dataset, unit="households")
    for additivity in ("independent", "interior", "fitted"):
        note = mandatory_note(homes, additivity)
        assert "households" in note
        assert "people" not in note
        assert "people" in mandatory_note(replace(dataset, unit="persons"), additivity)
    said = " ".join(town_workspace.stored("town").protector.promise(homes))
    assert "one of the households added or removed" in said
    assert "person" not in said
    assert "people" not in said
    claim = Claim(0.5, 1e-6, "basic", unit=unit_of(homes), records_per_unit=2)
    assert "one of the households (of at most 2 records) added or removed" in claim.sentence
    assert "3 units" in claim.for_group(3).sentence


NARROW = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
BY_COUNT = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-2, 2), (2, 4))))


class ByHand(NoiseDistribution):
    """Two distributions, laid out by hand."""

    distributions = (NARROW, BY_COUNT)
    kind = np.array([[0, 1, 0], [1, 1, 0]])
    impossible = np.zeros((2, 3), dtype=bool)
    source = cut = document = NotImplemented


def test_each_cell_has_the_distribution_and_the_largest_variance_of_its_one_kind():
    distribution = ByHand()
    assert distribution.at(0, 0) is NARROW
    assert distribution.at(1, 1) is BY_COUNT
    assert distribution.variance().tolist() == [[0.5, 4.0, 0.5], [4.0, 4.0, 0.5]]
    masks, found = zip(*distribution.kinds(), strict=True)
    assert sum(mask.astype(int) for mask in masks).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert found == (NARROW, BY_COUNT)
