from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files import read_noise_table, superstar
from discreet.noise.table import NoiseRow, NoiseTable


def matrix(keys=256, columns=30, seed=3):
    return np.random.default_rng(seed).integers(-2, 3, (keys, columns))


def as_text(noise):
    return "\n".join(",".join(map(str, line)) for line in noise.tolist()) + "\n"


def test_each_count_uses_its_column_and_large_counts_reuse_the_last_ten(tmp_path):
    noise = matrix()
    (tmp_path / "table.pert").write_text(as_text(noise))
    table = read_noise_table(tmp_path / "table.pert")
    keys = np.arange(256, dtype=np.uint64)
    for count in (1, 2, 19, 20, 21, 22, 29, 30, 31, 40, 41, 12_345):
        column = count if count <= 20 else 20 + count % 10 + 1
        assert table.noise(np.full(256, count), keys).tolist() == noise[:, column - 1].tolist()
    assert table.noise(np.zeros(256, dtype=np.int64), keys).tolist() == [0] * 256
    assert (table.modulus, table.repeats) == (256, 10)


def test_another_small_n_is_an_option_of_the_reader(tmp_path):
    noise = matrix(columns=8)
    (tmp_path / "table.pert").write_text("c1,c2,c3,c4,c5,c6,c7,c8\n" + as_text(noise))
    table = read_noise_table(tmp_path / "table.pert", small_n=3)
    keys = np.arange(256, dtype=np.uint64)
    assert table.noise(np.full(256, 100), keys).tolist() == noise[:, 5 + 100 % 3].tolist()


def test_a_table_that_is_written_and_read_again_releases_the_same():
    rows = (NoiseRow((0,), (256,)), NoiseRow((-1, 1), (128, 256)), NoiseRow((-2, 0, 2), (64, 192, 256)))
    table = NoiseTable(256, (*rows, *reversed(rows[1:])), repeats=2)
    again = superstar.read(superstar.write(table), parameters={})
    keys = np.arange(256, dtype=np.uint64)
    for count in range(70):
        counts = np.full(256, count)
        assert again.noise(counts, keys).tolist() == table.noise(counts, keys).tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [("0,0\n0\n", "line 2 has 1 columns"), ("0,0\n0,x\n", 'the noise is "x"'), ("", "empty")],
)
def test_a_broken_matrix_is_refused(text, said):
    with pytest.raises(BadNoiseTable, match=said):
        superstar.read(text, parameters={})


@pytest.mark.parametrize(
    "table",
    [
        NoiseTable(2**32, (NoiseRow((0,), (2**32,)),)),
        NoiseTable(4, (NoiseRow((0, 1), (2, 4)), NoiseRow((-1, 1), (2, 4)))),
        NoiseTable(4, (NoiseRow((0,), (4,)),) * 3, repeats=3),
    ],
)
def test_a_table_that_the_format_cannot_say_is_not_written(table):
    with pytest.raises(BadNoiseTable):
        superstar.write(table)


def test_a_biased_matrix_is_refused_when_no_bias_is_declared():
    with pytest.raises(BadNoiseTable, match="count 2 has mean 1"):
        superstar.read("1,0\n1,0\n", biased=False, parameters={})
