"""Parts of records, staged apart as on several machines: together they are the records of one load."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadData, BadRecords
from discreet.model.description.dataset_toml import parse_dataset
from discreet.records.checks import Problems, WeightSums
from discreet.records.engine import EngineKind
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import LENT, lend_keys
from discreet.records.source import Source
from discreet.records.spark_load import (
    AT,
    AT_BITS,
    ID,
    UNIT,
    merge_reports,
    parse_report,
    stage_partition,
)
from discreet.records.staging import load_records


@pytest.fixture
def dataset(town):
    return parse_dataset(town.description)


@pytest.fixture
def staged(dataset, secret, tmp_path):
    """Stage parts of records one by one, as text travels between machines."""

    def run(parts):
        (tmp_path / "staged").mkdir(exist_ok=True)
        if not (tmp_path / LENT).exists():
            lend_keys(secret, dataset.lineage, tmp_path)
        return [
            parse_report(stage_partition(iter(part.to_batches()), dataset, str(tmp_path), number).text)
            for number, part in enumerate(parts)
        ]

    return run


def digest_of(parts, dataset, secret, folder):
    fingerprint = Fingerprint(secret, dataset.lineage)
    merge_reports(parts, folder, fingerprint, Problems(dataset), WeightSums())
    return fingerprint.digest("text")


def test_parts_in_any_order_have_the_digest_of_one_load(town, dataset, secret, staged, tmp_path):
    """The wrong alternative is to forget a part, or to count the one of a task that was tried twice."""
    parts = staged([town.records.slice(0, 700), town.records.slice(700, 1), town.records.slice(701)])
    nowhere = EngineKind("nowhere", "", lambda *_: None, lambda *_: None)
    (tmp_path / "whole").mkdir()
    whole = load_records(town.records, dataset, "text", secret, tmp_path / "whole", nowhere)
    for order in (parts, parts[::-1]):
        assert digest_of(order, dataset, secret, tmp_path) == whole.digest
    assert digest_of(parts[1:], dataset, secret, tmp_path) != whole.digest
    sketch = Fingerprint(secret, dataset.lineage)
    merge_reports(parts, tmp_path, sketch, Problems(dataset), WeightSums())
    assert sketch.ids.values.tolist() == whole.ids.tolist()
    assert digest_of([*parts, parts[1]], dataset, secret, tmp_path) != whole.digest


def test_keys_and_notes_are_the_same_wherever_a_record_stands(town, staged, tmp_path):
    first, second = staged([town.records, town.records.take(np.arange(len(town.records))[::-1])])
    one, two = (pq.read_table(tmp_path / "staged" / part.file) for part in (first, second))
    for name in (ID, UNIT, "record_key", "area"):
        assert one[name].to_pylist() == two[name].to_pylist()[::-1]
    assert one[AT].to_pylist() == list(range(len(one)))
    assert two[AT].to_pylist() == [(1 << AT_BITS) + place for place in range(len(two))]
    assert len(set(one[ID].to_pylist())) == len(one)


def test_no_id_and_no_plain_hash_of_one_is_written(town, staged, tmp_path):
    """A hash without a key can be guessed: whoever has a list of ids would find them."""
    staged([town.records])
    (file,) = (tmp_path / "staged").glob("*.parquet")
    written = set(pq.read_table(file)[ID].to_pylist())
    for person in town.records["person"].to_pylist():
        digest = hashlib.sha256(str(person).encode()).digest()
        assert int.from_bytes(digest[:8], "little", signed=True) not in written


def test_problems_are_told_with_their_place_among_all_records(town, dataset, secret, staged, tmp_path):
    wrong = town.records.slice(100, 3).set_column(3, "sex", pa.array(["1", "7", "2"]))
    parts = staged([town.records.slice(0, 100), wrong])
    problems = Problems(dataset)
    merge_reports(parts, tmp_path, Fingerprint(secret, dataset.lineage), problems, WeightSums())
    with pytest.raises(BadRecords, match="Record 102: The value '7' of \"sex\" is not among"):
        problems.refuse(Source(None, 103, "parts"))


def test_a_machine_that_does_not_reach_the_workspace_says_so(town, dataset, secret, tmp_path):
    part = stage_partition(iter(town.records.to_batches()), dataset, str(tmp_path / "elsewhere"), 0)
    with pytest.raises(BadData, match="cannot read the folder of the workspace"):
        merge_reports([part], tmp_path, Fingerprint(secret, dataset.lineage), Problems(dataset), WeightSums())


def test_what_a_part_reports_holds_no_key_and_no_value(town, staged, secret, dataset):
    part, empty = staged([town.records, town.records.slice(0, 0)])
    assert (empty.records, empty.file) == (0, "")
    told = json.loads(part.text)
    assert set(told) == {"number", "file", "records", "tags", "weights", "problems", "refused"}
    assert secret.derive("record-key", dataset.lineage).hex() not in part.text
    assert "N1" not in part.text
