"""Averaging, scored: the error of a count by the number of ways in which it was asked, for each protection.

The cell is the number of children of an area; there are as many cells as areas. Scored are the root mean squared
error of the estimate and how often it is right once rounded.

Source: Rinott et al. (2018), section 2.2; docs/methods/attack-averaging.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import PROTECTIONS, Knowledge
from discreet.attacks.query_averaging import KINDS, Estimates, attack, error_bound, exact_bound
from discreet_studies.attacks.scoring import (
    FALSE_ALARM,
    frame,
    grid_up_to,
    noise_in_words,
    root_mean_square,
    share,
)
from discreet_studies.attacks.targets import CELL, Budget, targets, town

KNOWS = (
    "the description of the dataset: variables, categories, protection and the law of its noise",
    "that every child is single (a declared structural zero)",
    "nothing of the counts",
)
_LAST_BIT = 1e-9


@dataclass(frozen=True, slots=True)
class AveragingTrial:
    """What is to be tried.

    Args:
        targets: How many areas, each with one cell.
        ways: In how many ways each cell is asked.
        epsilon: What the `dp` target promises, for neighbours of one person more or less.
        seed: Of the people and the secrets.
    """

    people: int = 36_000
    targets: int = 600
    ways: int = 64
    epsilon: float = 1.0
    seed: int = 1
    against: tuple[str, ...] = PROTECTIONS

    @property
    def budget(self) -> Budget:
        """The tables that the attack can use."""
        bare = (CELL.place, CELL.of[0])
        return Budget((bare, (*bare, CELL.always[0]), (*bare, CELL.split)), self.epsilon, "add-remove")

    def run(self, progress: Callable[[str], None] = lambda _protection: None) -> dict[str, Any]:
        """Attack every protection; the documented JSON."""
        population, truth = town(self.people, self.targets, self.seed)
        results = []
        for knowledge, interface in targets(population, self.against, self.budget, self.seed):
            progress(knowledge.protection)
            curves = {
                kind: self.scored(knowledge, attack(interface, knowledge, CELL, kind, self.ways), truth)
                for kind in KINDS
            }
            results.append(
                {
                    "protection": knowledge.protection,
                    **noise_in_words(knowledge),
                    **self._bounds(knowledge),
                    "curves": curves,
                }
            )
        about = {
            "attack": "averaging",
            "source": "Rinott et al. (2018), section 2.2",
            "people": self.people,
            "targets": self.targets,
            "ways": self.ways,
            "seed": self.seed,
        }
        return frame(about, KNOWS, results)

    def scored(
        self, knowledge: Knowledge, found: Estimates, truth: NDArray[np.int64]
    ) -> list[dict[str, Any]]:
        """The curve of one kind of questions under one protection."""
        grid = grid_up_to(found.values.shape[1])
        curve = [_point(found, truth, ways) for ways in grid]
        if knowledge.plan is None:
            return curve
        alarm = FALSE_ALARM / (2 * len(KINDS) * len(grid))
        bounds = self._bounds(knowledge)["bound"]
        return [
            point | {"within_bound": _within(found.values[:, point["ways"] - 1], truth, bounds, alarm)}
            for point in curve
        ]

    def _bounds(self, knowledge: Knowledge) -> dict[str, Any]:
        """What epsilon implies for every attack, this one or another."""
        if knowledge.plan is None:
            return {}
        terms = knowledge.plan.terms
        epsilon, delta = float(terms.epsilon), float(terms.delta)
        return {"bound": {"error": error_bound(epsilon), "exact": exact_bound(epsilon, delta)}}


def _point(found: Estimates, truth: NDArray[np.int64], ways: int) -> dict[str, Any]:
    estimates = found.values[:, ways - 1]
    error, right = root_mean_square(estimates - truth), share(_hits(estimates, truth), truth.size)
    return {
        "ways": ways,
        "queries": found.queries[ways - 1],
        "error": error.value,
        "low": error.low,
        "high": error.high,
        "expected": found.variance[ways - 1] ** 0.5,
        "exact": {"share": right.value, "low": right.low, "high": right.high},
    }


def _within(
    estimates: NDArray[np.float64], truth: NDArray[np.int64], bounds: dict[str, float], alarm: float
) -> bool:
    """Whether neither the error nor the exact hits are surely better than epsilon allows."""
    error = root_mean_square(estimates - truth, 1 - 2 * alarm)
    hits = share(_hits(estimates, truth), truth.size, 1 - 2 * alarm)
    return error.high >= bounds["error"] and hits.low <= bounds["exact"]


def _hits(estimates: NDArray[np.float64], truth: NDArray[np.int64]) -> int:
    """How many are right once rounded; a half goes up, whatever the last bit of its float says."""
    return int((np.floor(estimates + 0.5 + _LAST_BIT) == truth).sum())
