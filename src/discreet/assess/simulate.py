"""Simulated releases: what varies from one secret to another, with its Monte Carlo error.

Noise is drawn from the noise table with a seeded generator. The real keys and the secret are never touched,
so no number in an assessment tells anything about the noise of a published table. Releases are drawn in
chunks, chunk k from the seed (seed, k) for every case: cases are compared on the same draws, and the
outcome does not depend on which cases are assessed together, nor on how many workers there are.

    Monte Carlo error of a mean = standard deviation / sqrt(releases).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.assess import losses
from discreet.assess.entropy_risk import risk
from discreet.assess.noise_aware import aware_tests, corrected_association, releases_to_test
from discreet.assess.two_way import analyse, total_variation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.assess.subject import Subject
    from discreet.noise.table import NoiseTable

    Floats = NDArray[np.float64]
    Draws = dict[str, Floats]

CHUNK = 10
#: Numbers held at a time by one worker.
_ROOM = 2_000_000


@dataclass(frozen=True, slots=True)
class Summary:
    """A simulated measure: its mean with the Monte Carlo error, and where its values lie."""

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

    Args:
        subject: What is assessed.
        tables: The noise tables.
        reps: How many releases of each.
        seed: Of the generator.
        workers: How many chunks are worked on at a time; the outcome does not depend on it.
        progress: Told how many chunks are done, of how many.
    """
    size = max(1, min(CHUNK, _ROOM // subject.counts.size))
    starts = range(0, reps, size)
    tasks = [(table, start) for table in tables for start in starts]
    done = 0
    progress(0, len(tasks))
    parts: list[Draws] = []
    with ThreadPoolExecutor(workers) as pool:
        work = (pool.submit(_chunk, subject, t, s, min(size, reps - s), seed, reps) for t, s in tasks)
        for part in list(work):
            parts.append(part.result())
            done += 1
            progress(done, len(tasks))
    each = len(starts)
    return [_joined(parts[k * each : (k + 1) * each]) for k in range(len(tables))]


def _joined(parts: Sequence[Draws]) -> Draws:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


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
    return draws | _naive(subject, released) | _aware(subject, released, noise, tested)


def _naive(subject: Subject, released: NDArray[np.int64]) -> Draws:
    exact, found = analyse(subject.counts[None], subject.possible), analyse(released, subject.possible)
    draws = {"total_variation": total_variation(exact.fitted[0], found.fitted)}
    if subject.two_way:
        draws |= {
            "chi_square": found.pearson,
            "p_value": found.p_value,
            "likelihood_ratio": found.ratio,
            "cramers_v": found.association,
        }
    return draws


def _aware(subject: Subject, released: NDArray[np.int64], noise: NoiseTable, tested: int) -> Draws:
    if not subject.two_way:
        return {}
    blank = np.full(len(released), np.nan)
    draws = {name: blank.copy() for name in ("aware_ratio", "aware_p_value", "corrected_v")}
    if tested:
        statistic, p_value = aware_tests(released[:tested], subject.possible, noise)
        draws["aware_ratio"][:tested], draws["aware_p_value"][:tested] = statistic, p_value
        draws["corrected_v"][:tested] = corrected_association(released[:tested], subject.possible, noise)
    return draws
