"""What the published constants of a survey tell of one person to an attacker who knows everybody else.

The person has one of two values, and a constant is x_0 or x_1 before it is rounded up by a secret chance. What any attacker
can learn is the total variation between the two distributions of what is published; it is summed up exactly here:

    published  =  1.25^⌈log(x) / log(1.25) + u⌉        u uniform in (0, 1]
    TV         =  ½ Σ_j |P(j | x_0) - P(j | x_1)|       a guess between both is right with probability (1 + TV) / 2 at most

Versions of a lineage have the same u. Their constants together are a function of u, so TV follows from the pieces of (0, 1]
on which they do not change. With a new u for each version the distributions would multiply.

Source: docs/methods/attack-weights.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.storage import CLUSTER, WEIGHT, replicate_names
from discreet.survey.gate import level_figures
from discreet.survey.published_constants import RATIO, published_constants
from discreet.survey.sample_sums import SampleDesign, category_sums, sum_variance, survey_of

Outcomes = dict[tuple[int, ...], float]
CATEGORIES = (2, 5, 10)
REPLICATES = 40
#: The intra-cluster correlation of the invented answers.
CORRELATION = 0.1
#: The weight of the person, over the mean, in the second of two worlds in which the weight is unknown.
HEAVY = 5.0
#: Versions of a lineage, and the share of the other people whose answers are corrected from one to the next.
VERSIONS, CORRECTED = 8, 0.02


def steps_of(values: Sequence[float], u: float) -> tuple[int, ...]:
    """The exponents of the published constants of some versions with the same chance.

    >>> steps_of([1.9875], 0.37), steps_of([2.1702], 0.81)
    ((4,), (5,))
    """
    return tuple(ceil(log(value) / log(RATIO) + u) for value in values)


def outcomes(values: Sequence[float]) -> Outcomes:
    """The distribution of the published constants of some versions, over the chance that they share.

    >>> {steps: round(chance, 3) for steps, chance in outcomes([1.9875]).items()}
    {(4,): 0.922, (5,): 0.078}
    """
    ends = sorted({0.0, 1.0, *(1 - (log(value) / log(RATIO)) % 1 for value in values)})
    found: Outcomes = defaultdict(float)
    for low, high in pairwise(ends):
        found[steps_of(values, (low + high) / 2)] += high - low
    return dict(found)


def product(one: Outcomes, two: Outcomes) -> Outcomes:
    """The joint distribution of constants with independent chances."""
    return {(*a, *b): p * q for a, p in one.items() for b, q in two.items()}


def total_variation(one: Outcomes, two: Outcomes) -> float:
    """Half the sum of the differences of two distributions.

    >>> total_variation({(1,): 0.5, (2,): 0.5}, {(2,): 1.0})
    0.5
    """
    return sum(abs(one.get(key, 0.0) - two.get(key, 0.0)) for key in one | two) / 2


@dataclass(frozen=True, slots=True, eq=False)
class MemoryEngine:
    """Records in arrays, counted as an engine counts them."""

    columns: dict[str, NDArray[np.int64]]
    tag: str = ""

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Group by columns, and add up others."""
        rows = np.stack([self.columns[name] for name in query.group_by])
        groups, where = np.unique(rows, axis=1, return_inverse=True)
        where = where.ravel()
        counts = np.bincount(where)
        sums = tuple(np.rint(np.bincount(where, self.columns[name])).astype(np.int64) for name in query.sums)
        return SparseCells(tuple(groups), counts, np.zeros(counts.size, dtype=np.uint64), sums=sums)

    def sound(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A kind of invented surveys: how many people in how many clusters, and how their errors are declared."""

    people: int
    clusters: int
    replicates: bool = False

    def __str__(self) -> str:
        drawn = f"a jackknife of {REPLICATES}" if self.replicates else f"{self.clusters:,} clusters"
        return f"{self.people:,} people, {drawn}"

    def dataset(self, form: str, weights: NDArray[np.int64]) -> Dataset:
        """A survey under a form."""
        return parse_dataset(self.description(form, weights))

    def description(self, form: str, weights: NDArray[np.int64]) -> str:
        """The `dataset.toml` of a survey under a form."""
        spread = float(weights.var() / weights.mean() ** 2)
        lines = ['id = "survey"', 'label = "Invented people"', 'id_column = "person"']
        lines += ['weight_column = "weight"', "weight_decimals = 2"]
        for most in CATEGORIES:
            codes = ", ".join(f'"{code}"' for code in range(most))
            lines += ["[[variable]]", f'name = "v{most}"', f"categories = [{codes}]"]
        lines += ["[survey]", f'form = "{form}"', f"sample_size = {self.people}"]
        lines += [f"population_size = {int(weights.sum()) / 100:.2f}"]
        lines += [f"largest_weight = {int(weights.max()) / 100:.2f}", f"relative_variance = {spread:.4f}"]
        design = f'replicates = "r1..r{REPLICATES}"\nmethod = "jackknife"'
        lines += [design if self.replicates else 'clusters = "place"', "[protection]"]
        return "\n".join(lines) + "\n"

    def columns(self, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
        """The records: answers that are alike in clusters, and weights of about equal size."""
        place = np.arange(self.people) % self.clusters
        found = {CLUSTER: place}
        for most in CATEGORIES:
            centre = np.full(most, (1 / CORRELATION - 1) / most)
            shares = rng.dirichlet(centre, size=self.clusters).cumsum(axis=1)
            chance = rng.random(self.people)[:, None]
            found[f"v{most}"] = np.minimum((chance > shares[place]).sum(axis=1), most - 1)
        related = np.linspace(0.8, 1.2, 5)[found["v5"]]
        found[WEIGHT] = np.rint(20_000 * related * rng.gamma(25.0, 1 / 25.0, size=self.people)).astype(
            np.int64
        )
        return found

    def with_replicates(self, columns: dict[str, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        """The records with the weights of a jackknife that leaves out clusters in groups."""
        if not self.replicates:
            return columns
        group, weights = columns[CLUSTER] % REPLICATES, columns[WEIGHT]
        kept = np.rint(weights * REPLICATES / (REPLICATES - 1)).astype(np.int64)
        return columns | {
            f"_replicate_{place + 1}": np.where(group == place, 0, kept) for place in range(REPLICATES)
        }


SAMPLED = (Sampled(1_000, 40), Sampled(1_000, 500), Sampled(1_000, 40, replicates=True), Sampled(6_000, 40))
#: What is unknown of the person.
USUAL, OUTLYING, OWN_WEIGHT = (
    "category",
    "category of a person of five mean weights",
    "one or five mean weights",
)
#: The constants of each form: those of its variables, and those of the survey.
AVERAGE, STEPS = "average-weight", "largest-weight"


def unrounded(sampled: Sampled, form: str, columns: dict[str, NDArray[np.int64]]) -> dict[str, float]:
    """Every constant before it is rounded, by its name."""
    dataset = sampled.dataset(form, columns[WEIGHT])
    engine = MemoryEngine(sampled.with_replicates(columns))
    survey = survey_of(dataset)
    assert replicate_names(survey.design) or not sampled.replicates  # noqa: S101 - what is declared is measured
    figures = list(level_figures(dataset, engine))
    found = {}
    for each in figures:
        found[f"D {each.level}"] = max(each.cluster, 1.0)
        if form == STEPS:
            found[f"gamma {each.level}"] = each.spread
    some = category_sums(engine, dataset, survey, dataset.variables[0].name)
    found["kappa"] = sum_variance(survey, SampleDesign(survey, some), some)
    if form == STEPS:
        published = published_constants(dataset, engine, figures, lambda _name: 0.5)
        found["b"] = published.mean_square
    return found


def _changed(
    columns: dict[str, NDArray[np.int64]], name: str, person: int, value: int
) -> dict[str, NDArray[np.int64]]:
    column = columns[name].copy()
    column[person] = value
    return columns | {name: column}


def _two_worlds(
    rng: np.random.Generator, columns: dict[str, NDArray[np.int64]], secret: str
) -> list[dict[str, NDArray[np.int64]]]:
    """The records with either value of one person: another category of every variable, or a heavy weight."""
    person = int(rng.integers(columns[WEIGHT].size))
    if secret != USUAL:
        mean = float(np.delete(columns[WEIGHT], person).mean())
        light, columns = (_changed(columns, WEIGHT, person, round(ratio * mean)) for ratio in (1.0, HEAVY))
        if secret == OWN_WEIGHT:
            return [light, columns]
    other = columns
    for most in CATEGORIES:
        value = int(columns[f"v{most}"][person] + rng.integers(1, most)) % most
        other = _changed(other, f"v{most}", person, value)
    return [columns, other]


def _gain(name: str, worlds: Sequence[Sequence[dict[str, float]]]) -> dict[str, float]:
    """TV by one constant: of the first version, of all versions with one chance, and with a new one for each."""
    values = [[version[name] for version in world] for world in worlds]
    if name == "b":
        return {"one": float(values[0][0] != values[1][0])}
    first = total_variation(*(outcomes(each[:1]) for each in values))
    if len(values[0]) == 1:
        return {"one": first}
    anew = [reduce(product, (outcomes([value]) for value in each)) for each in values]
    return {
        "one": first,
        "versions": total_variation(*(outcomes(each) for each in values)),
        "versions_new_chances": total_variation(*anew),
    }


def constant_gains(
    surveys: int,
    seed: int,
    kinds: Sequence[Sampled] = SAMPLED,
    progress: Callable[[str], None] = lambda _kind: None,
) -> list[dict[str, Any]]:
    """For every kind of survey and constant: the mean and 95th percentile of TV, and its largest value."""
    results = []
    for kind in kinds:
        progress(str(kind))
        found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for number in range(surveys):
            rng = np.random.default_rng([seed, number, kind.people, kind.clusters])
            columns = kind.columns(rng)
            for secret in (USUAL, OUTLYING, OWN_WEIGHT):
                versions = [_two_worlds(rng, columns, secret)]
                several = secret == USUAL and kind == kinds[0]
                for form in (AVERAGE, STEPS):
                    if form == AVERAGE and several:
                        versions += [_corrected(rng, versions[0]) for _ in range(VERSIONS - 1)]
                    versions = versions if form == AVERAGE else versions[:1]
                    worlds = [
                        [unrounded(kind, form, version[world]) for version in versions] for world in (0, 1)
                    ]
                    for name in worlds[0][0]:
                        for which, gain in _gain(name, worlds).items():
                            found[secret, name, which].append(gain)
        results.append(
            {
                "sample": str(kind),
                "gains": [
                    {
                        "secret": secret,
                        "constant": name,
                        "of": which,
                        "mean": float(np.mean(gains)),
                        "most_of_95": float(np.quantile(gains, 0.95)),
                        "largest": float(np.max(gains)),
                    }
                    for (secret, name, which), gains in found.items()
                    if max(gains) > 0
                ],
            }
        )
    return results


def _corrected(
    rng: np.random.Generator, worlds: Sequence[dict[str, NDArray[np.int64]]]
) -> list[dict[str, NDArray[np.int64]]]:
    """Another version of both worlds: the answers of some of those who agree in both are corrected."""
    people = worlds[0][WEIGHT].size
    same = np.all([worlds[0][f"v{most}"] == worlds[1][f"v{most}"] for most in CATEGORIES], axis=0)
    chosen = rng.choice(np.flatnonzero(same), size=int(CORRECTED * people), replace=False)
    found = [dict(world) for world in worlds]
    for most in CATEGORIES:
        answers = rng.integers(most, size=chosen.size)
        for world in found:
            column = world[f"v{most}"].copy()
            column[chosen] = answers
            world[f"v{most}"] = column
    return found
