"""What a released error tells of the count of a cell whose people all have one known weight: the rule, run backwards.

    P(error, noise share | n, ñ) = Σ over both rungs of P(rung | n, ñ) [this rung gives this error and this share]

The rule is public, but for the number by which a rung is chosen. So this attacker needs no learning, and misses nothing
that the error of such a cell tells.

Source: docs/methods/survey-weights.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.trials.surveys import AVERAGE, STRATA
from discreet.survey.design import SurveyDesign
from discreet.survey.design_effect import SMALL, design_effects, effect_rungs, least_effects
from discreet.survey.sampling_error import errors_told
from discreet.survey.variance import stratum_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.attacks.weights import Cell, Outside, Seen
    from discreet.model.survey import Survey
    from discreet.noise.table import NoiseTable

#: Numbers that stand for the secret one.
_CHANCES = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True, eq=False)
class ErrorRule:
    """The rule of one form and design, as anybody can run it.

    Args:
        form: The form, with its design.
        survey: What is declared.
        outside: The weights of the classes and the samples of the states, which are the strata.
        decimals: Of weights.
        law: Of the noise.
    """

    form: str
    survey: Survey
    outside: Outside
    decimals: int
    law: NoiseTable

    def __call__(self, cell: Cell, seen: Seen, counts: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """How believable each count is; None for cells of several weights, and designs with unknown clusters."""
        weight = self.outside.weights.get(self.outside.class_of(cell) or ())
        if weight is None or seen.count is None or seen.weighted is None or seen.count < SMALL:
            return None
        if self.form not in {AVERAGE, STRATA, f"{AVERAGE}+no-design"}:
            return None
        return np.array([self._chance(int(n), cell, weight, seen) for n in counts])

    def _chance(self, count: int, cell: Cell, weight: float, seen: Seen) -> float:
        """The chance of the printed error and share, for a count."""
        state = dict(cell)["state"]
        public = self._public_weight(state)
        noisy, people = np.array([seen.count or 0]), np.array([count])
        own = design_effects(
            self._variance(count, state, weight), people, people * weight, people * public, noisy
        )
        rungs = effect_rungs(own, least_effects(noisy, self._design), _CHANCES)
        each, noise = np.ones_like(_CHANCES, dtype=np.int64), self._noise_variance * public**2
        told = errors_told(noisy * each, (seen.weighted or 0) * each, rungs, np.full(each.size, noise))
        return float(((told.errors == seen.error) & (told.noise_shares == seen.noise_share)).mean())

    def _variance(self, count: int, state: str, weight: float) -> NDArray[np.float64]:
        drawn = self.outside.counts[frozenset({("state", state)})]
        fraction = 0.0
        if self.form.endswith("+no-design"):
            drawn = self.survey.sample_size
        else:
            fraction = float(self.survey.design.fraction_of(state))
        return stratum_variance(np.array([count * weight]), np.array([count * weight**2]), drawn, fraction)

    def _public_weight(self, state: str) -> float:
        if self.form == STRATA:
            return float(dict(self.survey.stratum_weights)[state])
        return float(self.survey.population_size / self.survey.sample_size)

    @property
    def _noise_variance(self) -> float:
        """Of counts that are not small."""
        law = self.law.row(10**6).probabilities()
        return float(sum(noise**2 * chance for noise, chance in law.items()))

    @property
    def _design(self) -> SurveyDesign:
        scale = 10**self.decimals
        return SurveyDesign(
            self.survey.sample_size,
            round(self.survey.population_size * scale),
            self.decimals,
            round(self.survey.largest_weight * scale),
            self.survey.relative_variance,
        )
