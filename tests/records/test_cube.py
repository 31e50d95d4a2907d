"""A cube holds the sums of its margin, for every table that its variables and the levels above them can make."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.model.confidential import Confidential
from discreet.records import cube as cubes
from discreet.records.cube import (
    Cube,
    covers,
    cube_schema,
    read_cube,
    records_in,
    row_bytes,
    told_by,
    write_cube,
)
from discreet.records.engine import AggregateQuery
from discreet.records.sparse_sums import added_up
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

MARGIN = ("area", "age", "job")
QUERIES = (
    AggregateQuery(("age",)),
    AggregateQuery(("job", "area"), (("age", (1, 2)),)),
    AggregateQuery(("region", "age"), (("area", (0, 3)), ("job", (0, 1)))),
    AggregateQuery(("region",), (("region", (1,)),)),
)


@pytest.fixture
def stored(town_workspace):
    return town_workspace.stored("town")


@pytest.fixture
def survey_stored(tmp_path):
    """Four people with weights, whose squares are kept for sampling errors."""
    text = (
        'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        '[[variable]]\nname = "sex"\ncategories = ["1", "2"]\n[[variable]]\nname = "age"\ncategories = ["y", "o"]\n'
        "[survey]\nsample_size = 4\npopulation_size = 40\nlargest_weight = 20\nrelative_variance = 0.375\n"
    )
    people = {
        "id": [1, 2, 3, 4],
        "sex": ["1", "2", "1", "2"],
        "age": ["y", "o", "o", "o"],
        "w": [20, 10, 5, 5],
    }
    load_dataset(tmp_path / "w", text, pa.table(people))
    workspace = Workspace(tmp_path / "w")
    yield workspace.stored("s")
    workspace.close()


def as_dict(cells):
    groups = zip(*(codes.tolist() for codes in cells.codes), strict=True)
    return dict(zip(groups, zip(cells.counts.tolist(), cells.key_sums.tolist(), strict=True), strict=True))


@pytest.mark.parametrize("at_once", [2**21, 30])
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_cube_answers_what_the_records_answer(stored, tmp_path, monkeypatch, query, at_once):
    monkeypatch.setattr(cubes, "AT_ONCE", at_once)
    live, dataset = stored.engine._records(), stored.dataset
    rows = write_cube(live, dataset, MARGIN, tmp_path / "c.arrow", 3000, 3000)
    cube = read_cube(dataset, MARGIN, tmp_path / "c.arrow")
    assert rows == live.aggregate(AggregateQuery(MARGIN)).counts.size
    found = added_up(cube.cells(query), [len(dataset.variable(name)) for name in query.group_by])
    assert as_dict(found) == as_dict(live.aggregate(query))


def test_weights_and_further_sums_are_kept(survey_stored, tmp_path):
    live, dataset = survey_stored.engine._records(), survey_stored.dataset
    names = ("sex", "age")
    write_cube(live, dataset, names, tmp_path / "c.arrow", 10**6, 10**6)
    sums = tuple(cube_schema(dataset, names).names[len(names) + 3 :])
    assert sums
    query = AggregateQuery(names[:1], weights=True, sums=sums)
    assert covers(dataset, told_by(dataset, names), query)
    lengths = [len(dataset.variable(names[0]))]
    found, true = (
        added_up(read_cube(dataset, names, tmp_path / "c.arrow").cells(query), lengths),
        live.aggregate(query),
    )
    order = np.argsort(true.codes[0])
    assert found.weight_sums.tolist() == true.weight_sums[order].tolist()
    assert [s.tolist() for s in found.sums] == [s[order].tolist() for s in true.sums]


def test_what_a_cube_tells(stored):
    told = told_by(stored.dataset, MARGIN)
    assert told == {"region", "area", "age", "job"}
    assert told_by(stored.dataset, ("region",)) == {"region"}, "a coarse level does not tell the areas in it"
    assert covers(stored.dataset, told, AggregateQuery(("region",), (("job", (0,)),)))
    assert not covers(stored.dataset, told, AggregateQuery(("region",), (("sex", (0,)),)))
    assert not covers(stored.dataset, told, AggregateQuery(("age", "record_key")))
    assert not covers(stored.dataset, told, AggregateQuery(("age",), weights=True))


def test_more_rows_than_are_worth_it_leave_no_file(stored, tmp_path):
    assert write_cube(stored.engine, stored.dataset, MARGIN, tmp_path / "c.arrow", 3000, 3) is None
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_margin_is_not_read(stored, tmp_path):
    write_cube(stored.engine, stored.dataset, ("age",), tmp_path / "c.arrow", 3000, 3000)
    with pytest.raises(ValueError, match="another margin"):
        read_cube(stored.dataset, ("sex",), tmp_path / "c.arrow")


def test_it_is_as_confidential_as_records(stored):
    assert issubclass(Cube, Confidential)
    assert row_bytes(stored.dataset, ("age",)) == 1 + 4 + 8
    assert records_in(stored.engine, stored.dataset) == 3000
