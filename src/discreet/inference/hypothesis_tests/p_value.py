"""The p-value of a noise-aware test, by the first of three methods that holds.

    chi-square   if the statistic has nearly the mean and variance of the chi-square;
    moments      the scaled chi-square with its mean and variance, where that is reliable;
    bootstrap    otherwise: tables are drawn from the fitted hypothesis (parametric bootstrap) and tested in the same way,
                 unless that would take long: then the moments, cautiously.

The bootstrap compares p-values by moments, not statistics. Fitted means are more uneven than true ones, tables drawn from
them have smaller statistics, and a bootstrap of the statistic itself rejects too often.

    p = (1 + number of drawn p-values that are at most the observed one) / (1 + number of draws)

Source: Davison & Hinkley (1997), chapter 4; Beran (1988) for the bootstrap of a p-value; Besag & Clifford (1991) for
sequential stopping.
"""

import numpy as np

from discreet.inference.channel import Counts, Floats, NoiseByCell
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    LikelihoodRatios,
    chi_square,
    counts_behind,
    likelihood_ratios,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import NullDistribution, null_distribution
from discreet.model.messages.text import join_sentences, message
from discreet.noise.table import NoiseTable

SEED = 2018
REPLICATES = 499
#: Total draws after each round except the last, and the level above which a p-value is not refined.
_ROUNDS, SURE = (49, 99, 199), 0.05
#: Rounding error of equal p-values.
_TIE = 1e-9
#: Drawn cells held at a time.
_ROOM = 2_000_000


def with_noise(counts: Counts, noise: NoiseTable | NoiseByCell, rng: np.random.Generator) -> Counts:
    """Counts with noise from fresh random keys; with noise by cell, one table or a batch of tables.

    >>> from discreet.noise import laplace
    >>> with_noise(np.array([5]), laplace(epsilon=50.0, m=1), np.random.default_rng(0)).tolist()
    [5]
    """
    if isinstance(noise, NoiseByCell):
        return counts + noise.draw(counts.size // noise.kind.size, rng).reshape(counts.shape)
    keys = rng.integers(0, noise.modulus, counts.shape, dtype=np.uint64)
    return counts + noise.noise(counts, keys)


def simulate(
    means: Floats,
    noise: NoiseTable | NoiseByCell,
    draws: int,
    seed: int,
    total: int | None = None,
) -> Counts:
    """Released tables from fitted means: Poisson, or multinomial where the total is public."""
    rng = np.random.default_rng(seed)
    if total is None:
        counts = rng.poisson(means, (draws, *means.shape))
    else:
        shares = means.ravel() / means.sum()
        counts = rng.multinomial(total, shares, draws).reshape(draws, *means.shape)
    return with_noise(counts.astype(np.int64), noise, rng)


def bootstrap_p_values(
    observed: Floats,
    means: Floats,
    model: HierarchicalModel,
    noise: NoiseTable | NoiseByCell,
    *,
    totals: Counts | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Floats:
    """The p-values of a batch of tables; each is the one that its table has alone.

    Draws come in rounds and stop when p is above `SURE` whatever the next rounds bring, so no decision at `SURE` or below
    changes. The seed is fixed: a release always gets the same p-value.
    """
    small, draws = np.zeros(len(observed), dtype=np.int64), np.zeros(len(observed), dtype=np.int64)
    undecided, before = np.arange(len(observed)), 0
    for place, after in enumerate([*(each for each in _ROUNDS if each < replicates), replicates]):
        given = None if totals is None else totals[undecided]
        small[undecided] += _count_small_p_values(
            observed[undecided], means[undecided], model, noise, given, after - before, seed + place
        )
        draws[undecided] = before = after
        undecided = undecided[1 + small[undecided] <= SURE * (1 + replicates)]
        if not len(undecided):
            break
    return np.asarray((1 + small) / (1 + draws))


def _count_small_p_values(
    observed: Floats,
    means: Floats,
    model: HierarchicalModel,
    noise: NoiseTable | NoiseByCell,
    totals: Counts | None,
    draws: int,
    seed: int,
) -> Counts:
    """The number of drawn p-values that are at most the observed one, for each table of a batch."""
    step = max(1, _ROOM // (draws * model.offset.size))
    found = np.zeros(len(observed), dtype=np.int64)
    for at in range(0, len(observed), step):
        here = slice(at, at + step)
        given = None if totals is None else totals[here]
        tables = np.concatenate(
            [
                simulate(mean, noise, draws, seed, None if given is None else int(given[table]))
                for table, mean in enumerate(means[here])
            ]
        )
        drawn = likelihood_ratios(tables, noise, model, None if given is None else np.repeat(given, draws))
        p = null_distribution(drawn, model, noise).p_values(drawn.statistic).reshape(-1, draws)
        found[here] = (p <= observed[here, None] + _TIE).sum(axis=1)
    return found


METHODS = ("auto", "chi-square", "bootstrap", "moments")
#: Draws of a slow bootstrap, and the maximum work of an automatic one.
_FEW_REPLICATES = 99
_PATIENCE = {"poisson": 3_000_000, "multinomial": 100_000}


def choose_method(
    distribution: NullDistribution, noise: NoiseTable | NoiseByCell, cells: int, replicates: int, model: str
) -> tuple[str, int]:
    """The method for one table (a batch of one), and the number of bootstrap draws.

    A slow bootstrap draws fewer tables, of which 5 % and 1 % are whole numbers.
    """
    if distribution.chi_square_holds[0]:
        return "chi-square", replicates
    if distribution.reliable[0]:
        return "moments", replicates
    # Wide noise is evaluated in windows, but the wider it is the more steps a fit takes.
    work = cells * (noise.width if isinstance(noise, NoiseByCell) else counts_behind(noise))
    for draws in (replicates, min(replicates, _FEW_REPLICATES)):
        if work * draws <= _PATIENCE[model]:
            return "bootstrap", draws
    return "moments", replicates


def p_value(
    method: str,
    found: LikelihoodRatios,
    distribution: NullDistribution,
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
        return float(distribution.p_values(found.statistic, cautious=True)[0])
    totals = None if total is None else np.array([total])
    observed = distribution.p_values(found.statistic)
    return float(
        bootstrap_p_values(
            observed, found.means, hypothesis, noise, totals=totals, replicates=replicates, seed=seed
        )[0]
    )


def reason(method: str, distribution: NullDistribution, replicates: int) -> str:
    """Why this method was chosen, in a sentence or two."""
    mean, variance = float(distribution.mean[0]), float(distribution.variance[0])
    freedom = int(distribution.df[0])
    if distribution.chi_square_holds[0]:
        said = message(
            "The statistic has nearly the mean and the variance of the chi-square law, {freedom} and {twice}.",
            freedom=freedom,
            twice=2 * freedom,
        )
    else:
        said = message(
            "Small counts or the noise change the mean and variance of the statistic: {mean:.1f} and "
            "{variance:.1f}, not {freedom} and {twice}.",
            mean=mean,
            variance=variance,
            freedom=freedom,
            twice=2 * freedom,
        )
    return join_sentences([said, _method_sentence(method, distribution, replicates)])


def _method_sentence(method: str, distribution: NullDistribution, replicates: int) -> str:
    if method == "bootstrap":
        return message(
            "The p-value comes from at most {replicates} tables drawn from the hypothesis.",
            replicates=replicates,
        )
    if method == "chi-square":
        wrong = message("The chi-square law does not hold: choose another method.")
        return "" if distribution.chi_square_holds[0] else wrong
    if distribution.reliable[0]:
        return message("The p-value comes from a multiple of a chi-square law with this mean and variance.")
    return message(
        "The p-value comes from a multiple of a chi-square law with these; so few people are expected that it errs on "
        'the safe side. The method "bootstrap" is better, and takes its time.'
    )
