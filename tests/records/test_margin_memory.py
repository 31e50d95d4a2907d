"""Margins of cubes in memory: the same integers as the cube itself, and never more bytes than were allowed."""

import copy
import pickle

import pytest

from discreet.records import margin_memory
from discreet.records.cube import read_cube, write_cube
from discreet.records.engine import AggregateQuery
from discreet.records.margin_memory import MarginMemory
from discreet.records.sparse_sums import added_up

VARIABLES = ("area", "age", "sex", "job")


@pytest.fixture
def dataset(town_workspace):
    return town_workspace.stored("town").dataset


@pytest.fixture
def cube(town_workspace, dataset, tmp_path):
    live = town_workspace.stored("town").engine._records()
    write_cube(live, dataset, VARIABLES, tmp_path / "cube.arrow", 3000, 3000)
    return read_cube(dataset, VARIABLES, tmp_path / "cube.arrow")


def told(cells):
    groups = zip(*(codes.tolist() for codes in cells.codes), strict=True)
    return sorted(zip(groups, cells.counts.tolist(), cells.key_sums.tolist(), strict=True))


def slowly(cube, dataset, query):
    """All rows of the cube that the filters leave, added up."""
    return added_up(cube.cells(query), [len(dataset.variable(name)) for name in query.group_by])


def queries(dataset):
    """Every pair of variables, a level above one of them among these, with and without a filter on a third."""
    names = ("region", *VARIABLES[1:])
    for first in names:
        for second in names:
            if first < second:
                yield AggregateQuery((first, second))
                yield AggregateQuery((second, first), ((first, (0,)),))
                for other in set(names) - {first, second}:
                    yield AggregateQuery((first, second), ((other, (0, 1)),))


def test_every_margin_tells_what_its_cube_tells(cube, dataset, monkeypatch):
    """The wrong alternative: a margin that was kept without the variable of a filter."""
    monkeypatch.setattr(margin_memory, "GAIN", 0)  # the town is small: keep whatever is asked
    memory, asked = MarginMemory(dataset), list(queries(dataset))
    for query in (*asked, *asked):
        margin = memory.of(cube, query)
        assert margin is not cube
        assert told(slowly(margin, dataset, query)) == told(slowly(cube, dataset, query))
    filtered = next(query for query in asked if query.filters and query.filters[0][0] not in query.group_by)
    wrong = cube.margin(AggregateQuery(filtered.group_by))
    with pytest.raises(StopIteration):
        wrong.cells(filtered)


def test_a_margin_is_added_up_once(cube, dataset, monkeypatch):
    monkeypatch.setattr(margin_memory, "GAIN", 0)
    memory, query = MarginMemory(dataset), AggregateQuery(("sex",))
    assert memory.of(cube, query) is memory.of(cube, AggregateQuery(("sex",), (("sex", (0,)),)))
    assert memory.of(cube, query) is not memory.of(cube, AggregateQuery(("sex", "age")))


def test_memory_is_bounded_and_what_was_not_used_longest_goes_first(cube, dataset, monkeypatch):
    """The wrong alternative: to keep everything that was ever asked."""
    monkeypatch.setattr(margin_memory, "GAIN", 0)
    monkeypatch.setattr(margin_memory, "LARGEST_SHARE", 1)
    first, second = AggregateQuery(("age", "sex")), AggregateQuery(("sex",))
    all_bytes, memory = MarginMemory(dataset), MarginMemory(dataset, 0)
    for query in (first, second):
        all_bytes.of(cube, query)
    assert memory.of(cube, second) is cube
    memory = MarginMemory(dataset, all_bytes.size - 1)
    kept = memory.of(cube, first)
    memory.of(cube, second)
    assert 0 < memory.size < all_bytes.size
    assert memory.of(cube, first) is not kept


def test_a_margin_that_is_no_smaller_than_its_cube_is_not_kept(cube, dataset):
    memory = MarginMemory(dataset)
    assert memory.of(cube, AggregateQuery(VARIABLES)) is cube
    assert memory.size == 0


def test_it_is_confidential(dataset):
    memory = MarginMemory(dataset)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(memory)
