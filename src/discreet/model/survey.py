"""What the public knows of a survey: its size, its population, and how its weights vary.

All of it is declared in `[survey]` of `dataset.toml`, checked against the records at load, and printed with
weighted tables. Weights are fixed-point integers throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadDescription
from discreet.model.one_line import one_line
from discreet.model.sampling_design import SamplingDesign

#: The ways to a weighted table, the default first; `survey/forms.py` says what each promises.
FORMS = ("average-weight", "public-strata", "largest-weight", "invariant")
#: Forms of the literature that are not served: their tables undo the noise (docs/methods/attack-weights.md).
OPEN_FORMS = ("cell-average", "overall-average")
#: Under `dp` only those that are made of noisy counts and public constants; `invariant` needs a public n.
DP_FORMS = ("average-weight", "public-strata", "invariant")


@dataclass(frozen=True, slots=True)
class Survey:
    """The declared facts of a weighted sample.

    Args:
        form: How weighted counts are protected.
        sample_size: The number of records, n.
        population_size: What the weights add up to, N.
        largest_weight: The largest weight; a load with a larger one is refused.
        relative_variance: The variance of the weights over their squared mean.
        stratum: For `public-strata`, the variable of the strata.
        stratum_weights: For `public-strata`, the public weight of each stratum, by code.
        design: How the sample was drawn.
        error_limit: A cell whose printed relative standard error is larger gets status `u`.
    """

    form: str
    sample_size: int
    population_size: Fraction
    largest_weight: Fraction
    relative_variance: Fraction
    stratum: str | None = None
    stratum_weights: tuple[tuple[str, Fraction], ...] = ()
    design: SamplingDesign = SamplingDesign()  # noqa: RUF009 - frozen value
    error_limit: Fraction = Fraction(1, 4)

    @property
    def weighted_only(self) -> bool:
        """Whether records are not counted: weights are, in steps of the largest one, with noise of their own.

        A count of the same people beside them would be a second look at them, with other noise.
        """
        return self.form == "largest-weight"

    def __post_init__(self) -> None:
        if self.sample_size < 1 or self.population_size <= 0 or self.largest_weight <= 0:
            raise BadDescription(
                "[survey] has a size or weight that is not positive.", "Give positive numbers."
            )
        if self.relative_variance < 0:
            raise BadDescription("[survey] has a relative variance below zero.", "Give zero or more.")
        if self.error_limit <= 0:
            raise BadDescription(
                f"`error_limit` of [survey] is {float(self.error_limit):g}.",
                "Give a number above 0, as in 0.25.",
            )
        if self.form == "public-strata" and not (self.stratum and self.stratum_weights):
            raise BadDescription(
                "The weight form public-strata needs `stratum` and `stratum_weights`.",
                'Write stratum = "state" and stratum_weights = { A = 900, B = 300 }.',
            )

    def __repr__(self) -> str:
        return one_line(self, f"{self.form}, {self.sample_size:,} records")
