from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files import read_noise_table, tau_argus
from discreet.noise.table import NoiseRow, NoiseTable

PADDED = """i;j;p;v;p_int_ub
0; 0;1.00; 0;1.00
1; 0;0.50;-1;0.50
1; 2;0.50; 1;1.00
2; 1;0.25;-1;0.25
2; 2;0.50; 0;0.75
2; 3;0.25; 1;1.00
"""


def read(text, **options):
    return tau_argus.read(text, biased=options.pop("biased", False), parameters={})


def test_blank_padded_columns_are_read_exactly():
    table = read(PADDED)
    assert table.modulus == 10**8
    assert table.rows[1] == NoiseRow((-1, 1), (5 * 10**7, 10**8))
    assert table.rows[2] == NoiseRow((-1, 0, 1), (25 * 10**6, 75 * 10**6, 10**8))
    assert table.repeats == 1


def test_the_order_of_the_lines_decides_what_a_key_takes(tmp_path):
    shuffled = "i;j;p;v;p_int_ub\n1;2;0.5;1;0.5\n1;0;0.5;-1;1.0\n"
    (tmp_path / "table.txt").write_text(shuffled)
    table = read_noise_table(tmp_path / "table.txt")
    assert table.noise(np.array([1, 1]), np.array([0, 10**8 - 1], dtype=np.uint64)).tolist() == [1, -1]
    assert table.rows[1] == NoiseRow((-1, 1), (5 * 10**7, 10**8))
    assert tau_argus.read(tau_argus.write(table), biased=False, parameters={}).rows == table.rows


def test_a_count_of_zero_without_a_line_stays_zero():
    assert read(PADDED.replace("0; 0;1.00; 0;1.00\n", "")).rows[0] == NoiseRow((0,), (10**8,))


def test_sixteen_decimals_give_a_modulus_of_sixteen_digits():
    text = "i;j;p;v;p_int_ub\n1;0;0.5;-1;0.5000000000000001\n1;2;0.5;1;1\n"
    assert read(text).modulus == 10**16


HEAD = "i;j;p;v;p_int_ub\n"
SAS = "i;j;p;v;p_int_lb;p_int_ub\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "1;0;0.5;-1;0.5\n1;2;0.4;1;0.9\n", "count 1 ends at 0.9"),
        (HEAD + "1;0;0.5;-1;0.5\n1;0;0.5;-1;0.5\n1;2;0.5;1;1\n", "count 1 .* duplicate"),
        (HEAD + "1;0;0.5;-1;0.5\n1;2;0.5;1;0.4\n1;2;0.5;1;1\n", "count 1 .* overlaps"),
        (SAS + "1;0;0.5;-1;0;0.5\n1;2;0.4;1;0.6;1\n", "count 1 .* leaves a gap: it begins at 0.6"),
        (
            SAS + "1;0;0.5;-1;0;0.5\n1;2;0.6;1;0.4;1\n",
            "count 1 .* overlaps the interval before it: it begins at 0.4",
        ),
        (HEAD + "1;0;0.7;-1;0.5\n1;2;0.5;1;1\n", "count 1 .* says p = 0.7"),
        (HEAD + "1;0;0.5;-1;0.5\n1;2;0.5;1;1\n3;3;1;0;1\n", "gap: no row for count 2"),
        (HEAD + "1;3;0.5;-1;0.5\n1;2;0.5;1;1\n", "count 1 says j = 3"),
        (HEAD + "1;0;0.4;-1;0.4\n1;2;0.6;1;1\n", "count 1 has mean 0.2; this format declares 0"),
        (HEAD + "0;0;1;0;1\n", "no row for a count above 0"),
        (HEAD + "1;0;0.5;-1\n", "4 fields"),
        (HEAD + "1;0;half;-1;0.5\n", 'p is "half"'),
        (HEAD + "-1;0;1;1;1\n", "below zero"),
        (HEAD + "1;0;0.5;-1;0.50000000000000000000001\n1;2;0.5;1;1\n", "decimals"),
        ("i;j;p;v;p_int_ub;type\n1;1;1;0;1;even\n", "magnitudes"),
    ],
)
def test_a_broken_file_is_refused_with_its_row_named(text, said):
    with pytest.raises(BadNoiseTable, match=said):
        read(text)


def test_a_bias_that_is_declared_is_accepted():
    biased = HEAD + "1;0;0.4;-1;0.4\n1;2;0.6;1;1\n"
    assert float(read(biased, biased=True).rows[1].mean()) == pytest.approx(0.2)


def test_moduli_without_exact_decimals_and_repeating_blocks_are_not_written():
    with pytest.raises(BadNoiseTable, match="no exact decimals"):
        tau_argus.write(NoiseTable(2**32, (NoiseRow((0,), (2**32,)),)))
    with pytest.raises(BadNoiseTable, match="2 rows repeat"):
        tau_argus.write(NoiseTable(10, (NoiseRow((0,), (10,)),) * 2, repeats=2))


def test_a_modulus_of_two_to_the_twelve_is_written_in_twelve_exact_decimals():
    table = NoiseTable(
        4096,
        (NoiseRow((0,), (4096,)), NoiseRow((-1, 1), (2048, 4096)), NoiseRow((-1, 0, 1), (1, 4095, 4096))),
    )
    again = tau_argus.read(tau_argus.write_sas(table), biased=False, parameters={})
    assert again.modulus == 10**12
    assert [row.probabilities() for row in again.rows] == [row.probabilities() for row in table.rows]


@pytest.mark.parametrize("header", ["i;j;p_ij;v;p_ij_ub", '"i";"j";"p";"v";"p_ij_ub"', "i;j;p;diff;kum_p_o"])
def test_headers_of_older_tables_are_read(header, tmp_path):
    # The headers of the tables that come with tau-Argus 4.2, and of ptable before 0.3.
    (tmp_path / "old.txt").write_text(f"{header}\n0;0;1;0;1\n1;0;5.0E-01;-1;0.5\n1;2;0.5;1;1\n")
    assert read_noise_table(tmp_path / "old.txt").rows[1] == NoiseRow((-1, 1), (5 * 10**7, 10**8))


def test_a_count_in_the_billions_is_a_gap_and_costs_no_time():
    with pytest.raises(BadNoiseTable, match="gap: no row for count 2"):
        read("i;j;p;v;p_int_ub\n1;1;1;0;1\n99999999999;99999999999;1;0;1\n")
