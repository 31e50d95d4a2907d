"""Records that live in Spark: read, checked and keyed by executors, with the outcome of every other load."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadData, BadDescription, BadRecords, NotFound
from discreet.model.dataset import ROW_NUMBER
from discreet.model.request import request_from_text
from discreet.records.engine import AggregateQuery
from discreet.records.engines.spark import spark_session
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_home")]

REQUEST = request_from_text("town", rows=["sex"], columns=["age"])
#: A survey with strata, clusters and weights; every column of its design is checked and stored.
SURVEY = """
[survey]
sample_size = 3000
population_size = 6000
largest_weight = 3
relative_variance = "0.25"
strata = "stratum"
clusters = "cluster"
"""


def as_folder(records, folder, parts=3):
    folder.mkdir()
    size = -(-len(records) // parts)
    for place in range(parts):
        pq.write_table(records.slice(place * size, size), folder / f"{place}.parquet")
    return folder


def told(description, records, folder, engine):
    with pytest.raises(BadRecords) as caught:
        load_dataset(folder, description, records, engine=engine)
    return caught.value


def test_a_folder_gives_the_digest_and_the_releases_of_duckdb(town, town_workspace, tmp_path, monkeypatch):
    """No reader of this process opens it: executors do."""
    monkeypatch.setattr("discreet.records.staging.open_source", lambda *_: pytest.fail("read here"))
    workspace = town.load(
        tmp_path / "w", records=as_folder(town.records, tmp_path / "people"), engine="spark"
    )
    here, there = workspace.stored("town"), town_workspace.stored("town")
    assert here.digest == there.digest
    assert release_table(here, REQUEST).values.tolist() == release_table(there, REQUEST).values.tolist()
    workspace.close()


def test_a_table_of_the_catalogue_is_read_and_an_unknown_one_is_said(town, town_workspace, tmp_path):
    folder = as_folder(town.records, tmp_path / "people", parts=1)
    spark_session().read.parquet(f"file://{folder}").write.mode("overwrite").saveAsTable("town_people")
    workspace = town.load(tmp_path / "w", records="spark:town_people", engine="spark")
    assert workspace.stored("town").digest == town_workspace.stored("town").digest
    workspace.close()
    with pytest.raises(NotFound, match="cannot open 'town_poeple'"):
        load_dataset(tmp_path / "w", town.description, "spark:town_poeple", engine="spark")
    with pytest.raises(BadData, match="live in Spark"):
        load_dataset(tmp_path / "w", town.description, "spark:town_people")
    text = town.description.replace('id_column = "person"', f'id_column = "{ROW_NUMBER}"')
    with pytest.raises(BadDescription, match="no order"):
        load_dataset(tmp_path / "w", text, "spark:town_people", engine="spark")


def test_what_is_wrong_is_told_as_elsewhere(town, tmp_path):
    """Bad values, then ids that occur twice in different files: as many problems as DuckDB counts."""
    sex = np.array(town.records["sex"].to_pylist(), dtype=object)
    sex[[5, 2900]] = ["7", None]
    bad = town.records.set_column(3, "sex", pa.array(sex.tolist()))
    twice = pa.concat_tables([town.records, town.records.slice(10, 3)])
    for place, records in enumerate((bad, twice)):
        folder = as_folder(records, tmp_path / f"people{place}")
        here = told(town.description, folder, tmp_path / "s", "spark")
        there = told(town.description, records, tmp_path / "d", "duckdb")
        assert here.counts == there.counts
        assert {p["message"][:30] for p in here.problems} == {p["message"][:30] for p in there.problems}
    assert not list((tmp_path / "s").rglob(".loading-*"))


def test_a_survey_with_its_design_is_stored_as_elsewhere(town, tmp_path):
    count = len(town.records)
    random = np.random.RandomState(3)
    records = town.records
    for name, values in (
        ("weight", np.tile([1.0, 3.0], count // 2)),
        ("stratum", random.choice(["x", "y", "ß"], count)),
        ("cluster", random.randint(0, 40, count).astype(str)),
    ):
        records = records.append_column(name, pa.array(values))
    text = town.description.replace('id_column = "person"', 'weight_column = "weight"\nid_column = "person"')
    ours = town.load(tmp_path / "s", text + SURVEY, as_folder(records, tmp_path / "people"), "spark")
    theirs = town.load(tmp_path / "d", text + SURVEY, records)
    assert ours.stored("town").digest == theirs.stored("town").digest
    query = AggregateQuery(
        ("sex", "_stratum", "_cluster"), weights=True, sums=("_square_low", "_square_high")
    )
    found = []
    for workspace in (ours, theirs):
        cells = workspace.stored("town").engine.aggregate(query)
        rows = zip(cells.codes[0], cells.counts, cells.key_sums, cells.weight_sums, *cells.sums, strict=True)
        # Strata and clusters may be numbered in another order: all else of their cells is the same.
        found.append(sorted(tuple(map(int, row)) for row in rows))
        workspace.close()
    assert found[0] == found[1]


def test_a_joint_dp_load_keeps_the_same_records_and_measures_the_same(joint_town, tmp_path):
    """One record does not fit and is left out; two ids have a record too many, and the same one of each is kept.

    The wrong alternative keeps the first in the order of the file, which Spark does not have.
    """
    more = joint_town.records.slice(10, 3)
    more = more.set_column(3, "sex", pa.array(["2", "1", "7"]))
    records = pa.concat_tables([joint_town.records, more])
    people = as_folder(records, tmp_path / "people")
    ours = joint_town.load(tmp_path / "s", records=people, engine="spark")
    theirs = joint_town.load(tmp_path / "d", records=records)
    here, there = ours.stored("town"), theirs.stored("town")
    assert here.digest == there.digest
    assert release_table(here, REQUEST).values.tolist() == release_table(there, REQUEST).values.tolist()
    query = AggregateQuery((*(variable.name for variable in here.dataset.variables), "record_key"))
    kept = []
    for stored in (here, there):
        cells = stored.engine.aggregate(query)
        kept.append(sorted(tuple(map(int, row)) for row in zip(*cells.codes, cells.counts, strict=True)))
    assert kept[0] == kept[1]
    assert sum(row[-1] for row in kept[0]) == len(joint_town.records)
    ours.close()
    theirs.close()
