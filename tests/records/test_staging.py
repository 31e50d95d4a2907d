"""A load reads, checks, codes and keys records in any order and chunking, or stores nothing.

At most r records of a unit are kept, and one unit more or less changes no record of another.
"""

import hashlib

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadDescription, WorkspaceUnusable
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.variable import Category, Variable
from discreet.records.checks import Problems
from discreet.records.coding import check_columns, code_sql
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.staging import (
    ContributionBounds,
    drop_rows,
    find_duplicates,
    hash_bytes,
    hash_prefixes,
    id_prefixes,
    restage,
)
from discreet.records.storage import storage_schema
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

#: Files of every kind are in `test_ugly_files.py`.
SOURCES = {
    "arrow stream": lambda records: records.to_reader(max_chunksize=700),
    "batches": lambda records: iter(records.to_batches(max_chunksize=313)),
    "pandas": lambda records: records.to_pandas(),
    "polars": lambda records: pytest.importorskip("polars").from_arrow(records),
    "shuffled": lambda records: records.take(np.random.default_rng(2).permutation(len(records))),
    "pandas categories": lambda records: records.to_pandas().astype(
        dict.fromkeys(["region", "area", "sex", "age", "job"], "category")
    ),
}


@pytest.fixture(scope="module")
def digest(town, town_workspace):
    return town_workspace.stored("town").digest


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_version(source, town, digest, tmp_path):
    workspace = town.load(tmp_path / "workspace", records=SOURCES[source](town.records))
    assert workspace.stored("town").digest == digest


def test_what_is_stored_is_codes_and_keys_sorted_by_area_and_no_ids(town, town_workspace, secret):
    stored = town_workspace.stored("town")
    path = town_workspace.folder / "datasets" / "town" / stored.digest / "data.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        frame = connection.execute("SELECT * FROM records").df()
    codes = dict.fromkeys(["region", "area", "sex", "age", "job"], np.uint8)
    assert dict(frame.dtypes) == {**codes, "record_key": np.uint32}
    assert frame["area"].is_monotonic_increasing
    assert len(frame) == len(town.records)
    expected = town.records.to_pandas()
    assert (frame["job"] == 3).sum() == expected["job"].isna().sum()
    raw = path.read_bytes()
    assert hashlib.sha256(b"1000").digest()[:8] not in raw


def bad(records: pa.Table, **values: object) -> pa.Table:
    """The records with some values of one record in the middle changed."""
    frame = records.to_pandas()
    frame.loc[1234, list(values)] = list(values.values())
    return pa.Table.from_pandas(frame, preserve_index=False)


UNKNOWN = '\'adulr\' of "age" is not among its categories. Did you mean "adult"?'
BAD_RECORDS = {
    "unknown category": (lambda r: bad(r, age="adulr"), UNKNOWN),
    "missing value": (lambda r: bad(r, age=None), 'no value of "age"'),
    "missing id": (lambda r: bad(r, person=None), "no id"),
    "duplicate id": (lambda r: bad(r, person=r["person"][7].as_py()), "same id"),
    "structural zero": (
        lambda r: bad(r, age="child", job="2"),
        "zero 'Children have no job': age = 'child', job = '2'",
    ),
    "hierarchy": (
        lambda r: bad(r, area="N1", region="S"),
        "does not nest: \"area\" 'N1' occurs within \"region\" 'S'",
    ),
    "hierarchy the other way": (lambda r: bad(r, area="S1", region="N"), "\"area\" 'S1' occurs within"),
    "no records": (lambda r: r.slice(0, 0), "no records"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD_RECORDS)
def test_bad_records_get_a_clear_error_and_leave_nothing(kind, town, tmp_path):
    change, message = BAD_RECORDS[kind]
    records = change(town.records)
    with pytest.raises(BadData) as raised:
        load_dataset(tmp_path / "workspace", town.description, records)
    assert message in str(raised.value)
    assert not list((tmp_path / "workspace" / "datasets" / "town").glob("[!.]*"))
    assert not list((tmp_path / "workspace" / "datasets" / "town").glob(".loading*"))


def test_a_refused_load_leaves_the_served_version_alone(town, tmp_path):
    workspace = town.load(tmp_path / "workspace")
    before = workspace.stored("town").digest
    with pytest.raises(BadData):
        load_dataset(tmp_path / "workspace", town.description, bad(town.records, age="x"))
    assert Workspace(tmp_path / "workspace").stored("town").digest == before


SURVEY = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"
[[variable]]
name = "sex"
categories = ["1", "2"]
[survey]
sample_size = 2
population_size = 9
largest_weight = 7.5
"""
SURVEY_UNDER_DP = """
[protection]
method = "dp"
[protection.universe]
variables = ["sex"]
[protection.budget]
name = "s"
epsilon = 1.0
cap_epsilon = 4.0
"""


def test_under_dp_a_weight_above_the_declared_largest_counts_as_the_largest(tmp_path):
    """Wrong alternative: it is refused, as by the cell key method, which tells that somebody has such a weight."""
    records = pa.table({"id": ["a", "b"], "sex": ["1", "2"], "w": [1.5, 900.0]})
    with pytest.raises(BadData):
        load_dataset(tmp_path / "plain", SURVEY, records)
    load_dataset(tmp_path / "dp", SURVEY + SURVEY_UNDER_DP, records)
    stored = Workspace(tmp_path / "dp").stored("s")
    found = stored.engine.aggregate(AggregateQuery(("sex",), weights=True)).weight_sums
    assert sorted(found.tolist()) == [15_000, 75_000]


PEOPLE = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id")


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 7))
def test_every_repeated_id_is_told_once_wherever_the_chunks_end(ids, chunk):
    whole = np.array(ids, dtype=np.uint64)
    problems = Problems(PEOPLE)
    find_duplicates([whole[at : at + chunk] for at in range(0, whole.size, chunk)], problems, "id")
    again = [place for place, each in enumerate(ids) if each in ids[:place]]
    assert problems.summary[1].get("id", 0) == len(again)


def test_records_without_an_id_are_no_duplicates_of_each_other():
    hashes = [b"a" * 16, None, None]
    batch = pa.record_batch({"h": pa.array(hashes, pa.binary())})
    found = hash_bytes(pa.array([each or b"\0" * 16 for each in hashes], pa.binary(16)))
    assert len(set(id_prefixes(batch, found, 5).tolist())) == 3
    assert len(set(hash_prefixes(found).tolist())) == 2  # the wrong way: both without an id are one


def test_the_file_has_every_record_once(town_workspace, tmp_path):
    stored = town_workspace.stored("town")
    path = restage(stored.engine, stored.dataset, tmp_path)
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.schema == storage_schema(stored.dataset)
    assert table.num_rows == 3000


def test_an_engine_that_loses_records_is_found_out(town_workspace, tmp_path):
    stored = town_workspace.stored("town")

    class Forgetful:
        def aggregate(self, query):
            cells = stored.engine.aggregate(query)
            short = len(query.group_by) > 1
            kept = slice(None, -1) if short else slice(None)
            return SparseCells(tuple(c[kept] for c in cells.codes), cells.counts[kept], cells.key_sums[kept])

    with pytest.raises(WorkspaceUnusable, match="does not tell all"):
        restage(Forgetful(), stored.dataset, tmp_path)


WEIGHTED = """
id = "survey"
label = "A survey"
id_column = "id"
weight_column = "weight"
weight_decimals = 3
[[variable]]
name = "sex"
categories = ["1", "2"]
"""


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ([1.5, 0.001, 666.6667, 0], [0, 1, 1500, 666_667]),
        (["0.1", "0.2", "123456789.125"], [100, 200, 123_456_789_125]),
        *(([1.0, weight], None) for weight in (-1.0, None, float("nan"), "much")),
    ],
)
def test_weights_become_fixed_point_integers_and_others_are_refused(given, stored, tmp_path):
    frame = pd.DataFrame({"id": range(len(given)), "sex": "1", "weight": given})
    if stored is None:
        with pytest.raises(BadData, match="weight"):
            load_dataset(tmp_path, WEIGHTED, frame)
        return
    load_dataset(tmp_path, WEIGHTED, frame)
    cells = Workspace(tmp_path).stored("survey").engine.aggregate(AggregateQuery(("sex", "weight")))
    assert sorted(np.repeat(cells.codes[1], cells.counts).tolist()) == stored


def test_columns_that_a_description_reads_must_be_there():
    dataset = parse_dataset(WEIGHTED)
    assert check_columns("a file", ["weight", "sex", "other", "id"], dataset) == ["sex", "id", "weight"]
    with pytest.raises(BadDescription, match=r"no column 'weight' for the weight\. Did you mean"):
        check_columns("a file", ["weights", "sex", "id"], dataset)
    numbered = parse_dataset(WEIGHTED.replace('"id"', f'"{ROW_NUMBER}"', 1))
    assert check_columns("a file", ["weight", "sex"], numbered) == ["sex", "weight"]  # no column is needed


DESCRIPTION = """
id = "x"
label = "X"
id_column = "id"
[[variable]]
name = "age"
not_stated = "?"
missing = ["-9", "-99..-90"]
values = { "0..<15" = "child", "15.." = "15", "old" = "15", "1990-01-01..1999-12-31" = "child" }
categories = ["child", "15", "7", "?"]
"""
#: Every value with the place of its category, or None where it has none.
VALUES = {
    "0": 0, "14.9": 0, "15": 1, "200": 1, "old": 1, " old\t": 1, "child": 0, "7": 0, "1995-05-05": 0, "?": 3,
    "": 3, None: 3, "-9": 3, "-95": 3, "-5": None, "young": None, "2005-05-05": None, "O'Neill; --": None,
}  # fmt: skip


def coded(variable, values, *, comma=False):
    """The code of each value, and its problem."""
    with duckdb.connect() as connection:
        code, problem = code_sql(connection, variable, 0, comma=comma)
        connection.register("t", pa.table({"age": pa.array(values, pa.string())}))
        return connection.execute(f"SELECT {code}, {problem} AS wrong FROM t").fetchall()


@pytest.mark.parametrize("comma", [False, True])
@pytest.mark.parametrize("unlisted", [False, True])
def test_values_become_codes(comma, unlisted):
    """Values that are not listed become the declared category, and missing ones never do."""
    described = DESCRIPTION.replace('not_stated = "?"', 'not_stated = "?"\nunlisted = "7"')
    variable = parse_dataset(described if unlisted else DESCRIPTION).variables[0]
    found = coded(variable, [v.replace(".", ",") if comma and v else v for v in VALUES], comma=comma)
    for (place, wrong), value in zip(found, VALUES, strict=True):
        expected = 2 if unlisted and VALUES[value] is None else VALUES[value]
        assert (place if wrong is None else None) == expected, value
        assert wrong is None or wrong.startswith("u0:")


def test_without_a_category_for_missing_values_they_are_not_unlisted():
    variable = parse_dataset(DESCRIPTION.replace('not_stated = "?"', 'unlisted = "7"')).variables[0]
    found = coded(variable, ["", " ", None, "-9", "young"])
    assert [wrong for _, wrong in found] == ["m0:"] * 4 + [None]
    assert found[-1][0] == 2


def blocks(numbers):
    """Numbers as 16 bytes each, different in both halves."""
    pairs = np.zeros((len(numbers), 2), dtype="<u8")
    pairs[:, 0], pairs[:, 1] = np.asarray(numbers) // 8, np.asarray(numbers) % 8
    return pairs.view(np.uint8).reshape(-1, 16)


def surplus(folder, secret, records, most, chunk=7):
    """The places that the product takes out of (unit, tag) pairs."""
    units = ContributionBounds(folder, secret, "town")
    for first in range(0, len(records), chunk):
        part = records[first : first + chunk]
        units.add(blocks([unit for unit, _ in part]), blocks([8 * tag for _, tag in part]))
    return units.surplus(most).tolist()


def slow_surplus(records, most):
    """The same, obviously: sort each unit's records and drop all but the first."""
    found = []
    for unit in {unit for unit, _ in records}:
        own = sorted((tag, place) for place, (each, tag) in enumerate(records) if each == unit)
        found += [place for _, place in own[most:]]
    return sorted(found)


RECORDS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2**40)), max_size=60)


@settings(max_examples=12)
@given(RECORDS, st.integers(1, 5))
def test_the_records_with_the_smallest_tags_of_a_unit_stay(secret, tmp_path_factory, records, most):
    assert surplus(tmp_path_factory.mktemp("u"), secret, records, most) == slow_surplus(records, most)


def kept(places, records):
    return sorted(record for place, record in enumerate(records) if place not in set(places))


def changes_others(choose, records, unit, most):
    """Whether taking a unit out changes what is kept of others, or more than `most` records in all."""
    rest = [record for record in records if record[0] != unit]
    before, after = kept(choose(records, most), records), kept(choose(rest, most), rest)
    gone = [record for record in before if record[0] != unit]
    return gone != after or len(before) - len(after) > most


def by_place_from_the_end(records, most):
    """A wrong choice: every k-th record of the file stays, as of a file that is cut to a size."""
    return [place for place in range(len(records)) if (len(records) - place) % 2]


def test_a_unit_more_changes_no_other_and_a_choice_by_the_whole_file_is_found_out(secret, tmp_path):
    rng = np.random.default_rng(3)
    records = [
        (int(unit), int(tag)) for unit, tag in zip(rng.integers(0, 6, 31), rng.permutation(31), strict=True)
    ]
    unit = records[0][0]
    assert not changes_others(lambda own, most: surplus(tmp_path, secret, own, most), records, unit, 2)
    assert changes_others(by_place_from_the_end, records, unit, 2)


def test_a_staged_file_loses_exactly_the_surplus(tmp_path):
    staged, schema = tmp_path / "staged.arrow", pa.schema([("n", pa.int64())])
    with pa.ipc.new_file(staged, schema) as writer:
        for first in (0, 4, 9):
            writer.write_batch(pa.record_batch([np.arange(first, {0: 4, 4: 9, 9: 10}[first])], schema=schema))
    drop_rows(staged, np.array([0, 4, 8, 9]))
    assert pa.ipc.open_file(staged).read_all()["n"].to_pylist() == [1, 2, 3, 5, 6, 7]
