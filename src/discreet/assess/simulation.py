"""Simulated releases of a table, and what readers conclude from them, with and without allowing for the noise.

Noise is drawn from the noise table by a seeded generator, never from the real keys, so an assessment reveals nothing about
the noise of a published table. Chunk k of every case has the seed (seed, k): cases are compared on the same draws, and the
result depends neither on the other cases nor on the number of workers. Statistics add up over layers.
Source: Rinott et al. (2018), sections 5.6.2 and 6.1; Yang, Fienberg & Rinaldo (2012), section 4 (total variation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from discreet.assess import risk_utility as losses
from discreet.assess.risk_utility import risk
from discreet.inference.channel import WIDEST, by_cell
from discreet.inference.hypothesis_tests.cramers_v import strength
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    chi_square,
    counts_behind,
    freedom_of_tables,
    likelihood_ratios,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import NullDistribution, null_distribution
from discreet.model.noise_distribution import depends_on_count
from discreet.noise.table import NoiseTable

if TYPE_CHECKING:
    from discreet.assess.subject import Subject


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAIN_EFFECTS = ((0,), (1,))


@dataclass(frozen=True, slots=True, eq=False)
class NaiveAnalysis:
    """The naive analysis of each table of a batch, which takes its counts as exact.

    With f the fit of independence (quasi-independence where cells cannot occur) to the margins of the counts b, layer by
    layer:

        X2 = sum (b - f)^2 / f,   G2 = 2 sum b log(b / f),   V = sqrt(X2 / sum over layers of n (min(r, c) - 1)),
        p-hat = f / n, the maximum likelihood estimate.

    `p_value` is that of X2 by the chi-square; `association` is V, NaN where fewer than two rows or columns have people;
    `fitted` is p-hat of each cell, NaN for an empty table.
    """

    pearson: Floats
    ratio: Floats
    df: NDArray[np.int64]
    p_value: Floats
    association: Floats
    fitted: Floats


def analyse(tables: NDArray[np.int64] | Floats, possible: Flags) -> NaiveAnalysis:
    """Analyse a batch of tables, laid out as tables x layers x rows x columns; empty rows and columns are left out.

    Negative counts are taken as zero; `possible` says which cells of a table can occur.

    >>> found = analyse(np.array([[[[10, 20], [30, 40]]]]), np.ones((1, 2, 2), dtype=bool))
    >>> found.ratio.round(4).tolist(), found.df.tolist()
    ([0.8043], [1])
    """
    counts = np.where(possible, np.maximum(tables, 0), 0).astype(np.float64)
    fitted = np.stack([fit_independence(counts[:, k], possible[k]) for k in range(len(possible))], axis=1)
    cells = (1, 2, 3)
    safe = np.where(fitted > 0, fitted, 1.0)
    pearson = np.where(fitted > 0, (counts - fitted) ** 2 / safe, 0.0).sum(axis=cells)
    ratio = 2 * (xlogy(counts, counts) - xlogy(counts, safe)).sum(axis=cells)
    df = np.sum([degrees_of_freedom(counts[:, k], possible[k]) for k in range(len(possible))], axis=0)
    rows = (counts.sum(axis=3) > 0).sum(axis=2)
    columns = (counts.sum(axis=2) > 0).sum(axis=2)
    most = (counts.sum(axis=(2, 3)) * (np.minimum(rows, columns) - 1).clip(0)).sum(axis=1)
    association = np.sqrt(
        np.minimum(np.where(most > 0, pearson, np.nan) / np.where(most > 0, most, 1.0), 1.0)
    )
    people = counts.sum(axis=cells, keepdims=True)
    estimates = fitted / np.where(people > 0, people, np.nan)
    return NaiveAnalysis(pearson, np.maximum(ratio, 0.0), df, chi_square(pearson, df), association, estimates)


def fit_independence(counts: Floats, possible: Flags) -> Floats:
    """The fit of (quasi-)independence to each two-way table of a batch; tables with one row or column fit themselves."""
    if min(possible.shape) == 1:
        return counts
    if not possible.all():
        return HierarchicalModel.of(MAIN_EFFECTS, possible.astype(np.float64)).fit(counts)
    rows, columns = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    people = counts.sum(axis=(1, 2), keepdims=True)
    return np.asarray(rows * columns / np.where(people > 0, people, 1.0))


def degrees_of_freedom(counts: Floats, possible: Flags) -> NDArray[np.int64]:
    """Degrees of freedom of each two-way table of a batch, without empty rows and columns."""
    rows, columns = counts.sum(axis=2) > 0, counts.sum(axis=1) > 0
    if possible.all():
        return np.asarray((rows.sum(axis=1) - 1).clip(0) * (columns.sum(axis=1) - 1).clip(0))
    model = HierarchicalModel.of(MAIN_EFFECTS, possible.astype(np.float64))
    return freedom_of_tables(possible & rows[:, :, None] & columns[:, None, :], model)


def total_variation(first: Floats, second: Floats) -> Floats:
    """1/2 sum |p - q| between one distribution and each of a batch; Yang et al. print twice this.

    >>> total_variation(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.5, 0.0]
    """
    distance = np.abs(second - first).reshape(len(second), -1)
    return np.asarray(0.5 * distance.sum(axis=1))


#: Maximum of cells times width of the noise times tested releases: some seconds.
PATIENCE = 600_000
MOST_TESTED = 50


def releases_to_test(subject: Subject, noise: NoiseTable, reps: int) -> int:
    """How many releases get the noise-aware test: all, some or none, depending on sizes only."""
    width = max(r.values[-1] for r in noise.rows) - min(r.values[0] for r in noise.rows) + 1
    if not subject.two_way or (depends_on_count(noise) and width > WIDEST):
        return 0
    behind = counts_behind(by_cell(noise, subject.counts.shape[1:]))
    return min(reps, MOST_TESTED, PATIENCE // (subject.counts.size * behind))


def _aware_tests(
    released: NDArray[np.int64], possible: NDArray[np.bool_], noise: NoiseTable
) -> tuple[Floats, Floats]:
    looked_at = by_cell(noise, possible.shape[1:])
    statistic, distributions = np.zeros(len(released)), []
    for layer, cells in enumerate(possible):
        if cells.any():
            model = HierarchicalModel.of(MAIN_EFFECTS, cells.astype(np.float64))
            found = likelihood_ratios(released[:, layer], looked_at, model)
            statistic = statistic + found.statistic
            distributions.append(null_distribution(found, model, looked_at))
    return statistic, NullDistribution.of_sum(distributions).by_distribution(statistic)


Draws = dict[str, Floats]

CHUNK = 10
#: Numbers held at a time by one worker.
_ROOM = 2_000_000


@dataclass(frozen=True, slots=True)
class Summary:
    """A simulated measure: mean, Monte Carlo error (standard deviation / sqrt(releases)) and quantiles."""

    mean: float
    error: float
    low: float
    median: float
    high: float
    releases: int


def summary(values: Floats) -> Summary | None:
    """Mean, error and the 5, 50 and 95 % points; None where the measure has no values.

    >>> summary(np.array([1.0, 2.0, 3.0]))
    Summary(mean=2.0, error=0.5773502691896258, low=1.1, median=2.0, high=2.9, releases=3)
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    error = float(known.std(ddof=1)) / sqrt(known.size) if known.size > 1 else float("nan")
    low, median, high = (float(q) for q in np.quantile(known, (0.05, 0.5, 0.95)))
    return Summary(float(known.mean()), error, low, median, high, int(known.size))


def simulate(
    subject: Subject,
    tables: Sequence[NoiseTable],
    reps: int,
    seed: int,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Draws]:
    """Every measure of `reps` simulated releases under each noise table.

    `workers` chunks are computed in parallel, on which the result does not depend; `progress` is called with the number of
    chunks done and in total.
    """
    size = max(1, min(CHUNK, _ROOM // subject.counts.size))
    starts = range(0, reps, size)
    tasks = [(table, start) for table in tables for start in starts]
    progress(0, len(tasks))
    parts: list[Draws] = []
    with ThreadPoolExecutor(workers) as pool:
        work = [pool.submit(_chunk, subject, t, s, min(size, reps - s), seed, reps) for t, s in tasks]
        for done, part in enumerate(work, 1):
            parts.append(part.result())
            progress(done, len(tasks))
    each = len(starts)
    chunks = [parts[k * each : (k + 1) * each] for k in range(len(tables))]
    return [{name: np.concatenate([part[name] for part in own]) for name in own[0]} for own in chunks]


def releases(subject: Subject, noise: NoiseTable, reps: int, seed: int, chunk: int = 0) -> NDArray[np.int64]:
    """Simulated releases before clipping, as releases x layers x rows x columns; impossible cells hold 0."""
    generator = np.random.default_rng(np.random.SeedSequence((seed, chunk)))
    counts = np.broadcast_to(subject.counts, (reps, *subject.counts.shape))
    keys = generator.integers(0, noise.modulus, counts.shape, dtype=np.uint64)
    return np.where(subject.possible, counts + noise.noise(counts, keys), 0)


def _chunk(subject: Subject, noise: NoiseTable, start: int, reps: int, seed: int, of: int) -> Draws:
    released = releases(subject, noise, reps, seed, start)
    raw = released[:, subject.possible]
    shown = np.maximum(raw, 0) if subject.clip else raw
    true = subject.flat
    draws = {
        "l1": losses.l1(true, shown),
        "l2": losses.l2(true, shown),
        "l3": losses.l3(true, shown),
        "hellinger": losses.hellinger(true, shown),
        "rm": risk(true, shown),
        "perturbed": (shown != true).mean(axis=1),
        "false_zeros": ((shown <= 0) & (true > 0)).sum(axis=1).astype(np.float64),
    }
    tested = max(0, min(reps, releases_to_test(subject, noise, of) - start))
    exact, found = analyse(subject.counts[None], subject.possible), analyse(released, subject.possible)
    draws["total_variation"] = total_variation(exact.fitted[0], found.fitted)
    if not subject.two_way:
        return draws
    draws |= {"chi_square": found.pearson, "p_value": found.p_value}
    draws |= {"likelihood_ratio": found.ratio, "cramers_v": found.association}
    aware = np.full((3, len(released)), np.nan)
    if tested:
        aware[:2, :tested] = _aware_tests(released[:tested], subject.possible, noise)
        if len(subject.possible) == 1 and subject.possible.all():  # else V cannot be corrected for the noise
            found_v = (strength(table[0], noise) for table in released[:tested])
            aware[2, :tested] = [np.nan if each is None else each.estimate for each in found_v]
    return draws | dict(zip(("aware_ratio", "aware_p_value", "corrected_v"), aware, strict=True))
