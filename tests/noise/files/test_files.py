from __future__ import annotations

import pytest

from discreet.errors import BadNoiseTable, BadRequest, NotFound, UnknownFormat
from discreet.noise.files import FORMATS, read_noise_table, write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable

TABLE = NoiseTable(256, (NoiseRow((0,), (256,)), NoiseRow((-1, 1), (128, 256))))


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_is_recognised_by_content_whatever_the_file_is_called(tmp_path, name):
    write_noise_table(TABLE, tmp_path / "noise.dat", name)
    again = read_noise_table(tmp_path / "noise.dat")
    assert [again.row(c).probabilities() for c in range(40)] == [
        TABLE.row(c).probabilities() for c in range(40)
    ]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_an_imported_table_knows_its_file(tmp_path, name):
    write_noise_table(TABLE, tmp_path / "noise.dat", name)
    known = read_noise_table(tmp_path / "noise.dat").parameters
    assert known["file"] == "noise.dat"
    assert len(known["file_sha256"]) == 64
    assert known["format"] == ("tau-argus" if name == "sas" else name)


def test_a_file_that_is_not_there_or_no_table_is_refused(tmp_path):
    with pytest.raises(NotFound):
        read_noise_table(tmp_path / "none.csv")
    for name, data in {"a": b"hello\n", "b": b"{", "c": b"\xff\xfe", "d": b"", "e": b"[1]"}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadNoiseTable):
            read_noise_table(tmp_path / name)


def test_an_unknown_format_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(UnknownFormat, match='Did you mean "tau-argus"'):
        write_noise_table(TABLE, tmp_path / "x", "tauargus")


@pytest.mark.parametrize(("name", "small_n"), [("ons", 5), ("tau-argus", 10), ("superstar", 0)])
def test_a_small_n_that_the_file_cannot_have_is_refused(tmp_path, name, small_n):
    write_noise_table(TABLE, tmp_path / "noise.dat", name)
    with pytest.raises(BadRequest, match="SmallN"):
        read_noise_table(tmp_path / "noise.dat", small_n=small_n)
