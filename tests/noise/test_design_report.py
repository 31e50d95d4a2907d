from __future__ import annotations

import json
import math

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import families
from discreet.noise.design_report import compare, design_document, row_delta, within
from discreet.noise.families.abs import alternative
from discreet.noise.families.laplace import ideal_laplace
from discreet.noise.quantise import quantise

GIVEN = {
    "laplace": {"epsilon": 1.5, "m": 7},
    "normal": {"epsilon": 1.0, "m": 10},
    "hellinger": {"epsilon": 3.0, "largest": 5},
    "maxent": {"D": 5, "V": 3, "js": 2},
    "abs": {"epsilon": 0.5, "delta": 1e-4},
    "pram": {},
    "dropadd": {},
    "gaussian": {"epsilon": 1.0, "delta": 1e-3},
    "rounded-normal": {"V": 4.0},
    "exponential": {"epsilon": 3.0, "largest": 5},
}


def test_every_family_is_described():
    assert set(GIVEN) == set(families.names())


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("modulus", [2**16, 2**32, 2**64])
def test_the_document_holds_the_design_and_the_integers(name, modulus):
    ideal = families.ideal(name, GIVEN[name], modulus)
    table = families.build(name, GIVEN[name], modulus)
    document = json.loads(json.dumps(design_document(ideal, table), allow_nan=False))
    assert document["family"] == name
    assert document["modulus"] == modulus
    assert document["repeats"] == table.repeats
    assert set(GIVEN[name]) <= set(document["parameters"])
    for count, row in enumerate(document["rows"]):
        assert row["count"] == count
        assert row["values"] == sorted(row["values"])
        assert row["thresholds"][-1] == modulus
        assert row["thresholds"] == sorted(row["thresholds"])
        assert len(row["values"]) == len(row["thresholds"]) == len(row["probabilities"])
        assert math.fsum(row["probabilities"]) == pytest.approx(1)
    assert document["moments"]["variance"] == pytest.approx(float(table.rows[-1].variance()))


@pytest.mark.parametrize("name", ["laplace", "normal", "abs", "gaussian"])
def test_these_families_have_one_row_that_serves_every_count(name):
    table = families.build(name, GIVEN[name])
    assert len(table.rows) == 1


def test_a_lost_value_keeps_its_place_and_repeats_the_threshold():
    ideal = families.ideal("abs", GIVEN["abs"])
    document = design_document(ideal, quantise(ideal, 2**8, "ceiling"))
    assert document["rows"][0]["thresholds"][:3] == [1, 1, 1]
    assert [0, -24] in document["quantisation"]["lost"]
    assert document["quantisation"]["paper"]["epsilon"] is None


def test_the_alternative_of_abs_has_less_delta_or_less_variance():
    ideal = families.ideal("abs", GIVEN["abs"])
    other = alternative(ideal)
    assert other["D"] == 25
    assert other["delta"] < ideal.last.probabilities[0]
    assert other["least_variance"]["V"] < ideal.parameters["V"]
    assert other["least_variance"]["delta"] <= 1e-4
    assert math.fsum(other["probabilities"]) == pytest.approx(1)


# Rinott et al. (2018), Table 2, as printed: counts 0..4 and 5+, ranges ±0..±4.
PRINTED = {
    ("laplace", 1.5): "82 96 99 100 100|64 96 99 100 100|64 92 99 100 100|64 92 98 100 100|64 92 98 100 100|"
    "64 92 98 100 100",
    (
        "normal",
        1.5,
    ): "57 70 81 89 94|14 70 81 89 94|14 40 81 89 94|14 40 62 89 94|14 40 62 78 94|14 40 62 78 88",
    (
        "laplace",
        0.5,
    ): "63 78 87 93 96|25 78 87 93 96|25 55 87 93 96|25 55 74 93 96|25 55 74 85 96|25 55 74 85 92",
    ("normal", 0.5): "54 63 71 78 84|9 63 71 78 84|9 26 71 78 84|9 26 42 78 84|9 26 42 57 84|9 26 42 57 69",
}


@pytest.mark.parametrize(("family", "epsilon"), PRINTED)
def test_the_printed_table_2_follows(family, epsilon):
    _, sides = compare(epsilon, m=7)
    side = next(side for side in sides if side.family == family)
    printed = np.array([[int(x) for x in line.split()] for line in PRINTED[family, epsilon].split("|")])
    assert np.abs(100 * np.array(side.within) - printed).max() <= 0.51


def test_every_family_keeps_the_common_delta_when_the_smallest_m_is_asked():
    common, sides = compare(0.8, delta=1e-4, match="smallest")
    assert common == 1e-4
    for side in sides:
        assert side.delta <= common * (1 + 1e-9), side.family


def test_laplace_is_nearest_to_the_truth_at_equal_epsilon_and_delta():
    _, sides = compare(1.0, delta=1e-4)
    assert min(sides, key=lambda side: side.variance).family == "laplace"
    assert max(sides, key=lambda side: side.p_exact).family == "laplace"


def test_clipping_counts_negative_releases_as_zero():
    row = ideal_laplace(0.5, 7).last
    slow = sum(p for z, p in zip(row.values, row.probabilities, strict=True) if abs(max(0, 2 + z) - 2) <= 2)
    assert within(row, 2, 2) == pytest.approx(slow)


def test_a_laplace_row_has_its_end_probability_as_delta():
    row = ideal_laplace(1.5, 7).last
    assert row_delta(row, 1.5) == pytest.approx(row.probabilities[0], rel=1e-9)


def test_a_comparison_needs_delta_or_m():
    with pytest.raises(InfeasibleDesign, match="not both"):
        compare(1.0)
