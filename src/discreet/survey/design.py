"""What the public knows of a survey: sizes, the sum and the largest of the weights, and how much they vary.

Every figure here is declared by the custodian and printed with the table; nothing is computed per request.
The average weight is the ratio weight_total / sample_size, kept as two integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BadDescription

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    """The variance of weights over their squared mean: n·Σw²/(Σw)² - 1. For the custodian, at load.

    >>> import numpy as np
    >>> relative_variance(np.array([1, 3]))
    Fraction(1, 4)
    """
    total = sum(int(weight) for weight in weights)
    squares = sum(int(weight) ** 2 for weight in weights)
    return Fraction(len(weights) * squares, total * total) - 1
