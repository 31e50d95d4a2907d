"""Bob's differencing, scored: the share of right answers by the number of pairs, for each protection.

Every workplace has a Bob of its own whose salary is a fair coin, so guessing is right half of the time and the bound
of even odds applies. Two decisions are scored: by all evidence (Bayes), and by the paper's own rule, "differs".

Source: Rinott et al. (2018), section 2.2; docs/methods/attack-bob.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.differencing import Findings, attack
from discreet.attacks.knowledge import PROTECTIONS, Knowledge
from discreet.attacks.query_averaging import optimum, success_bound
from discreet_studies.attacks.scoring import FALSE_ALARM, frame, grid_up_to, noise_in_words, share
from discreet_studies.attacks.targets import SCENE, TRAITS, Budget, targets, works

KNOWS = (
    "the description of the dataset: variables, categories, protection and the law of its noise",
    "Bob's workplace, and that he is the only one there who was hired today",
    "Bob's sex, age, education, birthplace and household",
    "nothing of his salary: it is above the line with probability 1/2",
)
_TIE = 1e-6


@dataclass(frozen=True, slots=True)
class BobTrial:
    """What is to be tried.

    Args:
        targets: How many workplaces, each with a Bob.
        epsilon: What the `dp` target promises, for neighbours in which one person's record is another.
        seed: Of the people, the secrets and the coins that break ties.
    """

    people: int = 40_000
    targets: int = 1_000
    pairs: int = 32
    epsilon: float = 1.0
    seed: int = 1
    against: tuple[str, ...] = PROTECTIONS

    @property
    def budget(self) -> Budget:
        """Every table that the attack can use and no other: the universe that is worst for Bob."""
        bare = (SCENE.place, SCENE.sensitive, SCENE.alone[0])
        return Budget((bare, *((*bare, trait) for trait in TRAITS)), self.epsilon, "replace-one")

    def run(self, progress: Callable[[str], None] = lambda _protection: None) -> dict[str, Any]:
        """Attack every protection; the documented JSON."""
        population, bobs, truth = works(self.people, self.targets, self.seed)
        results = []
        for knowledge, interface in targets(population, self.against, self.budget, self.seed):
            progress(knowledge.protection)
            found = attack(interface, knowledge, SCENE, bobs, self.pairs)
            results.append(self.scored(knowledge, found, truth))
        about = {
            "attack": "bob",
            "source": "Rinott et al. (2018), section 2.2",
            "people": self.people,
            "targets": self.targets,
            "pairs": self.pairs,
            "seed": self.seed,
            "prior": 0.5,
        }
        return frame(about, KNOWS, results)

    def scored(self, knowledge: Knowledge, found: Findings, truth: NDArray[np.bool_]) -> dict[str, Any]:
        """One protection's curve."""
        coins = np.random.default_rng([self.seed, 3]).integers(2, size=truth.size).astype(np.bool_)
        grid = grid_up_to(found.evidence.shape[1])
        curve = [_point(found, truth, pairs, coins) for pairs in grid]
        if knowledge.plan is not None:
            alarm = FALSE_ALARM / (2 * len(grid))
            curve = [point | _bounds(knowledge, found, point, truth.size, alarm) for point in curve]
        return {"protection": knowledge.protection, **noise_in_words(knowledge), "curve": curve}


def _point(found: Findings, truth: NDArray[np.bool_], pairs: int, coins: NDArray[np.bool_]) -> dict[str, Any]:
    evidence = found.evidence[:, :pairs].sum(axis=1)
    votes = found.differs[:, :pairs].sum(axis=1, dtype=np.int64)
    right = decide(evidence, coins) == truth
    by_difference = decide((votes[:, 0] - votes[:, 1]).astype(np.float64), coins) == truth
    certain = np.isinf(evidence)
    return {
        "pairs": pairs,
        "queries": found.queries[pairs - 1],
        **_success(right),
        "certain": int(certain.sum()),
        "certain_true": int((certain & right).sum()),
        "by_difference": _success(by_difference),
    }


def _bounds(
    knowledge: Knowledge, found: Findings, point: dict[str, Any], targets: int, alarm: float
) -> dict[str, Any]:
    """Under `dp`: what epsilon implies, what the best attack on these cells reaches, and whether it held."""
    pairs = point["pairs"]
    epsilon = found.epsilon[pairs - 1] if found.epsilon else 0.0
    bound = success_bound(epsilon, float(knowledge.noise_plan.terms.delta))
    best = max(point["success"], point["by_difference"]["success"])
    return {
        "epsilon": epsilon,
        "bound": bound,
        "optimum": optimum(found.rows[:pairs]),
        "within_bound": share(round(best * targets), targets, 1 - 2 * alarm).low <= bound,
    }


def decide(evidence: NDArray[np.float64], coins: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Yes where the evidence is for it, no where it is against; a coin where there is none."""
    return np.where(np.abs(evidence) < _TIE, coins, evidence > 0)


def _success(right: NDArray[np.bool_]) -> dict[str, float]:
    measured = share(int(right.sum()), right.size)
    return {"success": measured.value, "low": measured.low, "high": measured.high}
