"""The defaults of every key that a description may leave out, by revision (`model/revision.py`): new ones are recorded."""

from dataclasses import asdict, fields

import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_MODULUS
from discreet.model.revision import newest_defaults
from discreet.model.universe import dp_terms
from discreet.noise.families import build
from discreet.rules.rule_set import parse_rules

#: What each kind of rule must be told; everything else of it has a default.
RULES = (
    {"kind": "max-variables", "most": 2},
    {"kind": "max-cells", "most": 50},
    {"kind": "forbidden-combination", "variables": ["sex", "job"]},
    {"kind": "mandatory-variables", "variable": "job", "needs": ["age"]},
    {"kind": "minimum-area-size", "variable": "area", "least": 50, "figures": {"N1": 10}},
    {"kind": "free-groups"},
    {"kind": "nested-groups", "fewer_than": 2},
    {"kind": "share-of-zeros", "most": 0.5},
    {"kind": "share-of-ones", "most": 0.5},
    {"kind": "marginal-dominance", "most": 0.9},
    {"kind": "attribute-disclosure"},
    {"kind": "mean-cell-size", "least": 3},
    {"kind": "blocked-areas", "most": 0.5},
)
#: What each family must be told.
NOISE = (
    ("laplace", {"epsilon": 1.0}),
    ("normal", {"epsilon": 1.0, "m": 10}),
    ("hellinger", {"epsilon": 1.0}),
    ("maxent", {"D": 4, "V": 2}),
    ("abs", {"epsilon": 2.0, "D": 5}),
    ("pram", {}),
    ("dropadd", {"m": 5}),
    ("gaussian", {"V": 3.0}),
)
SURVEY = """
weight_column = "w"
[survey]
sample_size = 100
population_size = 1000
largest_weight = 20
"""
#: What 0.2.0 knew of a survey; each field that was added later has an entry by itself.
SURVEY_OF_0_2_0 = (
    *("form", "sample_size", "population_size", "largest_weight", "relative_variance"),
    *("stratum", "stratum_weights", "design", "error_limit"),
)
UNIVERSE = (
    '[protection.universe]\nvariables = ["sex", "age", "job"]\n'
    '[protection.budget]\nname = "b"\nepsilon = 1.0\ncap_epsilon = 4.0\n'
)


@pytest.fixture
def bare(town):
    return town.description[: town.description.index("[protection]")]


@pytest.fixture
def check(golden):
    return lambda name, found: golden.check(f"revision {newest_defaults()} | {name}", _plain(found))


def _plain(value):
    """A value as JSON can write it, with names for sets and fractions."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in sorted(value.items())}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _protection(dataset):
    found = dataset.protection
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return {key: dict(value) if hasattr(value, "items") else value for key, value in values.items()}


def test_the_cell_key_method(bare, check):
    dataset = parse_dataset(bare)
    check("cellkey", _protection(dataset) | {"modulus of new noise": DEFAULT_MODULUS})
    named = ("version", "unit", "lineage", "weight_decimals", "key_decimals")
    check("dataset", {name: getattr(dataset, name) for name in named})


def test_dp(bare, check):
    dataset = parse_dataset(bare + '[protection]\nmethod = "dp"\n' + UNIVERSE)
    terms, universe = dp_terms(dataset)
    check("dp", _protection(dataset))
    check("budget", asdict(terms))
    check(
        "universe",
        {"declared": universe.declared, "style": universe.style, "importance": universe.importance},
    )


def test_surveys(bare, check):
    head, rest = bare.split("[[variable]]", 1)
    weighted, survey = SURVEY.split("[survey]")
    found = asdict(parse_dataset(f"{head}{weighted}[[variable]]{rest}[survey]{survey}").survey)
    check("survey", {name: found.pop(name) for name in SURVEY_OF_0_2_0})
    del found["constants"]  # measured or declared
    for name, value in found.items():
        check(f"survey {name}", value)


@pytest.mark.parametrize("entry", RULES, ids=lambda entry: entry["kind"])
def test_rules(bare, check, entry):
    (rule,) = parse_rules([entry], parse_dataset(bare))
    check(f"rule {entry['kind']}", {field.name: getattr(rule, field.name) for field in fields(rule)})


@pytest.mark.parametrize(("family", "parameters"), NOISE, ids=[family for family, _ in NOISE])
def test_noise(check, family, parameters):
    found = build(family, dict(parameters), DEFAULT_MODULUS).parameters
    told = {key: round(value, 6) if isinstance(value, float) else value for key, value in found.items()}
    check(f"noise {family}", {key: value for key, value in told.items() if key != "notes"})
