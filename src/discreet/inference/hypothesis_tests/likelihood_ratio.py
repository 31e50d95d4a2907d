"""The likelihood-ratio statistic of released tables with the noise in the likelihood, and the result of a test.

    statistic = 2 (max over all mu of log L(mu) - max over the model's mu of log L(mu)),
    L(mu) = product over cells of  sum over n of  Poisson(n; mu) P(x | n),

or the multinomial form where the true total is public. The naive statistic G2 = 2 sum of x log(x / fit) takes released
counts as exact. Degrees of freedom leave out cells that cannot occur or vanish in the extended estimate.
Source: Rinott et al. (2018), eqs 6.1-6.2, for any hierarchical model and any noise table.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from discreet.errors import BadRequest
from discreet.inference.channel import Floats, NoiseByCell, by_cell, channel_of, with_sure_zeros
from discreet.inference.hypothesis_tests.cramers_v import CramersV
from discreet.inference.hypothesis_tests.likelihood import (
    MultinomialLikelihood,
    PoissonLikelihood,
    WidePoisson,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel, maximise, plain_fit
from discreet.model.messages.text import join_sentences, message, one_line
from discreet.model.noise_distribution import CellDistribution
from discreet.noise.table import NoiseTable

#: The level of the verdict in the text of a result.
LEVEL = 0.05
#: The model of a test of a weighted table (`survey_tests.py`).
SURVEY_MODEL = "survey"


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
        statistic: Twice the log of the likelihood ratio, noise included.
        df: Degrees of freedom, without cells that vanish.
        p_value: The probability of such a statistic or a larger one under the hypothesis.
        naive: The same, the noise ignored.
        model: The distribution of the true counts: `poisson`, `multinomial`, `binomial`, or `survey` for a weighted table,
            whose statistic is a corrected X².
        method: The source of the p-value: `chi-square`, `moments` (a scaled chi-square with the mean and variance of the
            statistic), `bootstrap`, `exact` or `rao-scott`.
        spread: The largest standard deviation of the noise of a count.
        cramers_v: The strength of association in a test of independence; None where it is undefined.
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
    fitted: Floats | None = field(default=None, compare=False, repr=False)

    @property
    def why(self) -> str:
        """Why the naive test differs, in a sentence or two."""
        if self.model == SURVEY_MODEL:
            return message(
                "The naive test takes the released numbers for exact counts of people who were drawn one by one with "
                "equal chances. The corrected test allows for the noise, the public weights and the clusters of the "
                "survey, by published constants."
            )
        if self.spread == 0:
            return message(
                "The counts carry no noise: both tests are the same up to how the p-value is found."
            )
        cause = message(
            "The naive test takes the released counts for exact. Their noise (standard deviation up to "
            "{spread:.1f}) then looks like a departure from the hypothesis, the more so the smaller the "
            "counts; the noise-aware test knows how large it is.",
            spread=self.spread,
        )
        verdicts = {
            (False, True): message(
                "Here the naive test would reject at 5 %, and the noise alone can explain that."
            ),
            (True, False): message(
                "Here the noise had hidden a departure that the noise-aware test rejects at 5 %."
            ),
            (True, True): message("Here both reject at 5 %."),
            (False, False): message("Here neither rejects at 5 %."),
        }
        return join_sentences([cause, verdicts[self.p_value <= LEVEL, self.naive.p_value <= LEVEL]])

    def document(self) -> dict[str, Any]:
        return {
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "df": self.df,
            "p_value": self.p_value,
            "naive": asdict(self.naive),
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
    """The result in a JSON document, without the fitted means."""
    given = document["cramers_v"]
    strength = None if given is None else CramersV(given["corrected"], given["naive"], given["noise_part"])
    plain = ("hypothesis", "statistic", "df", "p_value", "model", "method", "converged", "spread")
    return LikelihoodRatio(
        naive=NaiveTest(**document["naive"]),
        notes=tuple(document["notes"]),
        cramers_v=strength,
        **{name: document[name] for name in plain},
    )


def chi_square(statistic: ArrayLike, df: ArrayLike) -> Floats:
    """The upper tail of the chi-square distribution; 1 without degrees of freedom.

    >>> round(float(chi_square(3.841, 1)), 3)
    0.05
    """
    freedom = np.asarray(df)
    tail = chdtrc(np.maximum(freedom, 1), np.maximum(np.asarray(statistic), 0))
    return np.asarray(np.where(freedom > 0, tail, 1.0), dtype=np.float64)


def spread_of(noise: CellDistribution | NoiseByCell) -> float:
    """The largest standard deviation of the noise of any count, or of any cell."""
    return noise.spread if isinstance(noise, NoiseByCell) else sqrt(noise.variance)


def p_text(p_value: float) -> str:
    """A p-value as text.

    >>> p_text(0.00001), p_text(0.0432)
    ('< 0.0001', '0.0432')
    """
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


Totals = int | NDArray[np.int64]

#: Numbers held at a time.
_ROOM = 4_000_000
#: The typical number of relevant counts under wide noise; and the limit with a public total, for each pair of cells.
_WINDOW, _MOST_GIVEN = 256, 2**23


@dataclass(frozen=True, slots=True)
class LikelihoodRatios:
    """The statistics of a batch of tables.

    Args:
        means: The fitted means under the hypothesis.
        present: The cells that are not impossible and do not vanish.
    """

    statistic: Floats
    df: NDArray[np.int64]
    converged: NDArray[np.bool_]
    means: Floats
    present: NDArray[np.bool_]


def likelihood_ratios(
    tables: NDArray[np.int64],
    noise: CellDistribution | NoiseByCell,
    model: HierarchicalModel,
    total: Totals | None = None,
) -> LikelihoodRatios:
    """The noise-aware statistics of a batch of released tables, tables along the first axis.

    With the public true total of each table the likelihood is multinomial.
    """
    looked_at = by_cell(noise, model.shape)
    step = max(1, _ROOM // (model.offset.size * counts_behind(looked_at, given=total is not None)))
    parts = []
    for at in range(0, len(tables), step):
        totals = None if total is None else np.broadcast_to(total, len(tables))[at : at + step]
        parts.append(_likelihood_ratios(_likelihood(tables[at : at + step], looked_at, model, totals), model))
    columns = zip(*((p.statistic, p.df, p.converged, p.means, p.present) for p in parts), strict=True)
    return LikelihoodRatios(*(np.concatenate(column) for column in columns))


def counts_behind(noise: NoiseTable | NoiseByCell, *, given: bool = False) -> int:
    """The number of true counts that are evaluated for a released one."""
    if isinstance(noise, NoiseByCell):
        return noise.width if given else min(noise.width, _WINDOW)
    return channel_of(noise).distributions.shape[1]


def _likelihood(
    tables: NDArray[np.int64],
    noise: NoiseTable | NoiseByCell,
    model: HierarchicalModel,
    totals: NDArray[np.int64] | None,
) -> PoissonLikelihood | WidePoisson | MultinomialLikelihood:
    """The likelihood of a batch of tables; impossible cells are known to be empty."""
    if isinstance(noise, NoiseByCell):
        cells, distributions = np.where(model.possible, tables, 0), noise.without(~model.possible)
        if totals is None:
            return WidePoisson.of(cells, distributions)
        if model.offset.size**2 * distributions.width > _MOST_GIVEN:
            raise BadRequest(
                message(
                    "The multinomial model of {cells:,} cells with noise that spans {width:,} is too large.",
                    cells=model.offset.size,
                    width=distributions.width,
                ),
                message("Use the Poisson model: with this much noise a known total changes little."),
            )
        return MultinomialLikelihood.of(distributions.evidence(cells), totals)
    any_value = noise.rows[0].values[0]  # for impossible cells, whose value does not matter
    evidence = channel_of(noise).evidence(np.where(model.possible, tables, any_value))
    evidence = with_sure_zeros(evidence, np.broadcast_to(~model.possible, evidence.released.shape))
    return PoissonLikelihood.of(evidence) if totals is None else MultinomialLikelihood.of(evidence, totals)


def _likelihood_ratios(
    likelihood: PoissonLikelihood | WidePoisson | MultinomialLikelihood, model: HierarchicalModel
) -> LikelihoodRatios:
    fit = maximise(likelihood, model)
    if isinstance(likelihood, MultinomialLikelihood):
        every_axis = tuple(range(len(model.shape)))
        free = maximise(likelihood, HierarchicalModel.of([every_axis], model.possible.astype(np.float64)))
        top, found = free.log_likelihood, free.converged
    else:
        top, found = likelihood.free_maximum()[0], np.ones(len(fit.converged), dtype=np.bool_)
    statistic = np.maximum(2 * (top - fit.log_likelihood), 0.0)
    freedom = freedom_of_tables(fit.present, model)
    return LikelihoodRatios(statistic, freedom, fit.converged & found, fit.means, fit.present)


def freedom_of_tables(present: NDArray[np.bool_], model: HierarchicalModel) -> NDArray[np.int64]:
    """The degrees of freedom of each table, computed once for each pattern of present cells."""
    packed = np.packbits(present.reshape(len(present), -1), axis=1)
    _, first, back = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    found = [model.degrees_of_freedom(present[table]) for table in first]
    return np.array(found, dtype=np.int64)[back.ravel()]


def naive_ratios(tables: NDArray[np.int64], model: HierarchicalModel) -> tuple[Floats, NDArray[np.int64]]:
    """G2 of each table as if its counts were exact (negative ones as zero), and its degrees of freedom.

    A fit that did not reach its margins gives the G2 of the last cycle: its error is of second order, and the naive number
    does not stop a test.
    """
    fit = plain_fit(np.where(model.possible, np.maximum(tables, 0), 0).astype(np.float64), model)
    return fit.g_squared(), freedom_of_tables(fit.present, model)
