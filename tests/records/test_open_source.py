"""Records are read from files of any known kind; a file that is torn or strange is refused whole."""

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.errors import BadData, BadDescription, NotFound
from discreet.workspace.versions.load_version import load_dataset


def as_csv(records: pa.Table, path: Path) -> Path:
    records.to_pandas().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def digest(town, town_workspace):
    return town_workspace.stored("town").digest


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("town.parquet", b"not parquet", BadData),
        ("town.arrow", b"not arrow", BadData),
        ("town.csv", b"\xff\xfe\x00bad\x00", BadData),
        ("town.csv", b"", BadData),
        ("town.xyz", b"a,b", BadData),
        ("town.csv", b"person,region\n1,N\n", BadDescription),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name, content, error, town, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error) as raised:
        load_dataset(tmp_path / "workspace", town.description, path)
    assert raised.value.advice
    assert not list((tmp_path / "workspace" / "datasets" / "town").glob("[!.]*"))


def test_a_file_that_is_not_there_is_said_so(town, tmp_path):
    with pytest.raises(NotFound):
        load_dataset(tmp_path / "workspace", town.description, tmp_path / "nothing.csv")


def test_a_csv_with_a_ragged_line_is_refused_whole(town, tmp_path):
    path = as_csv(town.records, tmp_path / "town.csv")
    lines = path.read_text().splitlines()
    lines[2000] = lines[2000].rsplit(",", 2)[0]
    path.write_text("\n".join(lines))
    with pytest.raises(BadData):
        load_dataset(tmp_path / "workspace", town.description, path)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_csv_may_be_separated_otherwise(separator, town, digest, tmp_path):
    path = tmp_path / "town.csv"
    path.write_text(town.records.to_pandas().to_csv(index=False, sep=separator), "utf-8-sig")
    assert town.load(tmp_path / "workspace", records=path).stored("town").digest == digest
