"""A listing as a value: what it is called, and that its lines have the columns of a table."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.model import columns
from discreet.model.columns import NONE, ListedCells, Listing, Numbers, blocks, numbers_of, places_of
from discreet.model.request import request_from_text
from discreet.model.sdmx import dataset_flow, flow_of, sdmx_id, structure_version
from discreet.release.pipeline import release_table

ONE = np.array([1], dtype=np.int32)


def listing(release):
    cells = ListedCells((ONE, ONE, ONE), np.array([7]), np.array([3], dtype=np.uint8))
    nothing = ListedCells((ONE[:0],) * 3, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))
    names = ("dataset", "digest", "request", "dimensions", "notes", "promise", "measure")
    return Listing(*(getattr(release, name) for name in names), nothing, iter([cells]))


def test_it_is_called_as_its_table_and_has_its_columns(town_release):
    found = listing(town_release)
    assert found.title == town_release.title
    assert found.query.endswith("nonzero=yes")
    assert [n.name for n in numbers_of(found, NONE)] == [n.name for n in numbers_of(town_release, NONE)]
    (part,) = columns.parts(found)
    assert numbers_of(found, part)[0].listed() == [7]
    assert columns.statuses_of(found, part).tolist() == [3]
    assert [places.tolist() for _, places in places_of(found, part)] == [[1]] * 3
    assert [places.size for _, places in places_of(found, NONE)] == [0] * 3


def test_lines_are_the_cells_in_order(town_release):
    """Wrong alternative: columns with the first variable fastest."""
    found = [places.tolist() for _, places in places_of(town_release)]
    assert list(zip(*found, strict=True)) == list(np.ndindex(town_release.values.shape))
    (value,) = numbers_of(town_release)
    assert value.name == "value"
    for place, number in zip(np.ndindex(town_release.values.shape), value.listed(), strict=True):
        assert number == (None if town_release.missing[place] else town_release.values[place])


def test_numbers_beside_the_value_are_missing_with_it_and_where_there_is_none(town_release):
    shape = town_release.values.shape
    status, tenths = np.zeros(shape, np.uint8), np.full(shape, 125)
    status.flat[0], tenths.flat[1] = 1, -1
    beside = {"signed": -np.ones(shape, np.int64), "errors": tenths, "noise_shares": tenths}
    numbers = numbers_of(replace(town_release, status=status, **beside))
    names = [column.name for column in numbers]
    assert names == ["value", "signed", "relative_standard_error", "noise_share"]
    assert numbers[1].listed()[:2] == [None, -1]
    assert numbers[2].listed()[:3] == numbers[3].listed()[:3] == [None, None, 12.5]


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
def test_blocks_are_the_lines_of_the_whole_whatever_the_layout_in_memory(town_release, size):
    """Wrong alternative: blocks of the memory, which is in another order where an array was transposed."""
    arrays = {name: getattr(town_release, name).copy("F") for name in ("values", "noisy", "status")}
    turned = replace(town_release, **arrays)
    assert not turned.values.flags.c_contiguous
    whole, (value,) = [p.tolist() for _, p in places_of(town_release)], numbers_of(town_release)
    parts = list(blocks(turned, size))
    assert [n for lines in parts for n in range(lines.start, lines.stop)] == list(range(turned.cells))
    for axis, expected in enumerate(whole):
        assert [p for lines in parts for p in list(places_of(turned, lines))[axis][1].tolist()] == expected
    assert [n for lines in parts for n in numbers_of(turned, lines)[0].listed()] == value.listed()


def test_lines_can_be_named_one_by_one_or_not_at_all(town_release):
    lines = np.array([5, 0, 17])
    (some,), (value,) = numbers_of(town_release, lines), numbers_of(town_release)
    assert some.listed() == [value.listed()[line] for line in lines]
    (none,) = numbers_of(town_release, NONE)
    assert (none.name, none.meaning, none.listed()) == ("value", "Persons", [])


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_a_fault_and_no_text(number):
    """Wrong alternative: `nan` in a document, which JSON does not have."""
    with pytest.raises(ValueError, match="finite"):
        Numbers("value", "", np.array([number]), np.array([False]))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True, max_size=5))
def test_ids_are_allowed_by_sdmx_and_different_codes_stay_different(codes):
    """Wrong alternative: a bad character that becomes an underscore, so that `65+` and `65-` meet."""
    ids = [sdmx_id(code) for code in codes]
    assert all(re.fullmatch("[A-Za-z0-9_@$-]+", name) and name[0] != "-" for name in ids)
    assert len(set(ids)) == len(codes)


@pytest.mark.parametrize(
    ("given_version", "told"),
    [("1", "1.0.0"), ("2026.3", "2026.3.0"), ("01.2.3", "1.2.3"), ("r2", "1.0.0"), ("1.2.3.4", "1.0.0")],
)
def test_a_structure_has_the_version_of_its_dataset(town_release, given_version, told):
    assert structure_version(replace(town_release.dataset, version=given_version)) == told


@pytest.mark.parametrize(
    "asked",
    [{"filters": ["sex=1"]}, {"groups": ["age=adult+old"]}, {"levels": ["area=region"], "rows": ["area"]}],
)
def test_another_selection_of_people_or_categories_is_another_dataflow(town_workspace, asked):
    """Wrong alternative: one name for the table of all people and that of men."""
    stored = town_workspace.stored("town")
    flow = flow_of(release_table(stored, request_from_text("town", **{"rows": ["age"], **asked})))
    plain = dataset_flow(stored.dataset, flow.dimensions)
    assert re.fullmatch(rf"{plain.id}-\d+", flow.id)


def test_a_dataflow_is_named_by_its_dataset_and_variables(town_release):
    dataset = town_release.dataset
    assert flow_of(town_release).reference == "DISCREET:town-age-job-sex(1.0.0)"
    assert flow_of(town_release) == dataset_flow(dataset, ("age", "job", "sex"))
    assert dataset_flow(dataset).id == "town"
    assert dataset_flow(dataset).dimensions == ("region", "area", "sex", "age", "job")
