"""The rule sets that are attacked: every one that withholds areas, of the demo and of the tests.

Each is written as it stands in a `dataset.toml`, beside the mean size of the areas of a county (`county.py`) in which
it withholds some of them and shows others. `tests/conftest.py` reads what every test declares: a rule set that
withholds areas and is not listed here makes its test fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.attacks.knowledge import CELLKEY
from discreet.attacks.trials.county import County
from discreet.model.dataset_toml import parse_dataset
from discreet.rules.declared import parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.rules.rule import Rule

#: What a rule on counts may do; a rule of shape only takes questions away from an attacker, and is left out.
STAGES = ("withholds", "spares", "fails")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that withhold areas, and a county in which they do.

    Args:
        name: What it is called.
        people: The mean number of people of an area.
        rules: Its sections, as inline tables.
        figures: The public figures that its rules declare.
    """

    name: str
    people: float
    rules: str
    figures: tuple[tuple[str, int], ...] = ()

    def county(self, seed: int) -> County:
        """A county in which it withholds some areas and shows others; figures of areas need two regions only."""
        two = any(len(code) > 1 for code, _ in self.figures)
        return County(self.people, seed, self.figures, *((2,) if two else ()))

    def parsed(self) -> frozenset[Rule]:
        """The rules as values."""
        county = County(1, 1, self.figures)
        dataset = parse_dataset(county.described(CELLKEY, self.rules, county.records()))
        return on_counts(parse_rules(dataset.rules, dataset))


def on_counts(rules: Iterable[Rule]) -> frozenset[Rule]:
    """Those rules that look at counts, if they withhold areas; nothing otherwise."""
    some = frozenset(rule for rule in rules if any(rule.implements(stage) for stage in STAGES))
    return some if any(rule.looks_at_counts for rule in some) else frozenset()


def _figures(name: str, least: int, level: str = "area", **figures: int) -> RuleSet:
    told = ", ".join(f"{code} = {number}" for code, number in figures.items())
    rule = f'{{ kind = "minimum-area-size", variable = "{level}", least = {least}, figures = {{ {told} }} }}'
    return RuleSet(f"figures of {name}", 200, rule, tuple(figures.items()))


def _kind(kind: str, **keys: object) -> str:
    told = "".join(
        f", {key} = {value!r}".replace("'", '"') for key, value in keys.items() if value is not None
    )
    return f'{{ kind = "{kind}"{told} }}'


def _zeros(most: float, **keys: object) -> str:
    return _kind("share-of-zeros", most=most, **keys)


def _ones(most: float, **keys: object) -> str:
    return _kind("share-of-ones", most=most, **keys)


def _mean(least: float, **keys: object) -> str:
    return _kind("mean-cell-size", least=least, **keys)


def _at_most(share: float) -> str:
    return _kind("blocked-areas", most=share)


_DEMO = ", ".join(
    [
        _zeros(0.75, from_variables=2),
        _ones(0.65, up_to=4, from_variables=2),
        _kind("marginal-dominance", most=0.99, from_variables=2),
        _kind("attribute-disclosure", most=0.6, from_variables=2),
        _mean(1, rescue=50, from_variables=2),
        _at_most(0.5),
    ]
)

RULE_SETS = (
    RuleSet("demo census, drafts", 60, _DEMO),
    RuleSet("rules.md", 100, f"{_zeros(0.75, from_variables=2)}, {_mean(1, rescue=50)}, {_at_most(0.5)}"),
    RuleSet("share-of-zeros .5", 60, _zeros(0.5)),
    RuleSet("share-of-zeros .4", 60, _zeros(0.4)),
    RuleSet("share-of-zeros .5 in areas", 60, _zeros(0.5, level="area")),
    RuleSet("share-of-zeros .5 from 2 variables", 60, _zeros(0.5, from_variables=2)),
    RuleSet("share-of-zeros .5 in areas from 2", 60, _zeros(0.5, level="area", from_variables=2)),
    RuleSet("share-of-zeros .1 from 2 variables", 200, _zeros(0.1, from_variables=2)),
    RuleSet("share-of-zeros .5, at most 30 %", 60, f"{_zeros(0.5, level='area')}, {_at_most(0.3)}"),
    RuleSet("share-of-zeros .5, at most 40 %", 60, f"{_zeros(0.5, level='area')}, {_at_most(0.4)}"),
    RuleSet("share-of-zeros .5, rescue 100", 60, f"{_zeros(0.5)}, {_mean(1, rescue=100)}"),
    RuleSet(
        "share-of-zeros .5, rescue of ones",
        60,
        f"{_zeros(0.5)}, {_mean(1, rescue=100, rescues=['share-of-ones'])}",
    ),
    RuleSet("share-of-zeros .5, share-of-ones .4", 60, f"{_zeros(0.5)}, {_ones(0.4)}"),
    RuleSet(
        "share-of-zeros .3, mean cell 20, at most 50 %",
        600,
        f"{_zeros(0.3, from_variables=2)}, {_mean(20, rescues=['share-of-zeros'])}, {_at_most(0.5)}",
    ),
    RuleSet("no zeros, attribute disclosure", 300, f"{_zeros(0.0)}, {_kind('attribute-disclosure')}"),
    RuleSet("share-of-ones .5", 40, _ones(0.5)),
    RuleSet("share-of-ones .5 up to 2", 60, _ones(0.5, up_to=2)),
    RuleSet("share-of-ones .2 up to 9 from 2", 300, _ones(0.2, up_to=9, from_variables=2)),
    RuleSet("every area with a small count", 300, _ones(0, up_to=100000, level="area", from_variables=1)),
    RuleSet("marginal-dominance .8", 150, _kind("marginal-dominance", most=0.8)),
    RuleSet("marginal-dominance .9", 150, _kind("marginal-dominance", most=0.9)),
    RuleSet("attribute-disclosure", 200, _kind("attribute-disclosure")),
    RuleSet("mean-cell-size 3", 130, _mean(3)),
    RuleSet("mean-cell-size 3 in areas", 130, _mean(3, level="area", from_variables=1)),
    RuleSet("mean-cell-size 5", 200, _mean(5)),
    RuleSet("mean-cell-size 12", 500, _mean(12)),
    RuleSet("mean-cell-size 17 from 2", 700, _mean(17, from_variables=2)),
    RuleSet("mean-cell-size 20 in areas from 2", 800, _mean(20, level="area", from_variables=2)),
    RuleSet("mean-cell-size 1,000,000", 300, _mean(1000000)),
    _figures("N1: 10 of 50", 50, N1=10),
    _figures("N1: 40 of 100", 100, N1=40),
    _figures("N2: 150 of 400", 400, N2=150),
    _figures("N1, N2, too small together", 100, N1=40, N2=59),
    _figures("N1, N2, enough together", 100, N1=40, N2=60),
    _figures("N1, S1", 100, N1=80, S1=70),
    _figures("N2, S3", 100, N2=80, S3=99),
    _figures("N2, S3 of three", 100, N2=80, S3=99, S1=100),
    _figures("S3 of five", 1000, S3=100, N1=5000, N2=5000, S1=5000, S2=5000),
    _figures("region N", 100, "region", N=50),
)
