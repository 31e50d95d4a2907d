"""The outcome of a test: the noise-aware likelihood ratio, and beside it what ignoring the noise would say.

    statistic = 2 (largest log-likelihood without the hypothesis - largest with it)

Both are maximised with the noise in the likelihood. The naive statistic is G2 = 2 sum of x log(x / fit), which
takes released counts for exact ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from discreet.inference.association import CramersV
from discreet.inference.noise_by_cell import NoiseByCell
from discreet.model.one_line import one_line
from discreet.model.told import joined, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw

#: The level at which a sentence says whether a test rejects.
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class NaiveTest:
    """The test that ignores the noise."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    """A test of a hypothesis on released counts.

    Args:
        hypothesis: What is tested, in words.
        statistic: Twice the log of the likelihood ratio, noise included.
        df: Degrees of freedom, without cells that vanish.
        p_value: The chance of such a statistic or a larger one if the hypothesis holds.
        naive: The same, the noise ignored.
        model: `poisson`, `multinomial` or `binomial`: what the true counts are.
        method: Where the p-value comes from: `chi-square`, `moments` (the same law with the
            mean and variance that the noise gives the statistic), `bootstrap` or `exact`.
        converged: Whether the maximum was found.
        spread: The largest standard deviation of the noise of a count.
        notes: What the reader should know besides.
        cramers_v: Of a test of independence, how strong the relation is; None where it has no meaning.
        fitted: The fitted means under the hypothesis.
    """

    hypothesis: str
    statistic: float
    df: int
    p_value: float
    naive: NaiveTest
    model: str
    method: str
    converged: bool
    spread: float
    notes: tuple[str, ...] = ()
    cramers_v: CramersV | None = None
    fitted: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    @property
    def why(self) -> str:
        """Why the naive test says something else, in a sentence or two."""
        if self.spread == 0:
            return told("The counts carry no noise: both tests are the same up to how the p-value is found.")
        cause = told(
            "The naive test takes the released counts for exact. Their noise (standard deviation up to "
            "{spread:.1f}) then looks like a departure from the hypothesis, the more so the smaller the "
            "counts; the noise-aware test knows how large it is.",
            spread=self.spread,
        )
        return joined([cause, self._verdict()])

    def _verdict(self) -> str:
        aware, naive = self.p_value <= LEVEL, self.naive.p_value <= LEVEL
        if naive and not aware:
            return told("Here the naive test would reject at 5 %, and the noise alone can explain that.")
        if aware and not naive:
            return told("Here the noise had hidden a departure that the noise-aware test rejects at 5 %.")
        return told("Here both reject at 5 %.") if aware else told("Here neither rejects at 5 %.")

    def document(self) -> dict[str, Any]:
        """The outcome as JSON."""
        return {
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "df": self.df,
            "p_value": self.p_value,
            "naive": {
                "statistic": self.naive.statistic,
                "df": self.naive.df,
                "p_value": self.naive.p_value,
            },
            "model": self.model,
            "method": self.method,
            "converged": self.converged,
            "spread": self.spread,
            "cramers_v": None if self.cramers_v is None else self.cramers_v.document(),
            "why": self.why,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return one_line(
            self,
            f"{self.hypothesis}: statistic {self.statistic:.4g}, df {self.df}, p-value {self.p_value:.4g}",
        )


def read_likelihood_ratio(document: Mapping[str, Any]) -> LikelihoodRatio:
    """The outcome that a document tells; only the fitted means are not in it."""
    strength = document["cramers_v"]
    plain = ("hypothesis", "statistic", "df", "p_value", "model", "method", "converged", "spread")
    return LikelihoodRatio(
        naive=NaiveTest(**document["naive"]),
        notes=tuple(document["notes"]),
        cramers_v=None
        if strength is None
        else CramersV(strength["corrected"], strength["naive"], strength["noise_part"]),
        **{name: document[name] for name in plain},
    )


def chi_square(statistic: ArrayLike, df: ArrayLike) -> NDArray[np.float64]:
    """The upper tail of the chi-square law; 1 where nothing is left to test.

    >>> round(float(chi_square(3.841, 1)), 3)
    0.05
    """
    freedom = np.asarray(df)
    tail = chdtrc(np.maximum(freedom, 1), np.maximum(np.asarray(statistic), 0))
    return np.asarray(np.where(freedom > 0, tail, 1.0), dtype=np.float64)


def spread_of(noise: CellLaw | NoiseByCell) -> float:
    """The largest standard deviation of the noise of any count, or of any cell."""
    if isinstance(noise, NoiseByCell):
        return noise.spread
    return sqrt(noise.variance)


def p_text(p_value: float) -> str:
    """A p-value for people.

    >>> p_text(0.00001), p_text(0.0432)
    ('< 0.0001', '0.0432')
    """
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}"
