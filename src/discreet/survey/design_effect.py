"""How much larger a cell's sampling variance is than that of so many people drawn at random: its design effect.

    relative variance of the cell = deff_k / n_k      so      deff_k = (√(V_k / n_k) + √n_k |x_k - w_k|)² / x_k²

with n_k its people, V_k the design's variance of its weighted count, w_k the mean weight of its people, and x_k what the
form would show without noise, per person; where the form stands on public weights, the difference to w_k is an error too,
and is added in full. What is released has the noisy count in place of √n_k: else the difference, which is
known where all people of a cell have one known weight, would tell the count.

This is the one figure of a released error that reads exact weights. A reader sees one rung of it and nothing finer:

    rung = RATIO^(⌊l⌋ + 1 + [u < l - ⌊l⌋]),    l = log(deff) / log(RATIO),    u uniform, keyed by who is in the cell

It is never below deff, on average (in logarithms) one rung above. There is no value of deff at which the rung changes for
certain: with one person more or less the chances of two rungs change a little. A rule without u tells on which side of
such a value the count lies. Design effects below (1 - n/N)(1 - ñ/n) are told as that, since a cell that is a whole stratum
has none; and of small cells nothing is told: a cell with fewer than 16 people after noise takes the largest rung of the
table's other cells, or the declared design effect where that is larger.

Source: Kish (1965), section 8.2; Wolter (2007), chapter 7 (generalised variance functions: relative variance = deff / n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.survey.design import SurveyDesign

#: Cells with fewer people after noise have no design effect of their own: with deff 1 their error is 25 % and more.
SMALL = 16
#: The ratio of two rungs of design effects: printed errors are raised by its root on average.
RATIO = 1.25
#: Has a logarithm: a whole population in the sample has no sampling error.
_TINY = 1e-9


def design_effects(
    variance: NDArray[np.float64],
    counts: NDArray[np.int64],
    weighted: NDArray[np.float64],
    without_noise: NDArray[np.float64],
    noisy: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The design effect of each cell; 0 where nobody is.

    Args:
        variance: Of the weighted counts, by the design.
        counts: Exact sample counts.
        weighted: Exact weighted counts, in people.
        without_noise: What the form would show without noise, in people.
        noisy: Sample counts with their noise, for what is released; else the exact ones.

    >>> one = np.array([16])
    >>> design_effects(np.array([625.0]), one, np.array([100.0]), np.array([100.0]), one).tolist()
    [1.0]
    """
    known = (counts > 0) & (without_noise > 0)
    people = np.where(known, counts, 1)
    missed = np.abs(without_noise - weighted) / people
    error = np.sqrt(variance / people) + np.sqrt(np.maximum(noisy, 0)) * missed
    return np.where(known, (error * people / np.where(known, without_noise, 1)) ** 2, 0.0)


def least_effects(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.float64]:
    """The least design effects that are told: those of people drawn at random, with at least 16 people outside the cell."""
    outside = np.maximum(design.sample_size - noisy, min(SMALL, design.sample_size))
    return np.asarray(float(1 - design.sampling_fraction) * np.minimum(outside / design.sample_size, 1))


def effect_rungs(
    effects: NDArray[np.float64], least: NDArray[np.float64], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The rung of each design effect, by chance the next or the one after it.

    Args:
        effects: Of each cell.
        least: Design effects below it are told as it is.
        chances: Numbers from 0 to 1 that belong to the people of each cell; secret.

    >>> np.log(effect_rungs(np.full(2, RATIO**2.3), np.ones(2), np.array([0.2, 0.4]))) / np.log(RATIO)
    array([4., 3.])
    """
    at = np.log(np.maximum(effects, np.maximum(least, _TINY))) / np.log(RATIO)
    whole = np.floor(at)
    return np.asarray(RATIO ** (whole + 1 + (chances < at - whole)))


def told_effects(
    effects: NDArray[np.float64], noisy: NDArray[np.int64], declared: float, shown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The design effects that errors are made of: small cells take the largest of the others.

    Args:
        effects: The rung of each cell.
        noisy: Sample counts with their noise.
        declared: The declared design effect, the least for small cells.
        shown: Cells that can occur.

    >>> both = np.array([1.2, 9.0, 3.0])
    >>> told_effects(both, np.array([100, 4, 50]), 1.1, np.full(3, True)).tolist()
    [1.2, 3.0, 3.0]
    """
    small = noisy < SMALL
    largest = max(declared, float(effects[~small & shown].max(initial=0.0)))
    return np.where(small, largest, effects)
