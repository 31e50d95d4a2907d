"""Whole releases with the tables and keys that offices already use: the same numbers as their own programs."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.errors import BadData, BadDescription

ORACLES = Path(__file__).parents[1] / "oracles"


def description(variables, extra="", protection="", noise='file = "ptable.csv"'):
    sections = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {json.dumps(sorted(codes))}\n'
        for name, codes in variables.items()
    )
    return (
        f'id = "office"\nlabel = "Office"\nid_column = "id"\nkey_column = "key"\n{extra}{sections}'
        f'[protection]\nkeys = "additive"\n{protection}[protection.noise]\n{noise}\n'
    )


def load(folder, text, records):
    (folder / "dataset.toml").write_text(text)
    discreet.load(folder / "workspace", folder / "dataset.toml", records)
    return discreet.open(folder / "workspace")


def ons_ptable(keys, rng):
    """A made-up ONS table: any noise for any key, never below zero people."""
    noise = np.maximum(rng.integers(-2, 3, (750, keys)), -np.arange(1, 751)[:, None]).ravel()
    counts = np.repeat(np.arange(1, 751), keys)
    return pd.DataFrame({"pcv": counts, "ckey": np.tile(np.arange(keys), 750), "pvalue": noise})


@pytest.mark.parametrize("keys", [256, pytest.param(512, marks=pytest.mark.slow)])
def test_an_ons_table_and_ons_keys_give_the_ons_packages_counts(keys, tmp_path):
    from cell_key_perturbation.create_perturbed_table import create_perturbed_table

    rng = np.random.default_rng(keys)
    ptable = ons_ptable(keys, rng)
    ptable.to_csv(tmp_path / "ptable.csv", index=False)
    areas = [f"A{n:02d}" for n in range(40)]
    records = pd.DataFrame(
        {
            "id": range(9000),
            "key": rng.integers(0, keys, 9000),
            "sex": rng.choice(["1", "2"], 9000, p=[0.3, 0.7]),
            "area": rng.choice(areas, 9000, p=rng.dirichlet(np.full(40, 0.3))),
        }
    )
    catalogue = load(tmp_path, description({"sex": "12", "area": areas}), records)
    ours = catalogue.table("office", rows=["area"], columns=["sex"], totals=False).to_pandas()
    theirs = create_perturbed_table(
        records, ptable, [], ["area", "sex"], "key", use_existing_ons_id=False, threshold=0
    )
    expected = dict.fromkeys(((area, sex) for area in areas for sex in "12"), 0)
    expected |= {(row.area, row.sex): int(row.count) for row in theirs.itertuples()}
    found = {(row.area, row.sex): int(row.value) for row in ours.itertuples()}
    assert found == expected
    assert max(found.values()) > 750


def test_cellkeys_decimal_keys_and_table_give_cellkeys_counts(tmp_path):
    """R cellKey 1.0.3: every cell that it released, totals included (tests/oracles/cellkey.json)."""
    oracle = json.loads((ORACLES / "cellkey.json").read_text())
    lines = ["i,j,p,v,lb,ub"]
    for row in oracle["table"]:
        low = Decimal(0)
        for value, p in zip(row["v"], row["p"], strict=True):
            lines.append(f"{row['i']},{row['i'] + value},{p},{value},{low},{low + Decimal(p)}")
            low += Decimal(p)
    (tmp_path / "ptable.csv").write_text("\n".join(lines))
    records = pd.DataFrame(oracle["micro"], columns=["region", "sex", "age", "key"]).assign(id=range(240))
    variables = {name: set(records[name]) for name in ("region", "sex", "age")}
    catalogue = load(tmp_path, description(variables, extra="key_decimals = 8\n"), records)
    release = catalogue.table("office", rows=["region", "sex", "age"]).release
    for *cell, _count, perturbed, _key in oracle["released"]:
        assert release.value(*("_T" if code == "Total" else code for code in cell)) == perturbed
    assert len(oracle["released"]) == 75


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, 2**32])
def test_a_record_key_that_is_none_is_refused(key, tmp_path):
    ons_ptable(256, np.random.default_rng(1)).to_csv(tmp_path / "ptable.csv", index=False)
    records = pd.DataFrame({"id": [1, 2], "key": ["5", key], "sex": ["1", "2"]})
    with pytest.raises(BadData, match="record key"):
        load(tmp_path, description({"sex": "12"}), records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protection", "noise", "message"),
    [
        ("", 'file = "nothing.csv"', "nothing.csv"),
        ("modulus = 4096\n", 'file = "ptable.csv"', "covers 256 keys"),
        ("", 'file = "ptable.csv"\nD = 5', "unexpected keyword"),
    ],
)
def test_a_noise_file_that_does_not_fit_is_refused(protection, noise, message, tmp_path):
    ons_ptable(256, np.random.default_rng(1)).to_csv(tmp_path / "ptable.csv", index=False)
    records = pd.DataFrame({"id": [1, 2], "key": [5, 6], "sex": ["1", "2"]})
    text = description({"sex": "12"}, protection=protection, noise=noise)
    with pytest.raises(BadDescription, match=message):
        load(tmp_path, text, records)
