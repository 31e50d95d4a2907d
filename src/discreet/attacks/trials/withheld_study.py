"""Withheld areas, scored: the squared error of the attack relative to the best guess without differences.

The people are those of the demo census, with the rules of the demo, or any dataset that is given. Scored are the cells
of the areas that a rule withholds. The areas that are withheld beside them pass the rules, and are only told.

    ratio = Σ (attack - truth)² / Σ (guess - truth)²,    at least 0.9 where withholding works

for every table with ten such areas or more, and for all tables together.

Comes from: `attacks/withheld.py` (estimates) and the invented records (the truth). Goes to: `discreet attack withheld`.
Source: docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.answer.door import open_doors
from discreet.answer.question import unlock
from discreet.answer.verdicts import verdict_on
from discreet.attacks.interface import Notebook
from discreet.attacks.knowledge import CELLKEY, Knowledge, noise_table
from discreet.attacks.trials.population import Population
from discreet.attacks.trials.study import framed, noise_in_words
from discreet.attacks.trials.targets import Served, TrueCounts, load_people
from discreet.attacks.withheld import STARTS, Target, attack
from discreet.errors import BadRequest, Refused
from discreet.model.request import TableRequest
from discreet.workspace.demo import census_batches, census_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from discreet.answer.door import Door
    from discreet.model.dataset import Dataset

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
class WithheldStudy:
    """What is to be tried.

    Args:
        people: How many people the demo census has.
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
        with TemporaryDirectory(prefix="discreet-red-team-") as folder:
            load_people(Path(folder) / CELLKEY, text, records, self.seed)
            with closing(open_doors(Path(folder) / CELLKEY, threads=1)) as doors:
                (name,) = doors.ids()
                door = doors.door(name)
                truth = TrueCounts(door.dataset, _population(door.dataset, records))
                knowledge = _knowledge(door)
                tables = [
                    scored
                    for levels, names in _targets(door.dataset, self.most)
                    if (scored := self._scored(door, truth, levels, names, progress)) is not None
                ]
        if not tables:
            raise BadRequest(
                "No table was found in which a rule withholds areas and others are shown.",
                "Take more people, or more variables.",
            )
        about = {"attack": "withheld", "people": records.num_rows, "ways": self.ways, "seed": self.seed}
        result = {"protection": CELLKEY, **noise_in_words(knowledge), **_pooled(tables), "tables": tables}
        return framed({**about, "limit": LIMIT}, KNOWS, [result])

    def _scored(
        self,
        door: Door,
        truth: TrueCounts,
        levels: tuple[str, ...],
        names: tuple[str, ...],
        progress: Callable[[str], None],
    ) -> dict[str, Any] | None:
        """One table at each number of ways; None where it withholds nothing by a rule, or is refused."""
        by_rule = withheld_by_rule(door, TableRequest(door.dataset.id, (levels[-1],), names))
        if by_rule is None or not by_rule.any():
            return None
        progress(f"{levels[-1]} by {', '.join(names)}")
        exact = truth.ask(TableRequest(door.dataset.id, (levels[-1],), names, totals=False)).values
        notes, variance = Notebook(Served(door)), _variance(door)
        curves: dict[str, list[dict[str, Any]]] = {start: [] for start in STARTS}
        more = 0
        for start, ways in product(STARTS, sorted({1, self.ways})):
            found = attack(notes, door.dataset, Target(levels, names, variance, ways, start))
            if found is None:
                return None
            more = int((found.withheld & ~by_rule).sum())
            errors = {"guess": found.guess - exact, "attack": found.best - exact}
            squares = {name: float(np.square(each)[by_rule].sum()) for name, each in errors.items()}
            curves[start].append(_with_ratio({"ways": ways, "queries": found.queries, **squares}))
        return {
            "level": levels[-1],
            "variables": list(names),
            "withheld": int(by_rule.sum()),
            "complement": more,
            "cells": int(exact[by_rule].size),
            "curves": curves,
        }


def withheld_by_rule(door: Door, request: TableRequest) -> NDArray[np.bool_] | None:
    """The areas of a table that a rule withholds; None where the table is refused, or no rule applies."""
    try:
        question = door.check(request)
        stored, protector = unlock(question)
        verdict = verdict_on(stored, protector, question.asked.counted, question.shape)
    except Refused:
        return None
    if verdict is None or verdict.table_error is not None:
        return None
    (place,) = verdict.places
    finest = max(output.depth for output in place.outputs)
    return verdict.by_rule[:-1][[output.depth == finest for output in place.outputs]]


def _targets(dataset: Dataset, most: int) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
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


def _variance(door: Door) -> float:
    """The published variance of one count."""
    return float(_knowledge(door).law.rows[-1].variance())


def _knowledge(door: Door) -> Knowledge:
    first = next(each for each in door.dataset.hierarchies if each.geography).levels[0]
    release = door.release(TableRequest(door.dataset.id, (first,)))
    return Knowledge(door.dataset, CELLKEY, noise_table(release))


def _population(dataset: Dataset, records: pa.Table) -> Population:
    """Invented records as positions in the lists of codes."""
    variables = {variable.name: variable.codes for variable in dataset.variables}
    columns = {}
    for variable in dataset.variables:
        place: dict[str | None, int] = {code: number for number, code in enumerate(variable.codes)}
        place |= {None: place[variable.not_stated]} if variable.not_stated else {}
        columns[variable.name] = np.array([place[code] for code in records.column(variable.name).to_pylist()])
    return Population(dataset.id, variables, ("", ""), columns)
