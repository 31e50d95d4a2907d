"""The parametric bootstrap: the p-value of a test when counts are too small for its chi-square law.

Tables are drawn from the fitted hypothesis, given noise from the noise table with fresh random keys, and tested in the
same way. What is compared is the p-value by moments (`null_law`), not the statistic: fitted means are more uneven than
true ones, tables drawn from them have smaller statistics, and a bootstrap of the statistic itself rejects too often.

    p = (1 + number of drawn p-values that are at most the observed one) / (1 + number of draws).

Draws come in rounds. Where a round leaves so many small p-values that p is above `SURE` whatever the others bring, there
are no others: no decision at `SURE` or below changes. The draws have a fixed seed: the same release gives the same
p-value to everybody.

Source: Davison & Hinkley (1997), chapter 4; Beran (1988) for the bootstrap of a p-value; Besag & Clifford (1991) for
draws that end early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.noise_by_cell import NoiseByCell
from discreet.inference.null_law import null_law
from discreet.inference.ratios import ratios

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.hierarchical_model import HierarchicalModel
    from discreet.noise.table import NoiseTable

    Floats = NDArray[np.float64]

SEED = 2018
REPLICATES = 499
#: Draws after each round but the last, and the level above which a p-value need not be known better.
_ROUNDS, SURE = (49, 99, 199), 0.05
#: p-values that are equal up to rounding count as equal.
_TIE = 1e-9
#: Drawn cells held at a time.
_ROOM = 2_000_000


def with_noise(
    counts: NDArray[np.int64], noise: NoiseTable | NoiseByCell, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Counts with noise of fresh random keys; where laws differ by cell, one table or a batch of them.

    >>> from discreet.noise import laplace
    >>> with_noise(np.array([5]), laplace(epsilon=50.0, m=1), np.random.default_rng(0)).tolist()
    [5]
    """
    if isinstance(noise, NoiseByCell):
        return counts + noise.drawn(counts.size // noise.kind.size, rng).reshape(counts.shape)
    keys = rng.integers(0, noise.modulus, counts.shape, dtype=np.uint64)
    return counts + noise.noise(counts, keys)


def simulate(
    means: NDArray[np.float64],
    noise: NoiseTable | NoiseByCell,
    draws: int,
    seed: int,
    total: int | None = None,
) -> NDArray[np.int64]:
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
    totals: NDArray[np.int64] | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Floats:
    """The p-values of a batch of tables; each is the one that its table has alone.

    Args:
        observed: Their p-values by moments.
        means: Their fitted means.
        model: The hypothesis.
        noise: The noise as a test looks at it (`by_cell`).
        totals: Their public totals, if any.
        replicates: Draws of all rounds together.
        seed: Seed of the first round; each other has the next one.
    """
    small, draws = np.zeros(len(observed), dtype=np.int64), np.zeros(len(observed), dtype=np.int64)
    undecided, before = np.arange(len(observed)), 0
    for place, after in enumerate([*(each for each in _ROUNDS if each < replicates), replicates]):
        given = None if totals is None else totals[undecided]
        small[undecided] += _small(
            observed[undecided], means[undecided], model, noise, given, after - before, seed + place
        )
        draws[undecided] = before = after
        undecided = undecided[1 + small[undecided] <= SURE * (1 + replicates)]
        if not len(undecided):
            break
    return np.asarray((1 + small) / (1 + draws))


def _small(
    observed: Floats,
    means: Floats,
    model: HierarchicalModel,
    noise: NoiseTable | NoiseByCell,
    totals: NDArray[np.int64] | None,
    draws: int,
    seed: int,
) -> NDArray[np.int64]:
    """How many of the p-values of drawn tables are at most the observed one, for each table of a batch."""
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
        drawn = ratios(tables, noise, model, None if given is None else np.repeat(given, draws))
        p = null_law(drawn, model, noise).p_values(drawn.statistic).reshape(-1, draws)
        found[here] = (p <= observed[here, None] + _TIE).sum(axis=1)
    return found
