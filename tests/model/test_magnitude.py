"""The sections [[measure]] of a description, and measures with their statistics in one word."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.magnitude import join_statistic, split_statistic

BASE = """
id = "firms"
label = "Firms"
id_column = "firm"
{more}
[[variable]]
name = "region"
label = "Region"
categories = ["A", "B"]

[[measure]]
name = "turnover"
lowest = 0
largest = 1000
{measure}
"""


def parse(measure="", more=""):
    return parse_dataset(BASE.format(measure=measure, more=more))


def test_a_measure_needs_a_name_and_bounds_only():
    (measure,) = parse().measures
    assert (measure.label, measure.column, measure.decimals) == ("Turnover", "turnover", 0)
    assert measure.statistics == ("sum", "mean")
    assert measure.protection.simple == 0.2
    assert measure.protection.factors == (1.0, 0.5, 0.2)
    assert (measure.bounds, measure.lowest) == ((0, 1000), Fraction(0))


def test_bounds_are_exact_in_units_of_the_last_decimal():
    (measure,) = parse("decimals = 2\nlabel = 'X'").measures
    assert measure.bounds == (0, 100_000)
    text = BASE.format(measure="decimals = 1", more="").replace("largest = 1000", "largest = 0.25")
    with pytest.raises(BadDescription, match=r"`largest` of the measure 'turnover' is 0\.25"):
        parse_dataset(text)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("unknown = 1", 'unknown key "unknown"'),
        ("decimals = 10", "`decimals` of the measure 'turnover' is 10"),
        ("statistics = ['median']", 'has the statistic "median"'),
        ("missing = '9'", "`missing` of the measure"),
        ("protection = { definition = 'ons' }", "`definition` of"),
        ("protection = { magnifier = 'largest' }", "`magnifier` of"),
        ("protection = { factors = [] }", "`factors` of"),
        ("protection = { magnifier = 'sum', factors = [1, 0.5] }", "2 factors"),
        ("protection = { noise = { D = 5 } }", "lacks `V`"),
        ("protection = { noise = { D = 60, V = 1, step = 2 } }", "D = 60, step = 2"),
        ("protection = { flex = { point = 10, small = 0.1, large = 0.2 } }", "small = 0.1, large = 0.2"),
        (
            "protection = { flex = { point = 10, small = 0.2, large = 0.1 }, simple = 0.1 }",
            "`flex` and `simple`",
        ),
        ("protection = { sensitive = { p_percent = 10 } }", "lacks `extra`"),
        ("protection = { sensitive = { extra = 0.5 } }", "has no rule"),
        ("protection = { sensitive = { extra = 0.5, n = 2 } }", "one of n and k"),
        ("protection = { least_contributors = 0 }", "`least_contributors` of"),
        ("protection = { tables = [] }", 'unknown key "tables"'),
        ("protection = { definition = 'cellkey-1' }", "rotate the digits"),
    ],
)
def test_what_does_not_fit_is_refused(measure, words):
    with pytest.raises(BadDescription, match=words):
        parse(measure)


def test_rules_of_dominance_need_values_that_are_not_negative():
    text = BASE.format(measure="protection = { sensitive = { p_percent = 10, extra = 0.5 } }", more="")
    with pytest.raises(BadDescription, match="may be negative"):
        parse_dataset(text.replace("lowest = 0", "lowest = -1"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("weight_column = 'w'", "records without weights"),
        ("[protection]\nzeros = 'perturbed'", "made-up count"),
    ],
)
def test_datasets_that_cannot_have_measures_yet_refuse_them(more, words):
    text = BASE.format(measure="", more="" if "[" in more else more) + ("\n" + more if "[" in more else "")
    with pytest.raises(BadDescription, match=words):
        parse_dataset(text)


def test_a_measure_does_not_share_its_name():
    for name in ("region", "Region", "count", "weighted", "x.y"):
        with pytest.raises(BadDescription, match="name"):
            parse_dataset(BASE.format(measure="", more="").replace('"turnover"', f'"{name}"'))


def test_a_measure_and_its_statistic_are_one_word():
    assert join_statistic("income", "mean") == "income.mean"
    assert split_statistic(join_statistic("count", "")) == ("count", "")
    with pytest.raises(BadRequest, match="sum,mean"):
        join_statistic("income", "sum,mean")
