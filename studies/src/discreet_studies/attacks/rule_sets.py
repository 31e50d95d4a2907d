"""An invented county to try rules on: regions with many areas, and the variables of a small census.

The areas have very different sizes, as real ones do. In each region one is empty, and a few are homes or barracks in
which nearly everybody has the same age. The shares of ages, jobs and sexes differ from area to area:

    people of an area ~ Poisson(lognormal with the mean that is asked for), or Poisson(its public figure)
    shares of an area ~ Dirichlet(concentration x shares of its region)

The county is loaded under each protection: cell keys, `dp` with a margin for every table that is asked, and a survey
under each form of weights. (With `average-weight` people represented are noisy counts times a constant.)

The rule sets that are attacked: every one that withholds areas, of the demo and of the tests.

Each is written as it stands in a `dataset.toml`, beside the mean size of the areas of a county (`county.py`) in which
it withholds some of them and shows others. `tests/conftest.py` reads what every test declares: a rule set that
withholds areas and is not listed here makes its test fail.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.knowledge import CELLKEY, DP
from discreet.attacks.survey_weights import STEPS
from discreet.model.description.dataset_toml import parse_dataset
from discreet.rules.rule import Rule
from discreet.rules.rule_set import parse_rules
from discreet_studies.attacks.surveys import STRATA

#: The regions; an area is called by its region and a number.
REGIONS = "NSEWAB"
AREAS = 25
#: How different the sizes of areas are, on the scale of logarithms.
SPREAD = 0.8
#: The larger, the more alike are the areas of a region.
CONCENTRATION = 40
#: One area in so many is a home or barracks, with this share of its people in one age.
ONE_IN, SAME_AGE = 12, 0.97
AGES = {"child": 0.2, "adult": 0.6, "old": 0.2}
JOBS = {"0": 0.3, "1": 0.3, "2": 0.35, "9": 0.05}
#: The public weight of each sex in a survey: it is the stratum.
WEIGHTS = {"1": 3.0, "2": 5.0}
#: Under what the county is loaded: two methods, and two forms of weights.
METHODS = (CELLKEY, DP, STRATA, STEPS)


@dataclass(frozen=True, slots=True)
class County:
    """An invented county.

    Args:
        people: The mean number of people of an area.
        seed: Of its people.
        figures: Areas, or regions, of which the number of people is known beforehand.
    """

    people: float
    seed: int
    figures: tuple[tuple[str, int], ...] = ()
    regions: int = len(REGIONS)

    def records(self) -> pa.Table:
        """Its people, in the order of areas, with the weights of a survey."""
        rng = np.random.default_rng([self.seed, 3])
        homes = rng.random(self.regions * AREAS) < 1 / ONE_IN
        area = np.repeat(np.arange(self.regions * AREAS), rng.poisson(self._sizes(rng, homes)))
        age = _drawn(rng, self._ages(rng, homes), area)
        job = np.where(age == 0, 0, _drawn(rng, self._shares(rng, list(JOBS.values())), area))
        sex = _drawn(rng, self._shares(rng, [0.5, 0.5]), area)
        columns = {"region": area // AREAS, "area": area, "sex": sex, "age": age, "job": job}
        coded = {name: np.array(self._codes()[name])[column] for name, column in columns.items()}
        weights = np.array(list(WEIGHTS.values()))[sex]
        return pa.table({"person": np.arange(len(area)), **coded, "weight": weights})

    def described(self, method: str, rules: str, records: pa.Table) -> str:
        """The `dataset.toml` of its records under one of `METHODS`, with rules as inline tables."""
        weighted = method not in {CELLKEY, DP}
        lines = ['id = "county"', 'label = "An invented county"', 'id_column = "person"', f"rule = [{rules}]"]
        lines += ['weight_column = "weight"'] * weighted
        for name, codes in self._codes().items():
            listed = [f'{{ code = "{c}", parent = "{c[0]}" }}' if name == "area" else f'"{c}"' for c in codes]
            lines += ["[[variable]]", f'name = "{name}"', f"categories = [{', '.join(listed)}]"]
        lines += ["[[hierarchy]]", 'name = "geography"', 'levels = ["region", "area"]', "geography = true"]
        lines += ["[[structural_zero]]", 'label = "Children have no job"']
        lines += ['where = { age = ["child"], job = ["1", "2", "9"] }']
        lines += _survey(method, records) if weighted else []
        return "\n".join([*lines, *(_DP if method == DP else _CELLKEY)]) + "\n"

    def _codes(self) -> dict[str, tuple[str, ...]]:
        """The codes of every variable."""
        regions = tuple(REGIONS[: self.regions])
        areas = tuple(f"{region}{number + 1}" for region in regions for number in range(AREAS))
        return {
            "region": regions,
            "area": areas,
            "sex": tuple(WEIGHTS),
            "age": tuple(AGES),
            "job": tuple(JOBS),
        }

    def _sizes(self, rng: np.random.Generator, homes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The expected number of people of each area; a home is half as large as the mean."""
        sizes = rng.lognormal(np.log(self.people) - SPREAD**2 / 2, SPREAD, len(homes))
        sizes[homes] = self.people / 2
        sizes[AREAS - 1 :: AREAS] = 0
        codes = np.array(self._codes()["area"])
        for code, figure in self.figures:
            named = (codes == code) | (codes.astype("U1") == code)
            sizes[named] = figure / named.sum()
        return sizes

    def _shares(self, rng: np.random.Generator, base: list[float]) -> NDArray[np.float64]:
        """The shares of the categories of a variable in each area."""
        regions = rng.dirichlet(CONCENTRATION * np.array(base), self.regions) + 0.01
        return np.concatenate([rng.dirichlet(CONCENTRATION * region, AREAS) for region in regions])

    def _ages(self, rng: np.random.Generator, homes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The same of ages; in homes nearly everybody is an adult, or nearly everybody is old."""
        shares = self._shares(rng, list(AGES.values()))
        for area in np.flatnonzero(homes):
            shares[area] = (1 - SAME_AGE) / 2
            shares[area, rng.integers(1, len(AGES))] = SAME_AGE
        return shares


def _drawn(
    rng: np.random.Generator, shares: NDArray[np.float64], area: NDArray[np.int64]
) -> NDArray[np.int64]:
    """A category for everybody, by the shares of the area."""
    return np.asarray((rng.random((len(area), 1)) > shares.cumsum(axis=1)[area, :-1]).sum(axis=1))


def _survey(form: str, records: pa.Table) -> list[str]:
    weights = records.column("weight").to_numpy()
    constants = [f"sample_size = {len(weights)}", f"population_size = {weights.sum():.0f}"]
    constants += [f"largest_weight = {weights.max():g}"]
    constants += [f"relative_variance = {weights.var() / weights.mean() ** 2:.4f}"]
    strata = ", ".join(f"{sex} = {weight:g}" for sex, weight in WEIGHTS.items())
    stratum = ['stratum = "sex"', f"stratum_weights = {{ {strata} }}"] if form == STRATA else []
    return ["[survey]", f'form = "{form}"', *constants, *stratum]


_CELLKEY = (
    "[protection]",
    "max_variables = 4",
    "[protection.noise]",
    'family = "maxent"',
    "D = 5",
    "V = 3",
    "js = 0",  # with counts of 1 and 2, for the rules that look at them
)
#: Every margin that the attack asks for has a noise of its own, of a variance near that of the cell keys.
_DP = (
    "[protection]",
    'method = "dp"',
    "[protection.noise]",
    'family = "laplace"',
    "[protection.universe]",
    'margins = "own"',
    'variables = ["sex", "age", "job", "region", "area"]',
    "up_to = 3",
    "[protection.budget]",
    "calibrate = false",
    'name = "county"',
    "epsilon = 20",
    "cap_epsilon = 20",
    "delta = 1e-9",
    "max_exact = 0.999999",
)

#: What a rule on counts may do; a rule of shape only takes questions away from an attacker, and is left out.
STAGES = ("withholds", "spares", "fails")


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that withhold areas, and a county in which they do.

    Args:
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
