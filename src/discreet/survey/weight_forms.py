"""Public constants of a weighted sample, and the forms of a weighted table with their promises.

The custodian declares every constant, and tables print it; nothing is computed per request. All forms but
`largest-weight` are functions of noisy counts and public weights: they disclose nothing beyond the noisy counts and
are differentially private where these are. Claims treat a weight as a fixed attribute of its record. The grid g of
`largest-weight`, g·(round(W_k/g) + noise), makes it private: noise in steps of w_max on an unrounded count W_k would
release W_k modulo w_max.

A weight of 666.6667 with four decimals is the integer 6666667. Quotients are rounded to the last decimal, halves away from
zero. No float is used, and products that would exceed 64 bits are never formed.

Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), section 4.1; Rinott et al. (2018), section 8.
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
        raise BadOption(f'There is no weight form "{name}".', nearest(name, FORMS)) from None


def cautions(form: WeightForm, design: SurveyDesign) -> tuple[str, ...]:
    """Warnings for the custodian who chooses a form for a survey.

    >>> from discreet.survey.weight_forms import SurveyDesign
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


def on_grid(weight_sums: NDArray[np.int64], grid: int) -> NDArray[np.int64]:
    """Weighted counts in steps of a public grid, before the noise."""
    return nearest_quotient(weight_sums, grid)
