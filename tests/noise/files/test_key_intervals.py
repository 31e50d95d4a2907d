"""Files of intervals (tau-Argus, SAS, cellKey in CSV and YAML) give the same noise when read again, or are refused."""

import json
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files import cellkey_yaml, read_noise_table, tau_argus
from discreet.noise.files.cellkey_r import decimal_cell_key
from discreet.noise.files.delimited import split_lines
from discreet.noise.table import NoiseRow, NoiseTable


@pytest.mark.parametrize("mark", [";", ",", "\t", " "])
def test_the_first_line_decides_the_separator_and_numbers_count_blank_lines(mark):
    text = f'\ufeff"i"{mark}v\n\n1{mark}"2"\n'
    assert split_lines(text) == [(1, ("i", "v")), (3, ("1", "2"))]
    assert split_lines("\n \n") == []


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
        (HEAD + "\n1;0;half;-1;0.5\n", 'Line 3: p is "half"'),
        (HEAD + "1;0;nan;-1;0.5\n", "Line 2: p is"),
        (HEAD + "1;0;1e400000000;-1;0.5\n", "Line 2: p lies beyond"),
        (HEAD + "1;0;1e-400000000;-1;0.5\n", "Line 2: p lies beyond"),
        (HEAD + "9" * 20 + ";0;1;0;1\n", "Line 2: i is beyond"),
        (HEAD + "1;1;1;0;1\n99999999999;99999999999;1;0;1\n", "gap: no row for count 2"),  # and costs no time
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
@pytest.mark.parametrize("mark", [";", "\t"])
def test_headers_of_older_tables_are_read(header, mark, tmp_path):
    # The headers of the tables that come with tau-Argus 4.2, and of ptable before 0.3.
    text = f"\ufeff{header}\n\n0;0;1;0;1\n1;0;5.0E-01;-1;0,5\n1;2;0.5;1;1\n"
    (tmp_path / "old.txt").write_text(text.replace(";", mark), "utf-8")
    assert read_noise_table(tmp_path / "old.txt").rows[1] == NoiseRow((-1, 1), (5 * 10**7, 10**8))


ORACLE = json.loads((Path(__file__).parents[2] / "oracles" / "cellkey.json").read_text())


def as_csv(rows, header="i,j,p,v,lb,ub"):
    lines = [header]
    for row in rows:
        low = Decimal(0)
        for value, p in zip(row["v"], row["p"], strict=True):
            high = low + Decimal(p)
            lines.append(f"{row['i']},{row['i'] + value},{p},{value},{low},{high}")
            low = high
    return "\n".join(lines) + "\n"


def cells():
    """Every cell of region x sex x age with all totals: its record keys."""
    axes = [[*sorted({record[axis] for record in ORACLE["micro"]}), "Total"] for axis in range(3)]
    for cell in product(*axes):
        inside = [r for r in ORACLE["micro"] if all(c in ("Total", r[a]) for a, c in enumerate(cell))]
        yield cell, [record[3] for record in inside]


def test_every_released_cell_equals_that_of_r_cellkey(tmp_path):
    (tmp_path / "ptable.csv").write_text(as_csv(ORACLE["table"]))
    table = read_noise_table(tmp_path / "ptable.csv")
    assert table.modulus == 10**8
    released = {tuple(each[:3]): each[3:] for each in ORACLE["released"]}
    compared = 0
    for cell, keys in cells():
        count, perturbed, cell_key = released[cell]
        key = decimal_cell_key(keys, table.modulus)
        noise = int(table.noise(np.array([len(keys)]), np.array([key], dtype=np.uint64))[0])
        assert (len(keys), Decimal(key) / 10**8) == (count, Decimal(cell_key))
        assert len(keys) + noise == perturbed
        compared += 1
    assert compared == len(ORACLE["released"]) == 75


def test_older_column_names_and_files_without_a_header_are_read(tmp_path):
    (tmp_path / "new.csv").write_text(as_csv(ORACLE["table"]))
    old = as_csv(ORACLE["table"], header='"i","j","p","diff","kum_p_u","kum_p_o"')
    (tmp_path / "old.csv").write_text(old)
    (tmp_path / "bare.txt").write_text(old.partition("\n")[2].replace(",", " "))
    new, older, bare = (read_noise_table(tmp_path / name) for name in ("new.csv", "old.csv", "bare.txt"))
    assert new.rows == older.rows == bare.rows


def test_decimal_keys_are_summed_exactly_and_only_their_fraction_counts():
    assert decimal_cell_key(["0.99999999", "0.00000001"], 10**8) == 0
    assert decimal_cell_key([0.1] * 10, 10**8) == 0
    with pytest.raises(BadNoiseTable, match="more decimals"):
        decimal_cell_key(["0.123456789"], 10**8)


PTABLE = {
    "i": "0 1 1", "j": "0 0 2", "p": "1.0 0.5 0.5", "v": "0 -1 1", "lb": "0.0 0.0 0.5", "ub": "1.0 0.5 1.0",
    "type": "all all all",
}  # fmt: skip
COLUMNS = "".join(f"    {name}:\n" + "".join(f"    - {v}\n" for v in PTABLE[name].split()) for name in PTABLE)
#: As R's yaml::write_yaml(precision = 9) writes a ptable within ck_params_cnts.
WRITTEN_BY_R = f"params:\n  ptable:\n{COLUMNS}type: cnts\nversion: 1.0.3\nptype: params_cnts\n"


def read_yaml(text):
    return cellkey_yaml.read(text, biased=False, parameters={})


def test_the_columns_of_the_file_are_the_rows_of_the_table(tmp_path):
    (tmp_path / "params.yaml").write_text(WRITTEN_BY_R)
    table = read_noise_table(tmp_path / "params.yaml")
    assert [row.values for row in table.rows] == [(0,), (-1, 1)]
    assert table.parameters["format"] == "cellkey-yaml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRITTEN_BY_R.replace("type: cnts", "type: nums"), "for counts"),
        (WRITTEN_BY_R.replace("    ub:", "    upper:"), "lacks i, v or ub"),
        (WRITTEN_BY_R.replace("    - 1.0\n    type", "    type"), "differ in length"),
        (WRITTEN_BY_R.replace("- 0.5", "- half"), "half"),
        ("params:\n  ptable:\n  - 1\ntype: cnts\n", "no ptable with columns"),
        ("params:\n  ptable:\n\t- {", "not valid YAML"),
        ("params: &a\n  ptable:\n    *a : 1\n", "not valid YAML|no cellKey"),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(text, said):
    assert cellkey_yaml.recognise(WRITTEN_BY_R)
    with pytest.raises(BadNoiseTable, match=said):
        read_yaml(text)
