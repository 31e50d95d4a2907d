"""ONS and SuperSTAR list the noise of every key: read and written exactly, gaps and duplicates refused."""

import numpy as np
import pytest

from discreet.errors import BadNoiseTable
from discreet.noise.files import ons, read_noise_table, superstar, write_noise_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit


def random_ons_table(keys, seed):
    """Noise in no order at all: every count has another value for each of 256 ranges of keys."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    counts = np.repeat(np.arange(1, 751), keys)
    noise = np.maximum(np.repeat(rng.integers(-4, 5, 750 * 256), keys // 256), -counts)
    return pd.DataFrame({"pcv": counts, "ckey": np.tile(np.arange(keys), 750), "pvalue": noise})


def microdata(keys, seed, size=12_000):
    """Small cells and cells of thousands, so that rows are reused."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    region = rng.choice(6, size, p=[0.6, 0.25, 0.1, 0.04, 0.009, 0.001])
    return pd.DataFrame(
        {
            "region": region,
            "age": rng.choice(12, size, p=[0.5, 0.2, 0.1] + [0.2 / 9] * 9),
            "sex": rng.integers(0, 2, size),
            "record_key": rng.integers(0, keys, size),
        }
    )


def ours(table, data, variables):
    """The same released counts by integers only: sum of record keys modulo the table's modulus."""
    cells = data.groupby(variables)["record_key"].agg(["size", "sum"]).reset_index()
    keys = (cells["sum"].to_numpy() % table.modulus).astype(np.uint64)
    cells["released"] = cells["size"].to_numpy() + table.noise(cells["size"].to_numpy(), keys)
    return cells


@pytest.mark.parametrize(
    ("keys", "variables"),
    [
        (256, ["region"]),
        (256, ["region", "age"]),
        (256, ["region", "age", "sex"]),
        pytest.param(4096, ["region", "age"], marks=pytest.mark.slow),
    ],
)
def test_released_counts_equal_those_of_the_ons_package_cell_by_cell(tmp_path, keys, variables):
    ons_package = pytest.importorskip("cell_key_perturbation.create_perturbed_table")
    (table, theirs), data = ons_table_of(keys, tmp_path), microdata(keys, seed=7)
    released = ons_package.create_perturbed_table(
        data=data, ptable=theirs, geog=[], tab_vars=variables, record_key="record_key", threshold=0
    )
    both = released.merge(ours(table, data, variables), on=variables, how="left")
    both[["size", "released"]] = both[["size", "released"]].fillna(0)
    assert (both["pre_sdc_count"] == both["size"]).all()
    assert (both["pre_sdc_count"] + both["pvalue"] == both["released"]).all()
    assert both["count"].dropna().astype(int).equals(both.loc[both["count"].notna(), "released"].astype(int))
    assert (both["pvalue"] != 0).any()


KNOWN = {}


def ons_table_of(keys, folder):
    """One table a modulus: made once, written as CSV by pandas, read by us."""
    if keys not in KNOWN:
        theirs = random_ons_table(keys, seed=keys)
        theirs.to_csv(folder / "ptable.csv", index=False)
        KNOWN[keys] = (read_noise_table(folder / "ptable.csv"), theirs)
    return KNOWN[keys]


def test_the_reuse_rule_is_that_of_the_package_for_every_large_count(tmp_path):
    table, theirs = ons_table_of(256, tmp_path)
    noise = theirs.set_index(["pcv", "ckey"])["pvalue"]
    for count in (*range(745, 760), *range(995, 1010), 1251, 123_456_789):
        pcv = count if count <= 750 else (count - 1) % 250 + 501
        found = table.noise(np.full(256, count), np.arange(256, dtype=np.uint64))
        assert found.tolist() == noise.loc[pcv].tolist()
    assert (len(table.rows), table.repeats) == (751, 250)


@pytest.mark.slow
def test_the_rounding_table_of_ons_is_read_and_its_bias_is_shown(tmp_path):
    ons_tables = pytest.importorskip("cell_key_perturbation.utils.generate_test_ptable")
    ons_tables.generate_ptable_10_5_rule().to_csv(tmp_path / "ten_five.csv", index=False)
    table = read_noise_table(tmp_path / "ten_five.csv")
    result = audit(table, epsilon=1.0)
    assert result.delta == 1
    assert any("largest bias is -9, at count 9" in problem for problem in result.problems)
    with pytest.raises(BadNoiseTable, match="count 1 has mean -1"):
        read_noise_table(tmp_path / "ten_five.csv", biased=False)


ROWS = (NoiseRow((0,), (256,)), NoiseRow((-1, 1), (128, 256)), NoiseRow((-2, 0, 2), (64, 192, 256)))


@pytest.mark.parametrize(("name", "rows"), [("ons", ROWS), ("superstar", (*ROWS, *reversed(ROWS[1:])))])
def test_a_table_that_is_written_and_read_again_releases_the_same(tmp_path, name, rows):
    table = NoiseTable(256, rows, repeats=2)
    write_noise_table(table, tmp_path / "out.csv", name)
    again = read_noise_table(tmp_path / "out.csv")
    keys = np.arange(256, dtype=np.uint64)
    for count in (*range(70), 749, 750, 751, 752, 1001):
        counts = np.full(256, count)
        assert again.noise(counts, keys).tolist() == table.noise(counts, keys).tolist()


def lines(changes=(), drop=()):
    kept = {(count, key): 0 for count in range(1, 751) for key in range(2)}
    body = [f"{c},{k},{v}" for (c, k), v in kept.items() if (c, k) not in drop]
    return "\n".join(["pcv,ckey,pvalue", *body, *changes]) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lines(drop={(7, 1)}), "gap: the row of count 7 has no cell key 1"),
        (lines(drop={(9, 0), (9, 1)}), "gap: no row for count 9"),
        (lines(changes=["3,1,0"]), "count 3 lists cell key 1 twice"),
        (lines(changes=["751,0,0"]), "Count 751"),
        (lines(changes=["1,x,0"]), 'ckey is "x"'),
        (lines(changes=["1,0"]), "2 fields"),
        ("pcv,ckey,pvalue\n", "no rows"),
        (lines(changes=["1,70000,0"]), "from 0 to 70000"),
    ],
)
def test_a_broken_file_is_refused_with_its_row_named(text, said):
    with pytest.raises(BadNoiseTable, match=said):
        ons.read(text, parameters={})


@pytest.mark.parametrize(
    "table",
    [
        NoiseTable(2**32, (NoiseRow((0,), (2**32,)),)),
        NoiseTable(4, (NoiseRow((0, 1), (2, 4)), NoiseRow((-1, 1), (2, 4)))),
        NoiseTable(4, (NoiseRow((0,), (4,)),) * 15, repeats=15),
        NoiseTable(4, (NoiseRow((0,), (4,)),) * 3, repeats=3),
    ],
)
@pytest.mark.parametrize("form", [ons, superstar])
def test_a_table_that_the_format_cannot_say_is_not_written(form, table):
    with pytest.raises(BadNoiseTable):
        form.write(table)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [("0,0\n0\n", "line 2 has 1 columns"), ("0,0\n0,x\n", 'the noise is "x"'), ("", "empty")],
)
def test_a_broken_matrix_is_refused(text, said):
    with pytest.raises(BadNoiseTable, match=said):
        superstar.read(text, parameters={})


def test_a_biased_matrix_is_refused_when_no_bias_is_declared():
    with pytest.raises(BadNoiseTable, match="count 2 has mean 1"):
        superstar.read("1,0\n1,0\n", biased=False, parameters={})
