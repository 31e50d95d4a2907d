"""Shlomo, Krenzke & Li (2019): Tables 1-3 reproduce but for one entry and a diagonal; 4 and 5 do not follow."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.studies.test_exhibit import exhibit_of

from discreet.noise import pram
from discreet_studies.shlomo2019 import EXHIBITS
from discreet_studies.shlomo2019.simulation import invariant_pram

pytestmark = pytest.mark.slow

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "shlomo2019.json").read_text("utf-8"))
NUMBERS, SIMULATED = ORACLE["numbers"], ORACLE["simulation"]
#: Standard errors that two simulations of the same thing may be apart.
ERRORS = 4
#: The oracle's names of what Table 5 measures.
PARTS = {"absrel": "% relative absolute difference", "HD": "Hellinger's distance"}


@pytest.fixture(scope="module")
def findings():
    return {(name, f.what): f for name in EXHIBITS for f in exhibit_of("shlomo2019", name).findings}


@pytest.mark.parametrize("z", range(-7, 8))
def test_table_1_reproduces(findings, z):
    found, expected = findings["table 1", f"P(noise = {z:+d})"], NUMBERS[f"table1.p({abs(z)})"]
    assert expected["status"] == "reproduces"
    assert (found.agrees, found.printed) == (True, expected["printed"])
    assert found.ours == pytest.approx(expected["value"], rel=1e-9)


@pytest.mark.parametrize(("table", "word", "side"), [("table 2", "count", 7), ("table 3", "residual", 15)])
def test_the_matrices_reproduce_but_for_one_entry_and_the_diagonal(findings, table, word, side):
    """0.761594 is printed as 0.76160; the wrong alternative is a tolerance of 6e-6 that takes it for right."""
    expected = NUMBERS[table.replace(" ", "") + ".rule_tail_to_neighbour"]["value"]
    wrong = []
    for i in range(side):
        for j in range(side):
            found = findings[table, f"{word} {i} to {j}"]
            assert found.ours == pytest.approx(expected[i][j], abs=1e-15)
            if found.agrees is False:
                wrong.append((i, j, found.printed))
    diagonal = [(i, i, 0.7616) for i in range(side) if (table, i) != ("table 2", 0)]
    assert sorted(wrong) == sorted([*diagonal, *([(6, 0, 5.31e-06)] if table == "table 2" else [])])


@pytest.mark.parametrize(
    ("what", "key"),
    [
        ("DP: δ at the cap", "delta_cap"),
        ("PRAM: P(1 to 0), called δ", "pram.delta_1to0"),
        ("PRAM: 'δ of 1 to 8', really P(1 to 6)", "pram.delta_1to8"),
        ("Q: 1/(2q+1) for q = 7, called δ", "q.delta_q7"),
        ("Q: 1/(2q+1) for q = 1, called δ", "q.delta_q1"),
    ],
)
def test_the_deltas_of_the_text_reproduce_as_what_they_are(findings, what, key):
    found, expected = findings["section 3", what], NUMBERS[key]
    assert (found.agrees, expected["status"], found.printed) == (True, "reproduces", expected["printed"])
    assert found.ours == pytest.approx(expected["value"], rel=1e-9)


def test_the_exact_deltas_are_far_from_them(findings):
    exact = [findings["section 3", f"{name}: exact δ at ε = 2, all counts"].ours for name in ("PRAM", "Q")]
    assert exact == pytest.approx([0.8808, 2 / 3], abs=1e-4)
    assert findings["section 3", "PRAM, v - m: exact δ at ε = 2, all counts"].ours == 1


@pytest.mark.parametrize("kind", ["dependent", "independent"])
@pytest.mark.parametrize("method", ["DP", "PRAM", "Q"])
def test_our_simulation_is_the_oracles(findings, kind, method):
    """Half of the tolerance: 500 tables of ours, 2,000 of the oracle's."""
    oracle = SIMULATED[f"{kind[:3]}.pram_pure"]
    value, error = oracle["value"][method], oracle["se500"][method]
    pairs = {
        "pct": findings["table 4", f"{kind}, {method}: % of cells perturbed"],
        "RM": findings["table 4", f"{kind}, {method}: RM"],
        **{key: findings["table 5", f"{kind}, sample, {method}: {words}"] for key, words in PARTS.items()},
        "HDw": findings["table 5", f"{kind}, weighted, {method} Avg: Hellinger's distance"],
    }
    if method != "DP":
        pairs["HDwcell"] = findings["table 5", f"{kind}, weighted, {method} Avg cell: Hellinger's distance"]
    for key, found in pairs.items():
        assert abs(found.ours - value[key]) < ERRORS * error[key] * np.sqrt(1 + 500 / 2000), (key, found)


@pytest.mark.parametrize("kind", ["dependent", "independent"])
def test_pram_as_printed_is_the_oracles_too(findings, kind):
    oracle = SIMULATED[f"{kind[:3]}.pram_none"]
    found = findings["table 4", f"{kind}, M as printed: % perturbed"]
    assert abs(found.ours - oracle["value"]["PRAM"]["pct"]) < ERRORS * oracle["se500"]["PRAM"]["pct"] * 1.12


def test_the_order_of_the_three_methods_holds(findings):
    claims = [f for f in findings.values() if f.relation == ">="]
    assert len(claims) == 8
    assert all(f.agrees for f in claims)


@pytest.mark.parametrize("kind", ["dependent", "independent"])
def test_the_sizes_do_not_follow_from_the_text(findings, kind):
    oracle = SIMULATED[f"{kind[:3]}.pram_pure"]
    assert oracle["status"] == "differs"
    for counts, key in (("sample", "n"), ("weighted", "pop")):
        found = findings["table 5", f"{kind}, {counts}, Original: mean"]
        assert (found.agrees, found.printed) == (False, oracle["printed"][key])
        error = oracle["value"]["orig"][f"{key}_se500"]
        assert abs(found.ours - oracle["value"]["orig"][key]) < ERRORS * error * 1.12
        spread = findings["table 5", f"{kind}, {counts}, Original: standard error"]
        assert (spread.agrees, spread.printed) == (False, oracle["printed"][f"{key}_se"])
    assert findings["table 4", f"{kind}, PRAM: % of cells perturbed"].agrees is False


@pytest.fixture(scope="module")
def wider():
    """Tables 4 and 5 read with effects uniform on ±1."""
    return {name: exhibit_of("shlomo2019", name).readings[0] for name in ("table 4", "table 5")}


def test_effects_on_plus_minus_one_give_most_of_table_5(wider):
    """63 of 72 against 11 of the literal reading; 64 if half a digit is added to three errors, as was once claimed."""
    assert wider["table 5"].verdict == (63, 9, 0)
    assert exhibit_of("shlomo2019", "table 5").verdict == (11, 61, 0)
    assert sum(_added(f) for f in wider["table 5"].findings) == 64
    wrong = {f.what for f in wider["table 5"].findings if not f.agrees}
    assert all(what.endswith("Hellinger's distance") and ("PRAM" in what or "Q" in what) for what in wrong)
    sizes = [f for f in wider["table 5"].findings if f.what.endswith((": mean", ": standard error"))]
    assert len(sizes) == 40
    assert all(f.agrees for f in sizes)


def _added(finding):
    """Whether a number of Table 5 would agree if rounding and errors were added."""
    rounding = 0.05 if finding.what.endswith((": mean", ": standard error")) else 0.0005
    errors = np.sqrt(finding.tolerance**2 - rounding**2)
    return abs(finding.printed - finding.ours) <= rounding + errors


def test_table_4_does_not_follow_from_that_reading_either(wider):
    agree, differ, _ = wider["table 4"].verdict
    assert (agree, differ) == (5, 7)
    simulated = [
        f
        for f in exhibit_of("shlomo2019", "table 4").findings
        if f.printed is not None and "dependent" in f.what
    ]
    assert (sum(f.agrees for f in simulated), len(simulated)) == (5, 12)


def test_invariant_pram_keeps_the_expected_frequencies_of_values_and_pram_as_printed_does_not():
    """t M* = t: over many draws each residual is as frequent as before; with M the block's ends are not."""
    rng = np.random.default_rng(11)
    table = np.array([3, 15, 15, 15, 15, 15, 15, 15, 16, 16])  # residual 0 is an end of its block
    draws = 20_000
    many = np.broadcast_to(table, (draws, len(table))).copy()
    kept = (invariant_pram(many, rng) == 15).sum(axis=1)
    error = kept.std() / np.sqrt(draws)
    assert abs(kept.mean() - 7) < ERRORS * error
    plain = pram()
    moved = many + plain.noise(many, rng.integers(0, plain.modulus, many.shape, dtype=np.uint64))
    assert abs((moved == 15).sum(axis=1).mean() - 7) > 20 * error
