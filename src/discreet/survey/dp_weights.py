"""Differentially private weighted counts, from noisy counts and public constants alone.

No function here takes an exact count or weight: the guarantee of the noisy counts holds for the result (post-processing).

    public strata     Σ_h w_h · ñ_kh          weights w_h are public; strata are an axis of the table
    average weight    ñ_k · N/n               N and n are public
    invariant         ñ_k · N/n               n is released exactly; neighbours replace one person

Sensitivity of the invariant form: N/n for one cell, 2N/n (L1) for a table. Without the invariant a sample of one represents
the whole population, and the sensitivity is N.

Source: Bailie (2020), section 4.1 and table 2.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.survey.weight_forms import SurveyDesign, times_ratio


def public_strata(
    noisy_by_stratum: NDArray[np.int64], stratum_weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Weighted counts from noisy sample counts by stratum, in fixed point.

    Args:
        noisy_by_stratum: Noisy sample counts; the last axis is the stratum, without a total.
        stratum_weights: The public weight of each stratum, in fixed point.

    >>> public_strata(np.array([[2, 1], [0, 3]]), np.array([6_000_000, 7_000_000])).tolist()
    [19000000, 21000000]
    """
    return np.asarray((noisy_by_stratum * stratum_weights).sum(axis=-1))


def average_weight(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.int64]:
    """Noisy sample counts times the overall average weight, in fixed point; of the form `invariant`, too.

    The claim of `invariant` is another one: n is exact and neighbours replace one person, so a table's noise must cover a
    change of 2 in its counts.
    """
    return times_ratio(noisy, design.weight_total, design.sample_size)
