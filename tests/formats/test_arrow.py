"""Arrow: dictionaries, batches, and the words inside the schema."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet.formats.writers.arrow as module
from discreet.formats import format_by_name


def stream_of(release):
    return pa.ipc.open_stream(format_by_name("arrow").write(release))


def test_texts_are_dictionaries_and_counts_are_integers(release):
    schema = stream_of(release).schema
    assert schema.names == ["age", "age_label", "job", "job_label", "sex", "sex_label", "value", "status"]
    assert all(pa.types.is_dictionary(schema.field(name).type) for name in schema.names if name != "value")
    assert schema.field("value").type == pa.int64()
    assert schema.field("sex").metadata == {b"label": b"Sex"}


@pytest.mark.parametrize("lines", [7, 60])
def test_a_stream_comes_in_batches(release, monkeypatch, lines):
    whole = stream_of(release).read_all()
    monkeypatch.setattr(module, "BATCH", lines)
    batches = list(stream_of(release))
    assert max(len(batch) for batch in batches) == min(lines, release.cells)
    assert pa.Table.from_batches(batches).equals(whole)


def test_it_is_the_table_of_the_stream(release):
    table = pq.read_table(io.BytesIO(format_by_name("parquet").write(release)))
    assert table.equals(pa.ipc.open_stream(format_by_name("arrow").write(release)).read_all())
    assert json.loads(table.schema.metadata[b"discreet"])["note"][0] == release.notes[0]
