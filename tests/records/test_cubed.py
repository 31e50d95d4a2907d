"""Which cube answers, and what happens where the records are away."""

import pytest

from discreet.errors import RecordsAway
from discreet.records.cube import read_cube, told_by, write_cube
from discreet.records.cubed import CubedEngine, ShelvedCube
from discreet.records.engine import AggregateQuery, InParts

COVERED, OTHER = AggregateQuery(("region",), (("age", (0,)),)), AggregateQuery(("sex",))


class Shelf:
    def __init__(self, *cubes):
        self._cubes = cubes

    def cubes(self):
        return self._cubes


@pytest.fixture
def live(town_workspace):
    return town_workspace.stored("town").engine._records()


@pytest.fixture
def dataset(town_workspace):
    return town_workspace.stored("town").dataset


@pytest.fixture
def shelved(live, dataset, tmp_path):
    """Cubes of two margins; `opened` remembers which was read."""
    opened = []

    def shelve(*variables, broken=False):
        path = tmp_path / f"{'-'.join(variables)}.arrow"
        rows = write_cube(live, dataset, variables, path, 3000, 3000)

        def read():
            opened.append(variables)
            return None if broken else read_cube(dataset, variables, path)

        return ShelvedCube(told_by(dataset, variables), rows, read)

    shelve.opened = opened
    return shelve


def away():
    raise RecordsAway("The records are away.")


def told(cells):
    groups = zip(*(codes.tolist() for codes in cells.codes), strict=True)
    return sorted(zip(groups, cells.counts.tolist(), cells.key_sums.tolist(), strict=True))


def test_the_smallest_cube_that_covers_answers(live, dataset, shelved):
    shelf = Shelf(shelved("area", "age"), shelved("area", "age", "job"))
    engine = CubedEngine(dataset, shelf, away)
    assert told(engine.aggregate(COVERED)) == told(live.aggregate(COVERED))
    assert shelved.opened == [("area", "age")]
    assert isinstance(engine, InParts)
    (part,) = engine.parts(AggregateQuery(("area", "age")))
    assert told(part) == told(live.aggregate(AggregateQuery(("area", "age"))))


def test_a_cube_that_is_not_as_sealed_is_passed_over(live, dataset, shelved):
    """The wrong alternative: to answer nothing, or to answer from it."""
    engine = CubedEngine(dataset, Shelf(shelved("area", "age", broken=True)), lambda: live)
    assert told(engine.aggregate(COVERED)) == told(live.aggregate(COVERED))
    assert shelved.opened == [("area", "age")]


def test_what_no_cube_covers_needs_the_records(live, dataset, shelved):
    back = []
    engine = CubedEngine(dataset, Shelf(shelved("area", "age")), lambda: back[0] if back else away())
    with pytest.raises(RecordsAway):
        engine.aggregate(OTHER)
    with pytest.raises(RecordsAway):
        engine.sound()
    back.append(live)
    assert told(engine.aggregate(OTHER)) == told(live.aggregate(OTHER)), "they may come back"


def test_without_records_and_cubes_nothing_is_opened(dataset):
    with pytest.raises(RecordsAway):
        CubedEngine(dataset, Shelf(), away)
