from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files import read_noise_table, write_noise_table
from discreet.noise.files.cellkey_r import decimal_cell_key

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


@pytest.mark.parametrize("name", ["cellkey", "tau-argus", "sas", "json"])
def test_a_table_that_is_written_and_read_again_is_the_same(tmp_path, name):
    (tmp_path / "ptable.csv").write_text(as_csv(ORACLE["table"]))
    table = read_noise_table(tmp_path / "ptable.csv")
    write_noise_table(table, tmp_path / "again", name)
    again = read_noise_table(tmp_path / "again")
    assert (again.modulus, again.rows, again.repeats) == (table.modulus, table.rows, table.repeats)


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
