from __future__ import annotations

import json
import math

import pytest

from discreet.noise import families
from discreet.noise.design_document import describe
from discreet.noise.families.abs import alternative
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
    document = json.loads(json.dumps(describe(ideal, table), allow_nan=False))
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
    document = describe(ideal, quantise(ideal, 2**8, "ceiling"))
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
