"""How well an attack did, with the uncertainty of having tried it on so many targets.

share of right answers    exact interval of a binomial probability (Clopper & Pearson, 1934)
root mean squared error   mean of squares +- z standard errors, as a root

What the studies of all attacks share: where a curve is told, the noise that was met, and the frame of the JSON.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm
from scipy.stats import t as student

from discreet.attacks.knowledge import DP, UNPROTECTED, Knowledge
from discreet.protect.best_composition import claim_of, figures

CONFIDENCE = 0.95


class Measured(NamedTuple):
    """A measured figure with its interval."""

    value: float
    low: float
    high: float


def share(hits: int, of: int, confidence: float = CONFIDENCE) -> Measured:
    """A share with its Clopper-Pearson interval, which covers at least as often as it says.

    >>> [round(float(x), 4) for x in share(8, 10)]
    [0.8, 0.4439, 0.9748]
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, of - hits + 1))
    high = 1.0 if hits == of else float(beta.ppf(1 - tail, hits + 1, of - hits))
    return Measured(hits / of, low, high)


def mean_with_error(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Measured:
    """A mean with the interval of Student's t.

    >>> [round(x, 3) for x in mean_with_error(np.array([0.0, 1.0, 2.0]))]
    [1.0, -1.484, 3.484]
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / float(np.sqrt(values.size))
    half = float(student.ppf((1 + confidence) / 2, values.size - 1)) * error
    return Measured(mean, mean - half, mean + half)


def root_mean_square(errors: NDArray[np.float64], confidence: float = CONFIDENCE) -> Measured:
    """The root mean squared error; its interval is that of the mean of squares, by the normal distribution."""
    squares = np.square(errors)
    mean = float(squares.mean())
    half = float(norm.ppf((1 + confidence) / 2)) * float(squares.std()) / math.sqrt(errors.size)
    return Measured(math.sqrt(mean), math.sqrt(max(0.0, mean - half)), math.sqrt(mean + half))


#: The chance that a study calls a sound `dp` server broken, all its points together.
FALSE_ALARM = 1e-4


def frame(about: dict[str, Any], knows: Sequence[str], results: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of a study: what was tried, what the attacker knew, and the results with the baseline apart."""
    return {
        **about,
        "confidence": CONFIDENCE,
        "false_alarm": FALSE_ALARM,
        "knows": list(knows),
        "results": [each for each in results if each["protection"] != UNPROTECTED],
        "baseline": next((each for each in results if each["protection"] == UNPROTECTED), None),
    }


def grid_up_to(most: int) -> list[int]:
    """The numbers of questions at which a curve is told: 1, 2, 3, 4, 6, 8, 12, 16, ... and the last.

    >>> grid_up_to(20)
    [1, 2, 3, 4, 6, 8, 12, 16, 20]
    """
    steps = sorted(
        {n for power in range(most.bit_length() + 1) for n in (2**power, 3 * 2**power // 2) if n <= most}
    )
    return steps if steps[-1] == most else [*steps, most]


def noise_in_words(knowledge: Knowledge) -> dict[str, Any]:
    """What is public about the noise of a protection: family and parameters, or what is promised under `dp`."""
    if knowledge.protection == UNPROTECTED:
        return {"noise": None}
    if knowledge.protection != DP:
        noise = knowledge.distribution
        return {
            "noise": {
                "family": noise.family,
                "parameters": {key: value for key, value in noise.parameters.items() if value is not None},
                "variance": float(noise.rows[-1].variance()),
            }
        }
    plan = knowledge.noise_plan
    return {
        "noise": {
            "family": plan.tables[0].noise.family,
            "tables": [list(table.margin) for table in plan.tables],
            "variance": float(plan.tables[-1].noise.rows[0].variance()),
        },
        "claim": {
            "epsilon": float(plan.terms.epsilon),
            "delta": float(plan.terms.delta),
            "neighbours": plan.terms.neighbours,
            "sentence": claim_of(plan, "basic", figures(plan)["basic"]).sentence,
        },
    }
