"""Bailie (2020): both intervals of Table 2 reproduce."""

import json
from pathlib import Path

import pytest

from discreet_studies.bailie2020 import EXHIBITS
from discreet_studies.exhibit import Effort

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "bailie2020.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def findings():
    return {f.what: f for make in EXHIBITS.values() for f in make(Effort()).findings}


@pytest.mark.parametrize(
    ("name", "key"), [("without invariants", "without_invariants"), ("n = 1500", "sample_size_invariant")]
)
def test_the_intervals_reproduce(findings, name, key):
    expected = ORACLE["intervals"][key]
    for place, end in enumerate(("low", "high")):
        found = findings[f"{name}: 90 % interval, {end}"]
        assert (found.agrees, found.printed) == (True, expected["printed"][place])
        assert found.ours == pytest.approx(expected["value"][place], rel=1e-12)


def test_the_mean_noise_without_invariants_is_the_population(findings):
    found = findings["mean absolute noise without invariants, N/ε"]
    assert found.agrees is True
    assert found.ours == ORACLE["mean_absolute_noise_without_invariants"]


def test_a_wrong_sensitivity_would_not_agree(findings):
    """Of a table (L1) the sensitivity is twice that of a cell: the interval would be twice as wide."""
    cell = findings["sensitivity with n = 1500, N/1500"].ours
    assert findings["sensitivity (L1) of a table with n = 1500"].ours == 2 * cell
    found = findings["n = 1500: 90 % interval, low"]
    assert abs(found.printed - (found.ours - cell)) > found.tolerance
