"""Withheld areas, scored: the squared error of the attack relative to the best guess without differences.

The people are those of the demo census, with the rules of the demo, or any dataset that is given. Scored are the cells
of the areas that a rule withholds. The areas that are withheld beside them pass the rules, and are only told.

    ratio = Σ (attack - truth)² / Σ (guess - truth)²,    at least 0.9 where withholding works

for every table with ten such areas or more, and for all tables together.

Source: docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.attacks.knowledge import CELLKEY, Interface, Knowledge, QueryCache
from discreet.attacks.withheld_areas import STARTS, Target, attack
from discreet.errors import BadRequest, Refused
from discreet.model.dataset import Dataset
from discreet.model.release import Release
from discreet.model.request import DEFAULT_MEASURE, TableRequest
from discreet.release.checked_request import unlock
from discreet.release.dataset_registry import DatasetService, open_registry
from discreet.release.verdicts import verdict_on
from discreet.workspace.demo import census_batches, census_description
from discreet_studies.attacks.scoring import frame, noise_in_words
from discreet_studies.attacks.targets import Population, Served, TrueCounts, load_people, noise_table

KNOWS = (
    "the description of the dataset: variables, categories, levels, rules, protection and the law of its noise",
    "every table that is released, in the area's own parts, above it and beside it",
    "nothing of the counts",
)
#: Withholding works where differences make the squared error no smaller than this share of the guess's.
LIMIT = 0.9
#: A table is held to the limit by itself from so many areas on that a rule withholds; fewer are too few to measure.
ENOUGH = 10


@dataclass(frozen=True, slots=True)
class WithheldTrial:
    """What is to be tried.

    Args:
        ways: In how many ways every table is asked at most.
        seed: Of the people and the secret.
        most: How many variables are crossed at most.
    """

    people: int = 1_500_000
    ways: int = 16
    seed: int = 1
    most: int = 3

    def __post_init__(self) -> None:
        if self.ways < 1 or not 1 <= self.most <= 3:
            raise BadRequest(
                f"{self.ways} ways and {self.most} variables are asked for.",
                "Take one way or more, and 1 to 3 variables.",
            )

    def run(self, progress: Callable[[str], None] = lambda _table: None) -> dict[str, Any]:
        """Attack every table of the demo census in which a rule withholds areas; the documented JSON."""
        seed = 2025 + self.seed
        text = census_description(self.people, seed=seed)
        records = pa.Table.from_batches(list(census_batches(self.people, seed=seed)))
        return self.attack_on(text, records, progress)

    def attack_on(
        self, text: str, records: pa.Table, progress: Callable[[str], None] = lambda _table: None
    ) -> dict[str, Any]:
        """The same for any description and its records."""
        with loaded(text, records, self.seed) as town:
            tables = [
                table
                for levels, names in targets(town.service.dataset, self.most)
                if (table := self._scored(town, levels, names, progress)) is not None
            ]
            noise = noise_in_words(Knowledge(town.service.dataset, CELLKEY, noise_table(town.release())))
        if not tables:
            raise BadRequest(
                "No table was found in which a rule withholds areas and others are shown.",
                "Take more people, or more variables.",
            )
        about = {"attack": "withheld", "people": records.num_rows, "ways": self.ways, "seed": self.seed}
        result = {"protection": CELLKEY, **noise, **_pooled(tables), "tables": tables}
        return frame({**about, "limit": LIMIT}, KNOWS, [result])

    def _scored(
        self, town: Loaded, levels: tuple[str, ...], names: tuple[str, ...], progress: Callable[[str], None]
    ) -> dict[str, Any] | None:
        """One table at each number of ways; None where it withholds nothing by a rule, or is refused."""
        by_rule = withheld_by_rule(town.service, TableRequest(town.service.dataset.id, (levels[-1],), names))
        if by_rule is None or not by_rule.any():
            return None
        progress(f"{levels[-1]} by {', '.join(names)}")
        notes, variance = QueryCache(Served(town.service)), town.variance()
        curves: dict[str, list[dict[str, Any]]] = {start: [] for start in STARTS}
        missed: list[Missed] = []
        for start, ways in product(STARTS, sorted({1, self.ways})):
            each = missed_by(town, notes, by_rule, Target(levels, names, variance, ways, start))
            if each is None:
                return None
            missed.append(each)
            sums = {"guess": float(np.square(each.guess).sum()), "attack": float(np.square(each.best).sum())}
            curves[start].append(_with_ratio({"ways": ways, "queries": each.queries, **sums}))
        return {
            "level": levels[-1],
            "variables": list(names),
            "withheld": int(by_rule.sum()),
            "complement": missed[-1].complement,
            "cells": missed[-1].guess.size,
            "curves": curves,
        }


@dataclass(frozen=True, slots=True)
class Loaded:
    """Invented people behind a service, and their true numbers."""

    service: DatasetService
    truth: TrueCounts

    def release(self, measure: str = DEFAULT_MEASURE) -> Release:
        """The table of the coarsest level alone: it states the noise."""
        first = next(each for each in self.service.dataset.hierarchies if each.geography).levels[0]
        return self.service.release(TableRequest(self.service.dataset.id, (first,), measure=measure))

    def variance(self, measure: str = DEFAULT_MEASURE) -> float:
        """The published variance of the noise of one count of records; the largest where they differ."""
        return float(self.release(measure).distribution.variance().max())


@contextmanager
def loaded(text: str, records: pa.Table, seed: int) -> Iterator[Loaded]:
    """Load invented people; the workspace is gone afterwards."""
    with TemporaryDirectory(prefix="discreet-red-team-") as folder:
        load_people(Path(folder) / "people", text, records, seed)
        with closing(open_registry(Path(folder) / "people", threads=1)) as registry:
            (name,) = registry.ids()
            service = registry.open(name)
            yield Loaded(service, TrueCounts(service.dataset, _population(service.dataset, records)))


@dataclass(frozen=True, slots=True, eq=False)
class Missed:
    """By how much guess and attack miss the cells of the areas that a rule withholds, one line an area.

    Args:
        guess: The guess less the truth.
        best: The attack's estimate less the truth.
        parents: The area that holds each.
        complement: How many more areas are withheld.
    """

    guess: NDArray[np.float64]
    best: NDArray[np.float64]
    parents: NDArray[np.int64]
    complement: int
    queries: int


def missed_by(
    town: Loaded, interface: Interface, by_rule: NDArray[np.bool_], target: Target
) -> Missed | None:
    """Attack one table and compare with the truth; None where no such table is released."""
    found = attack(interface, town.service.dataset, target)
    if found is None:
        return None
    asked = TableRequest(
        town.service.dataset.id, (target.levels[-1],), target.variables, totals=False, measure=target.measure
    )
    true = town.truth.ask(asked).values[by_rule]
    more = int((found.withheld & ~by_rule).sum())
    guess, best = found.guess[by_rule] - true, found.best[by_rule] - true
    return Missed(guess, best, found.parents[by_rule], more, found.queries)


def withheld_by_rule(service: DatasetService, request: TableRequest) -> NDArray[np.bool_] | None:
    """The areas of a table that a rule withholds; None where the table is refused, or no rule applies."""
    try:
        question = service.check(request)
        stored, protector = unlock(question)
        verdict = verdict_on(stored, protector, question.asked.counted, question.shape)
    except Refused:
        return None
    if verdict is None or verdict.table_error is not None:
        return None
    (place,) = verdict.places
    finest = max(output.depth for output in place.outputs)
    return verdict.by_rule[:-1][[output.depth == finest for output in place.outputs]]


def targets(dataset: Dataset, most: int) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every level below the first with every set of variables, few first."""
    hierarchy = next(each for each in dataset.hierarchies if each.geography)
    names = [v.name for v in dataset.variables if v.name not in dataset.geography]
    for place in range(len(hierarchy.levels)):
        for size in range(1, most + 1):
            for some in combinations(names, size):
                yield hierarchy.levels[: place + 1], some


def _pooled(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """All tables together, for each start at each number of ways."""
    curves = {}
    for start in STARTS:
        lines = [table["curves"][start] for table in tables]
        curves[start] = [
            _with_ratio(
                {
                    "ways": points[0]["ways"],
                    "guess": sum(point["guess"] for point in points),
                    "attack": sum(point["attack"] for point in points),
                }
            )
            for points in zip(*lines, strict=True)
        ]
    large = [table["curves"] for table in tables if table["withheld"] >= ENOUGH]
    ratios = [p["ratio"] for each in (curves, *large) for curve in each.values() for p in curve]
    return {"curves": curves, "within_limit": all(ratio >= LIMIT for ratio in ratios)}


def _with_ratio(point: dict[str, Any]) -> dict[str, Any]:
    return {**point, "ratio": point["attack"] / max(point["guess"], 1e-9)}


def _population(dataset: Dataset, records: pa.Table) -> Population:
    """Invented records as positions in the lists of codes."""
    variables = {variable.name: variable.codes for variable in dataset.variables}
    columns = {}
    for variable in dataset.variables:
        codes = pc.index_in(records.column(variable.name), pa.array(variable.codes))
        unknown = variable.codes.index(variable.not_stated) if variable.not_stated else -1
        columns[variable.name] = codes.fill_null(unknown).to_numpy().astype(np.int64)
    weights = None if dataset.weight_column is None else records.column(dataset.weight_column).to_numpy()
    return Population(dataset.id, variables, ("", ""), columns, weights=weights)
