"""Where the p-value of a test comes from, and why: a law where it holds, else tables drawn from the hypothesis.

chi-square   where the statistic's own mean and variance are those of the chi-square law;
moments      a multiple of a chi-square law with that mean and variance, where it is reliable;
bootstrap    else: tables are drawn from the fitted hypothesis, and the p-value by moments of the table is
             compared with theirs. Where this would take long, the moments are taken cautiously.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.bootstrap import bootstrap_p_values
from discreet.inference.likelihood_ratio import chi_square
from discreet.inference.noise_by_cell import NoiseByCell
from discreet.inference.ratios import counts_behind
from discreet.model.told import joined, told

if TYPE_CHECKING:
    from discreet.inference.hierarchical_model import HierarchicalModel
    from discreet.inference.null_law import NullLaw
    from discreet.inference.ratios import Ratios
    from discreet.noise.table import NoiseTable

METHODS = ("auto", "chi-square", "bootstrap", "moments")
#: Draws of a bootstrap that would take long, and numbers that one may look at without being asked for.
_FEW_REPLICATES = 99
_PATIENCE = {"poisson": 3_000_000, "multinomial": 100_000}


def chosen_method(
    law: NullLaw, noise: NoiseTable | NoiseByCell, cells: int, replicates: int, model: str
) -> tuple[str, int]:
    """The method of one table (the law of a batch of one), and how many tables a bootstrap draws.

    A bootstrap that would take long draws fewer tables, of which 5 % and 1 % are whole numbers.
    """
    if law.chi_square_holds[0]:
        return "chi-square", replicates
    if law.reliable[0]:
        return "moments", replicates
    # Wide laws are looked at through windows, and the wider they are the more steps a fit takes.
    work = cells * (noise.width if isinstance(noise, NoiseByCell) else counts_behind(noise))
    for draws in (replicates, min(replicates, _FEW_REPLICATES)):
        if work * draws <= _PATIENCE[model]:
            return "bootstrap", draws
    return "moments", replicates


def p_value(
    method: str,
    found: Ratios,
    law: NullLaw,
    hypothesis: HierarchicalModel,
    noise: NoiseTable | NoiseByCell,
    *,
    total: int | None,
    replicates: int,
    seed: int,
) -> float:
    """The p-value of one table by one of the three methods."""
    if method == "chi-square":
        return float(chi_square(found.statistic, found.df)[0])
    if method == "moments":
        return float(law.cautious_p_values(found.statistic)[0])
    totals = None if total is None else np.array([total])
    observed = law.p_values(found.statistic)
    return float(
        bootstrap_p_values(
            observed, found.means, hypothesis, noise, totals=totals, replicates=replicates, seed=seed
        )[0]
    )


def reason(method: str, law: NullLaw, replicates: int) -> str:
    """Why the p-value comes from there, in a sentence or two."""
    mean, variance, freedom = float(law.mean[0]), float(law.variance[0]), int(law.df[0])
    if law.chi_square_holds[0]:
        said = told(
            "The statistic has nearly the mean and the variance of the chi-square law, {freedom} and {twice}.",
            freedom=freedom,
            twice=2 * freedom,
        )
    else:
        said = told(
            "Small counts or the noise give the statistic a mean and a variance of its own: "
            "{mean:.1f} and {variance:.1f}, not {freedom} and {twice}.",
            mean=mean,
            variance=variance,
            freedom=freedom,
            twice=2 * freedom,
        )
    return joined([said, _what_is_done(method, law, replicates)])


def _what_is_done(method: str, law: NullLaw, replicates: int) -> str:
    if method == "bootstrap":
        return told(
            "The p-value comes from at most {replicates} tables drawn from the hypothesis.",
            replicates=replicates,
        )
    if method == "chi-square":
        wrong = told("The chi-square law does not hold: choose another method.")
        return "" if law.chi_square_holds[0] else wrong
    if law.reliable[0]:
        return told("The p-value comes from a multiple of a chi-square law with this mean and variance.")
    return told(
        "The p-value comes from a multiple of a chi-square law with these; so few people are expected that it errs on "
        'the safe side. The method "bootstrap" is better, and takes its time.'
    )
