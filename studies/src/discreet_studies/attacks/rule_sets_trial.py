"""Withheld areas under every rule set of the demo and of the tests, scored on invented counties.

Each rule set (`rule_sets.py`) is loaded under cell keys, under `dp`, and for weighted tables, and attacked. Let e be what
the guess misses of a cell, and v how far the differences move it. Over the areas that a rule withholds,

    ratio = Σ (e + v)² / Σ e²          the attack as it is
    best  = min over λ >= 0 of Σ (e + λ v)² / Σ e²    the same, trusted as much as turns out best

The second is what is held to the limit: no attacker knows that λ. Its standard error is that of a jackknife over the
regions of all counties. Beside it stands the wrong alternative, without complement and listing: the same people loaded
without rules, of which the areas that a rule withholds are left out of tables, and unions are counted.

Source: docs/methods/attack-withheld.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import CELLKEY, DP, Answer, Interface, QueryCache
from discreet.attacks.survey_weights import COUNT, WEIGHTED
from discreet.attacks.withheld_areas import STARTS, Target
from discreet.errors import BadRequest, TableNotReleased
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetService
from discreet_studies.attacks.rule_sets import METHODS, RULE_SETS, WEIGHTS, RuleSet
from discreet_studies.attacks.surveys import STRATA
from discreet_studies.attacks.targets import Served
from discreet_studies.attacks.withheld_trial import (
    KNOWS,
    LIMIT,
    Loaded,
    Missed,
    loaded,
    missed_by,
    withheld_by_rule,
)

#: The wrong alternative, beside the methods of the county.
OPEN = "open"
#: The variables of the tables that are attacked, for regions and for areas.
TABLES = (("age",), ("sex", "age"), ("age", "job"))
#: A ratio is beyond the limit where it lies more than so many standard errors below it.
ERRORS = 2
#: With fewer regions the best trust in hindsight is fitted to them, and its error says little.
FEWEST_REGIONS = 6
#: No county is drawn after so many.
MOST_COUNTIES = 12


@dataclass(frozen=True, slots=True)
class RuleSetsTrial:
    """What is to be tried.

    Args:
        regions: Counties are drawn for each rule set until areas are withheld in so many of their regions, 12 at most.
        seed: Of the first county, and of the secrets.
        in_turn: Whether each rule set is loaded under cell keys and one other method, in turn, and not under all.
    """

    regions: int = 4
    ways: int = 1
    seed: int = 1
    in_turn: bool = False

    def __post_init__(self) -> None:
        if self.regions < 2 or self.ways < 1:
            raise BadRequest(
                f"{self.regions} regions and {self.ways} ways are asked for.",
                "Take two regions or more, and one way or more.",
            )

    def run(self, progress: Callable[[str], None] = lambda _name: None) -> dict[str, Any]:
        """Attack every rule set under every method; the documented JSON."""
        results: list[dict[str, Any]] = []
        for number, each in enumerate(RULE_SETS):
            progress(each.name)
            lines = {method: self.tried(each, method) for method in self._methods(number)}
            results.append({"rules": each.name, "people_an_area": each.people, "methods": lines})
        about = {"attack": "withheld-rules", "regions": self.regions, "ways": self.ways, "seed": self.seed}
        kept = [
            line["within_limit"]
            for each in results
            for method, line in each["methods"].items()
            if method != OPEN
        ]
        about |= {"limit": LIMIT, "within_limit": False not in kept}
        return {**about, "knows": list(KNOWS), "results": results}

    def _methods(self, number: int) -> tuple[str, ...]:
        """Under what a rule set is loaded; the wrong alternative comes last."""
        others = METHODS[1:]
        return (CELLKEY, *((others[number % len(others)],) if self.in_turn else others), OPEN)

    def tried(self, rules: RuleSet, method: str) -> dict[str, Any]:
        """One rule set under one method, over as many counties as are needed: ratios and how much was withheld."""
        sums = Sums()
        for number in range(MOST_COUNTIES):
            self._add_county(sums, rules, method, self.seed + number)
            if not sums.areas or len(sums.regions) >= self.regions:
                break
        return sums.told()

    def _add_county(self, sums: Sums, rules: RuleSet, method: str, seed: int) -> None:
        """Attack the tables of one county."""
        county = rules.county(seed)
        records = county.records()
        kind = CELLKEY if method == OPEN else method
        measure = COUNT if method in {CELLKEY, DP, OPEN} else WEIGHTED
        with ExitStack() as open_ones:
            town = open_ones.enter_context(
                loaded(county.described(kind, rules.rules, records), records, seed)
            )
            interface: Interface = Served(town.service)
            if method == OPEN:
                bare = open_ones.enter_context(loaded(county.described(kind, "", records), records, seed))
                interface = Open(bare.service, town.service)
            notes = QueryCache(interface)
            for levels, names in product((("region",), ("region", "area")), TABLES):
                request = TableRequest(town.service.dataset.id, (levels[-1],), names, measure=measure)
                by_rule = withheld_by_rule(town.service, request)
                if by_rule is None or not by_rule.any():
                    continue
                variance = _variance(town, method, measure)
                for start in STARTS:
                    ways = 1 if method == DP else self.ways  # a group of noisy cells has no noise of its own
                    target = Target(levels, names, variance, ways, start, measure, _represented(measure))
                    missed = missed_by(town, notes, by_rule, target)
                    if missed is not None:
                        sums.add(start, missed, (seed, levels[-1]))


def _represented(measure: str) -> float:
    """How many people a record stands for on average; the guess would be four times too small without it."""
    return 1.0 if measure == COUNT else float(np.mean(list(WEIGHTS.values())))


def _variance(town: Loaded, method: str, measure: str) -> float:
    """The published variance of a count, in people represented where these are asked for."""
    squares = np.square(list(WEIGHTS.values()))
    factor = {CELLKEY: 1.0, DP: 1.0, OPEN: 1.0, STRATA: squares.sum()}
    return town.variance(measure) * float(factor.get(method, squares.max()))


@dataclass(slots=True)
class Sums:
    """Sums of e², e·v and v² in every region, for each guess."""

    areas: int = 0
    cells: int = 0
    complement: int = 0
    regions: dict[tuple[Any, ...], dict[str, NDArray[np.float64]]] = field(
        default_factory=lambda: defaultdict(lambda: {start: np.zeros(3) for start in STARTS})
    )

    def add(self, start: str, missed: Missed, county: tuple[Any, ...]) -> None:
        """Add one table of a county."""
        if start == STARTS[0]:
            self.areas += len(missed.guess)
            self.cells += missed.guess.size
            self.complement += missed.complement
        moved = missed.best - missed.guess
        for parent, e, v in zip(missed.parents, missed.guess, moved, strict=True):
            self.regions[(*county, int(parent))][start] += [(e * e).sum(), (e * v).sum(), (v * v).sum()]

    def told(self) -> dict[str, Any]:
        """The ratios with their errors; None where too little is withheld, or no table is released."""
        about = {"withheld": self.areas, "complement": self.complement, "cells": self.cells}
        about |= {"regions": len(self.regions)}
        if len(self.regions) < 2:
            return {**about, "curves": None, "within_limit": None}
        curves = {start: self._ratios(start) for start in STARTS}
        return {**about, "curves": curves, "within_limit": self._keeps(curves["shares"])}

    def _keeps(self, shares: dict[str, float | bool]) -> bool:
        """Whether the attack keeps the limit, in hindsight too where there are regions enough to tell its error."""
        return shares["ratio"] >= LIMIT and not (shares["beyond"] and len(self.regions) >= FEWEST_REGIONS)

    def _ratios(self, start: str) -> dict[str, float | bool]:
        parts = np.array([each[start] for each in self.regions.values()])
        whole = parts.sum(axis=0)
        left_out = np.array([_best(whole - part) for part in parts])
        error = np.sqrt((len(parts) - 1) * left_out.var())
        ratio = 1 + (2 * whole[1] + whole[2]) / max(whole[0], 1e-9)
        best = _best(whole)
        told = {"guess": float(whole[0]), "ratio": float(ratio), "best": best, "error": float(error)}
        return {**told, "beyond": bool(best + ERRORS * error < LIMIT)}


def _best(sums: NDArray[np.float64]) -> float:
    """The smallest Σ (e + λ v)² / Σ e² over λ >= 0.

    >>> _best(np.array([4.0, -2.0, 2.0])), _best(np.array([4.0, 2.0, 2.0]))
    (0.5, 1.0)
    """
    square, product, moved = sums
    if product >= 0 or moved <= 0 or square <= 0:
        return 1.0
    return float(1 - product**2 / (square * moved))


@dataclass(frozen=True, slots=True)
class Open:
    """The wrong alternative: what rules withhold is left out, alone; a filter of areas counts their union.

    Args:
        bare: The same people, loaded without rules.
        ruled: The same people, loaded with them.
    """

    bare: DatasetService
    ruled: DatasetService

    def ask(self, request: TableRequest) -> Answer:
        """The released table, without the areas that a rule withholds.

        Raises:
            TableNotReleased: Totals that are sums of cells tell what is withheld even more plainly.
        """
        if request.additivity:
            raise TableNotReleased("Sums of cells are not attacked here.", "Ask for counted totals.")
        answer = Served(self.bare).ask(request)
        by_rule = withheld_by_rule(self.ruled, request) if request.rows else None
        if by_rule is None:
            return answer
        missing = answer.missing.copy()
        missing[:-1][by_rule] = True
        return replace(answer, missing=missing)
