"""Every noise family at every modulus under every rounding rule: the integers that are looked up never change.

A design that no whole numbers of keys can hold is refused, and the refusal is golden too. What floating point decides
is compared everywhere where it lies far from a rounding edge, and on equal machines where it does not: see
docs/decisions/0001-keys.md.
"""

import hashlib
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import get_args

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import Protection
from discreet.noise.families import ideal, names
from discreet.noise.families.exponential import ideal_exponential
from discreet.noise.families.rounded_normal import ideal_rounded_normal
from discreet.noise.files import content_hash
from discreet.noise.ideal_distribution import IdealRow
from discreet.noise.quantise import Rounding, quantise
from discreet.noise.table import keep_zero
from discreet.protect.plan import plan_text
from discreet.records.draft.toml_text import PROTECTION
from discreet.workspace.demo import DEMOS
from discreet.workspace.versions.load_version import noise_for

MODULI = (2**32, 2**64, 2**16, 4096, 256, 10**8)
#: Each family with several sets of parameters.
CASES = {
    "laplace": [
        {"epsilon": 1.5, "m": 7},
        {"epsilon": 0.5},
        {"epsilon": 2.0},
        {"epsilon": 1.0, "delta": 1e-3},
        {"epsilon": 0.1, "m": 20},
    ],
    "normal": [{"epsilon": 1.5, "m": 12}, {"epsilon": 1.0, "delta": 1e-3}, {"epsilon": 0.5, "m": 8}],
    "hellinger": [{"epsilon": 2.0, "largest": 10}, {"epsilon": 4.0, "largest": 5, "top": 30}],
    "maxent": [
        {"D": 5, "V": 3.0, "js": 2},
        {"D": 4, "V": 2.0, "js": 1},
        {"D": 5, "V": 2.0},
        {"D": 5, "V": 2, "js": 2},
        {"D": 3, "V": 1.0, "pstay": 0.4},
        {"D": 5, "V": 3.0, "js": 2, "pstay": 0.5, "relax_pstay": True},
        {"D": 6, "V": 4.0, "monotone": False},
        {"D": 5, "V": 2.0, "equality": True},
        {"D": 11, "V": 4.0, "symmetric": True},
    ],
    "abs": [{"epsilon": 0.5, "delta": 1e-4}, {"epsilon": 1.0, "D": 10}, {"epsilon": 2.0, "D": 5}],
    "pram": [{}, {"epsilon": 1.0, "m": 4, "sign": "invariant"}, {"epsilon": 3.0, "m": 5}],
    "dropadd": [{}, {"m": 3, "percent": 10}, {"m": 2, "percent": 2.5}],
    "gaussian": [{"V": 4.0}, {"V": 2.5, "m": 6}, {"epsilon": 1.0, "delta": 1e-4}, {"V": 0.3}],
    "staircase": [
        {"epsilon": 1.0, "width": 2},
        {"epsilon": 0.5, "width": 3, "delta": 1e-3},
        {"epsilon": 2.0, "width": 4, "inner": 2, "m": 15},
    ],
}
#: Designs whose numbers follow from integers, fractions and correctly rounded decimals alone.
EXACT = {"laplace", "staircase", "normal", "abs", "pram", "dropadd"}


def is_exact(family, parameters):
    return family in EXACT or (family == "gaussian" and "V" in parameters)


def said(parameters):
    return " ".join(f"{name}={value}" for name, value in parameters.items()) or "defaults"


def shaken(design, seed):
    """The design after a relative change of 1e-12 of every probability; symmetric rows stay symmetric."""
    rng = np.random.RandomState(seed)
    rows = []
    for row in design.rows:
        factors = 1 + 1e-12 * rng.uniform(-1, 1, len(row.values))
        p = np.array(row.probabilities)
        mirrored = np.array_equal(p, p[::-1]) and row.values[0] == -row.values[-1]
        p = p * (factors + factors[::-1] if mirrored else factors)
        rows.append(IdealRow(row.values, tuple((p / p.sum()).tolist())) if len(p) > 1 else row)
    return replace(design, rows=tuple(rows))


def hashed(design, modulus, rule):
    """The hash of the table's integers, or the name of the refusal."""
    try:
        return content_hash(quantise(design(modulus), modulus, rule))
    except DiscreetError as error:
        return type(error).__name__


def is_firm(design, modulus, rule, found):
    """Whether small changes of the design leave every integer as it is."""
    return all(hashed(lambda m: shaken(design(m), seed), modulus, rule) == found for seed in range(5))  # noqa: B023


def check(golden, name, design, rule, *, exact):
    """Compare the tables of a design at every modulus; near a rounding edge only where floats agree."""
    for modulus in MODULI:
        entry = f"{name} | {modulus} | {rule}"
        found = hashed(design, modulus, rule)
        known = golden.entries.get(entry)
        firm = known["firm"] if known else exact or is_firm(design, modulus, rule, found)
        if firm or golden.same_floats:
            golden.check(entry, {"sha256": found, "firm": firm})


@pytest.mark.parametrize("rule", get_args(Rounding))
@pytest.mark.parametrize(
    ("family", "parameters"),
    [(family, parameters) for family in CASES for parameters in CASES[family]],
    ids=lambda part: part if isinstance(part, str) else said(part),
)
def test_the_integers_of_a_family_never_change(golden, family, parameters, rule):
    exact = is_exact(family, parameters)
    check(golden, f"{family} {said(parameters)}", partial(ideal, family, parameters), rule, exact=exact)


#: Designs that are compared under the exact rounding only.
EXACTLY = {
    "rounded-normal V=4.0": partial(ideal_rounded_normal, 4.0),
    "rounded-normal V=0.7": partial(ideal_rounded_normal, 0.7),
    "exponential |a-b|": lambda _: ideal_exponential(lambda a, b: abs(a - b), epsilon=2, largest=6),
}


@pytest.mark.parametrize(("name", "design"), EXACTLY.items())
def test_the_integers_of_other_designs_never_change(golden, name, design):
    check(golden, name, design, "exact", exact=False)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1.0, "delta": 0.25, "D": 5, "js": 2},
        {"epsilon": 1.0, "delta": 0.01, "D": 8, "negative": True},
    ],
    ids=said,
)
def test_the_integers_of_least_variance_never_change(golden, parameters):
    """Its probabilities are whole steps of 2^-30, the same wherever the solver finds the optimum."""
    table = quantise(ideal("least-variance", parameters), 2**32)
    golden.check(f"least-variance {said(parameters)} | {2**32} | exact", content_hash(table))


def test_every_family_has_golden_integers():
    assert {"least-variance"} | set(CASES) | {name.split()[0] for name in EXACTLY} == set(names())


@pytest.mark.parametrize("family", [name for name in CASES if name not in {"dropadd", "hellinger", "pram"}])
def test_tables_that_keep_zeros_never_change(golden, family):
    parameters = CASES[family][-1]
    kept = keep_zero(quantise(ideal(family, parameters), 2**32))
    assert kept.keeps_zero
    golden.check(f"kept zero: {family} {said(parameters)} | {2**32} | exact", content_hash(kept))


@pytest.mark.parametrize("keys", ["hashed", "abs"])
def test_the_default_protection_never_changes(golden, town, keys):
    """What a draft and the demo start from, in full: the values and thresholds of every row."""
    text = town.description[: town.description.index("[protection]")]
    dataset = parse_dataset(text + PROTECTION.replace("hashed", keys))
    assert dict(dataset.protection.noise) == dict(Protection().noise)
    table = noise_for(dataset)
    golden.check(
        f"default protection, {keys}", [[list(row.values), list(row.thresholds)] for row in table.rows]
    )


#: What the demo said before its universe was joint; it stands at the end of [protection.budget].
BEFORE = 'spread = "optimised"\ncalibrate = false\n'


def test_the_plan_of_the_demo_under_dp_never_changes(golden):
    """With tables of their own: shares, the noise of every table and of an answer, and the text that is sealed."""
    dataset = parse_dataset(
        DEMOS["census-dp"]
        .description()
        .replace('margins = "joint"', 'margins = "own"')
        .replace("answer_cost", f"{BEFORE}answer_cost")
    )
    plan = noise_for(dataset)
    tables = {"*".join(table.margin): content_hash(table.noise) for table in plan.tables}
    shares = {"*".join(table.margin): str(Fraction(table.share)) for table in plan.tables}
    golden.check("census-dp shares", shares)
    golden.check("census-dp tables", tables)
    answer = plan.answer
    golden.check("census-dp answer", None if answer is None else content_hash(answer.noise))
    if golden.same_floats:
        golden.check("census-dp text", hashlib.sha256(plan_text(plan).encode()).hexdigest())
