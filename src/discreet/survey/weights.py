"""Public constants of a weighted sample, and the forms of a weighted table with their promises.

The custodian declares every constant, and tables print it; nothing is computed per request. All forms but
`largest-weight` are functions of noisy counts and public weights: they disclose nothing beyond the noisy counts and
are differentially private where these are. Claims treat a record's weight as a fixed attribute of the record.

Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), section 4.1.

Weighted counts in fixed point: by the noise of the sample count, and in steps of a grid.

With W_k the exact weighted count of cell k, n_k its sample count, p the noise of that count and w̄ = N/n:

    (a) overall average   W_k + p·w̄
    (b) cell average      W_k + p·W_k/n_k  =  (n_k + p)·W_k/n_k
    (c) largest weight    g·(round(W_k/g) + noise),  noise for a sensitivity of ⌈w_max/g⌉ steps of the grid g

(a) and (b) are never served: (a) releases W_k modulo w̄, (b) the cell's average weight, and either undoes the noise of the
published count. They exist for reproductions and attacks. In (c) the rounding to a public grid makes it private: noise in
steps of w_max on an unrounded W_k would release W_k modulo w_max.

A weight of 666.6667 with four decimals is the integer 6666667. Quotients are rounded to the last decimal, halves away from
zero. No float is used, and products that would exceed 64 bits are never formed.

Source: (a), (b) Shlomo, Krenzke & Li (2019), eqs 4-5; (c) Rinott et al. (2018), section 8; R cellKey is (b).

Differentially private weighted counts, from noisy counts and public constants alone.

No function here takes an exact count or weight: the guarantee of the noisy counts holds for the result (post-processing).

    public strata     Σ_h w_h · ñ_kh          weights w_h are public; strata are an axis of the table
    average weight    ñ_k · N/n               N and n are public
    invariant         ñ_k · N/n               n is released exactly; neighbours replace one person

Sensitivity of the invariant form: N/n for one cell, 2N/n (L1) for a table. Without the invariant a sample of one represents
the whole population, and the sensitivity is N.

Source: Bailie (2020), section 4.1 and table 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, BadOption
from discreet.model.messages.text import message, nearest


@dataclass(frozen=True, slots=True)
class SurveyDesign:
    """The public constants of a weighted sample.

    Args:
        sample_size: The number of records, n.
        weight_total: The sum of all weights in fixed point: the population, N, times 10^decimals.
        decimals: How many decimals weights have.
        largest_weight: The largest weight allowed, in fixed point; larger ones are refused at load.
        relative_variance: The variance of the weights over their squared mean, as declared.

    >>> design = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, Fraction(1, 20))
    >>> float(design.average_weight), float(design.design_effect)
    (666.6666666666666, 1.05)
    """

    sample_size: int
    weight_total: int
    decimals: int
    largest_weight: int
    relative_variance: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.sample_size < 1 or not 0 <= self.decimals <= 9:
            raise BadDescription(
                f"The survey has {self.sample_size} records and weights of {self.decimals} decimals.",
                "Give at least one record, and 0 to 9 decimals.",
            )
        if not self.sample_size * self.largest_weight >= self.weight_total >= 1:
            raise BadDescription(
                "The largest weight and the sum of weights do not fit each other.",
                "The sum must be positive and at most the sample size times the largest weight.",
            )
        if self.relative_variance < 0:
            raise BadDescription(
                f"The relative variance of the weights is {float(self.relative_variance)}.",
                "Give the variance over the squared mean: zero or more.",
            )

    @property
    def scale(self) -> int:
        """One whole person in fixed point: 10^decimals."""
        return int(10**self.decimals)

    @property
    def average_weight(self) -> Fraction:
        """N/n, the overall average weight, exactly."""
        return Fraction(self.weight_total, self.sample_size * self.scale)

    @property
    def sampling_fraction(self) -> Fraction:
        """n/N, at most 1."""
        return min(Fraction(1), 1 / self.average_weight)

    @property
    def design_effect(self) -> Fraction:
        """Kish's 1 + relative variance: how much unequal weights raise the sampling variance."""
        return 1 + self.relative_variance


def relative_variance(weights: NDArray[np.int64]) -> Fraction:
    """The variance of weights over their squared mean, n·Σw²/(Σw)² - 1, for the custodian at load.

    >>> import numpy as np
    >>> relative_variance(np.array([1, 3]))
    Fraction(1, 4)
    """
    total = sum(int(weight) for weight in weights)
    squares = sum(int(weight) ** 2 for weight in weights)
    return Fraction(len(weights) * squares, total * total) - 1


#: Above this relative variance the average weight is a poor substitute for a record's weight (Shlomo, section 2.1).
VARIANCE_LIMIT = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class WeightForm:
    """One form of a weighted table: its name in `dataset.toml`, the released value of cell k, and its guarantee.

    `by_average` says that it uses the overall average weight.
    """

    name: str
    formula: str
    promise: str
    by_average: bool = False


FORMS = {
    form.name: form
    for form in (
        WeightForm(
            "average-weight",
            message("noisy n_k · w̄"),
            message(
                "The perturbed sample count times the overall average weight, which is public: "
                "post-processing of noisy counts, with the promise of these. Differences between people's "
                "weights are ignored."
            ),
            by_average=True,
        ),
        WeightForm(
            "public-strata",
            message("Σ_h w_h · noisy n_kh"),
            message(
                "Sample counts are perturbed in each stratum and multiplied by the stratum's public weight: "
                "post-processing of noisy counts, with the promise of these."
            ),
        ),
        WeightForm(
            "largest-weight",
            message("w_max · (W_k / w_max rounded, with noise)"),
            message(
                "The sum of the weights in a cell is rounded to steps of the largest weight, and the number "
                "of steps gets its noise as a count does: one person, of whatever weight, changes it by one "
                "step at most. The dataset tells no counts of records: they would be a second look at the "
                "same people."
            ),
        ),
        WeightForm(
            "invariant",
            message("noisy n_k · N / n, the sample size n being public"),
            message(
                "The sample size is published exactly and held fixed: neighbours are samples of the same "
                "size in which one person is replaced. The sensitivity is N/n for one cell and 2N/n for a "
                "table."
            ),
            by_average=True,
        ),
    )
}


def weight_form(name: str) -> WeightForm:
    """The form of a name.

    Raises:
        BadOption: It is unknown; the error suggests the nearest.
    """
    try:
        return FORMS[name]
    except KeyError:
        raise BadOption(f'The weight form "{name}" is not known.', nearest(name, FORMS)) from None


def cautions(form: WeightForm, design: SurveyDesign) -> tuple[str, ...]:
    """Warnings for the custodian who chooses a form for a survey.

    >>> from discreet.survey.weights import SurveyDesign
    >>> design = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, Fraction(1, 5))
    >>> [caution[:50] for caution in cautions(FORMS["average-weight"], design)]
    ['The relative variance of the weights is 20.0 %, ab']
    """
    if not form.by_average or design.relative_variance <= VARIANCE_LIMIT:
        return ()
    share, limit = 100 * float(design.relative_variance), 100 * float(VARIANCE_LIMIT)
    caution = message(
        "The relative variance of the weights is {share:.1f} %, above {limit:.0f} %: the overall "
        "average weight does not stand for a person's own, and estimates lean towards groups with "
        'small weights. Prefer "public-strata" where weights differ by stratum, or "largest-weight".',
        share=share,
        limit=limit,
    )
    return (caution,)


def nearest_quotient(numerator: NDArray[np.int64], denominator: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """The nearest integers to numerator / denominator, halves away from zero; the denominator is positive.

    >>> nearest_quotient(np.array([7, -7, 8, -8, 5]), 2).tolist()
    [4, -4, 4, -4, 3]
    """
    whole, rest = np.divmod(np.abs(numerator), denominator)
    nearest = whole + (rest >= denominator - rest)
    return np.where(numerator < 0, -nearest, nearest)


def times_ratio(
    factor: NDArray[np.int64], numerator: NDArray[np.int64] | int, denominator: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """The nearest integers to factor · numerator / denominator; the denominator is positive.

    The numerator is split as whole · denominator + rest, so that only the result and factor · denominator
    must fit in 64 bits.

    >>> times_ratio(np.array([2, -3]), 10_000_000_000, 1500).tolist()
    [13333333, -20000000]
    """
    whole, rest = np.divmod(np.asarray(numerator, dtype=np.int64), denominator)
    return factor * whole + nearest_quotient(factor * rest, denominator)


def overall_average(
    noisy: NDArray[np.int64],
    counts: NDArray[np.int64],
    weight_sums: NDArray[np.int64],
    design: SurveyDesign,
) -> NDArray[np.int64]:
    """(a) The weighted counts moved by the noise times the overall average weight, in fixed point.

    Args:
        noisy: Noisy sample counts.
        counts: Exact sample counts.
        weight_sums: Exact weighted counts, in fixed point.
        design: The public constants.
    """
    return weight_sums + times_ratio(noisy - counts, design.weight_total, design.sample_size)


def cell_average(
    noisy: NDArray[np.int64],
    counts: NDArray[np.int64],
    weight_sums: NDArray[np.int64],
    design: SurveyDesign,
) -> NDArray[np.int64]:
    """(b) The noisy counts times the cell's average weight, in fixed point; an empty cell uses the overall average."""
    filled = counts > 0
    moved = weight_sums + times_ratio(noisy - counts, weight_sums, np.where(filled, counts, 1))
    return np.where(filled, moved, overall_average(noisy, counts, weight_sums, design))


def on_grid(weight_sums: NDArray[np.int64], grid: int) -> NDArray[np.int64]:
    """(c) before the noise: weighted counts in steps of a public grid."""
    return nearest_quotient(weight_sums, grid)


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
    """Noisy sample counts times the overall average weight, in fixed point."""
    return times_ratio(noisy, design.weight_total, design.sample_size)


def invariant(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.int64]:
    """Noisy sample counts scaled to the population, the sample size being an invariant; in fixed point.

    The numbers are those of `average_weight`; the claim is another one: n is exact and neighbours replace
    one person, so a table's noise must cover a change of 2 in its counts.
    """
    return average_weight(noisy, design)
