from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadNoiseTable, BadRequest, NotFound, UnknownFormat
from discreet.noise import laplace
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


def looked_up_by_cellkey(text, separator):
    """How R cellKey 1.0.3 looks a count up (`lookup_freq`): rows 1 to max(i), the last for all larger; zero stays."""
    lines = [line.split(separator) for line in text.splitlines()]
    places = {name: lines[0].index(name) for name in ("i", "v", "ub" if "ub" in lines[0] else "p_int_ub")}
    i, v, ub = places.values()
    rows = [(int(line[i]), int(line[v]), float(line[ub])) for line in lines[1:]]
    most = max(count for count, _, _ in rows)

    def noise(count, key):
        serving = [(value, bound) for number, value, bound in rows if number == min(count, most)]
        return 0 if count == 0 or most == 0 else next(value for value, bound in serving if key < bound)

    return noise


@pytest.mark.parametrize(("name", "separator"), [("tau-argus", ";"), ("sas", ";"), ("cellkey", ",")])
def test_a_table_of_one_row_is_read_back_by_us_and_by_the_rules_of_the_programs(name, separator, tmp_path):
    table = laplace(epsilon=0.5, m=5, modulus=10**8)
    assert len(table.rows) == 1
    write_noise_table(table, tmp_path / "one", name)
    text = (tmp_path / "one").read_text().replace(" ", "")
    theirs = looked_up_by_cellkey(text, separator)
    counts = np.arange(12).repeat(40)
    keys = np.random.default_rng(5).integers(0, 10**8, counts.size).astype(np.uint64)
    expected = np.where(counts > 0, table.noise(counts, keys), 0).tolist()
    assert read_noise_table(tmp_path / "one").noise(counts, keys).tolist() == expected
    assert [theirs(n, key / 10**8) for n, key in zip(counts.tolist(), keys.tolist(), strict=True)] == expected
    # The wrong alternative: a file with the row of count 0 alone, which cellKey would take for no noise at all.
    alone = [text.splitlines()[0], *(line for line in text.splitlines() if line.startswith(f"0{separator}"))]
    assert {looked_up_by_cellkey("\n".join(alone), separator)(n, 0.5) for n in range(12)} == {0}
