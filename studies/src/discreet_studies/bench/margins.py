"""All 21 two-way margins of a million records: error and time of every method, beside OpenDP if installed.

The records have seven variables of 11, 2, 21, 5, 12, 9 and 5 categories. Our time is that of the plan and of
one release from the margins' exact counts, the best of three, with no noise table built before; counting the
records is timed apart. OpenDP counts the records itself, one margin after the other, with the budget split
equally and, at (1, 1e-6), with our exact Gaussian accounting; its time includes counting. Errors are mean
absolute errors over all cells, of so many releases as `--repeats` says.
"""

import math
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.margins.integer_noise import SeededNoise, gaussian_tables, laplace_tables
from discreet.margins.margin_set import Axes, MarginSet, overall_error
from discreet.margins.study import plan_of
from discreet.privacy.accounting import rho_for
from discreet.privacy.composition import gaussian_mu
from discreet_studies.bench.part import Part, Result, Wish, figure
from discreet_studies.bench.peers import load_opendp

SHAPE = (11, 2, 21, 5, 12, 9, 5)
RECORDS = 1_000_000
WANTED = MarginSet(tuple("ABCDEFG"), SHAPE, tuple(combinations(range(7), 2)))
CELLS = sum(WANTED.cells(margin) for margin in WANTED.margins)
EPSILON, DELTA = 1.0, 1e-6
REPEATS = 20
METHODS = ("optimum", "independent-consistent", "independent")

Counts = dict[Axes, "NDArray[np.int64]"]


def records(seed: int = 0) -> list[NDArray[np.int64]]:
    """A million records with uneven categories; no variable depends on another."""
    random = np.random.default_rng(seed)
    return [random.choice(k, RECORDS, p=random.dirichlet(np.full(k, 2.0))) for k in SHAPE]


def count(codes: list[NDArray[np.int64]]) -> Counts:
    """The exact two-way margins."""
    return {
        (i, j): np.bincount(codes[i] * SHAPE[j] + codes[j], minlength=SHAPE[i] * SHAPE[j]).reshape(
            SHAPE[i], SHAPE[j]
        )
        for i, j in WANTED.margins
    }


def mean_error(released: dict[Axes, Any], exact: Counts) -> float:
    """Mean absolute error over all cells of all margins."""
    return sum(float(np.abs(released[m] - exact[m]).sum()) for m in WANTED.margins) / CELLS


def ours(method: str, delta: float, exact: Counts, reps: int) -> dict[str, Any]:
    """Plan and release once with cold noise tables, then repeat for the error."""
    best = math.inf
    for seed in range(3):
        laplace_tables.cache_clear()
        gaussian_tables.cache_clear()
        start = time.perf_counter()
        plan = plan_of(method, WANTED, EPSILON, delta)
        plan.release(exact, SeededNoise(seed))
        best = min(best, time.perf_counter() - start)
    source = SeededNoise(1)
    errors = [mean_error(plan.release(exact, source), exact) for _ in range(reps)]  # type: ignore[arg-type]
    return {
        "who": f"discreet {method}",
        "delta": delta,
        "seconds": round(best, 3),
        "expected_error": round(overall_error(plan), 3),
        "measured_error": round(float(np.mean(errors)), 3),
    }


def opendp(
    delta: float, codes: list[NDArray[np.int64]], exact: Counts, *, context: bool = False
) -> dict[str, Any]:
    """OpenDP's count-by-categories and noise for each margin, the budget split equally."""
    flat = [(codes[i] * SHAPE[j] + codes[j], SHAPE[i] * SHAPE[j]) for i, j in WANTED.margins]
    values, seconds = opendp_counts(flat, delta, context=context)
    released: dict[Axes, Any] = {
        m: v.reshape(exact[m].shape) for m, v in zip(WANTED.margins, values, strict=True)
    }
    return {
        "who": f"OpenDP{' Context' if context else ''}, equal split",
        "delta": delta,
        "seconds": round(seconds, 1),
        "expected_error": None,
        "measured_error": round(mean_error(released, exact), 3),
    }


def opendp_counts(
    flat: Sequence[tuple[NDArray[np.int64], int]],
    delta: float,
    *,
    epsilon: float = EPSILON,
    context: bool = False,
) -> tuple[list[NDArray[np.int64]], float]:
    """Noisy counts of several tables by OpenDP, and the seconds that took.

    Args:
        flat: Of each table the cell of every record, and how many cells there are.
        delta: Of all tables together; zero for Laplace noise.
        epsilon: Of all tables together.
        context: By the Context API, which spends rho (zCDP), not the exact distribution of the noise. Each
            table has a context of its own: the one over Polars frames takes one version of Polars only.
    """
    dp = load_opendp()
    dp.enable_features("contrib")
    domain, released = dp.vector_domain(dp.atom_domain(T=int)), []
    norm = "L2Distance<f64>" if delta else "L1Distance<i32>"
    start = time.perf_counter()
    for codes, size in flat:
        cells, values = list(range(size)), codes.tolist()
        if context:
            loss = dp.loss_of(rho=rho_for(epsilon, delta) / len(flat))
            query = dp.Context.compositor(
                values, dp.unit_of(contributions=1), loss, split_evenly_over=1, domain=domain
            )
            counted = query.query().count_by_categories(cells, null_category=False, MO=norm, TOA=int)
            released.append(np.array(counted.gaussian().release()))
        else:
            counted = dp.t.then_count_by_categories(cells, null_category=False, MO=norm, TOA=int)
            noise = (
                dp.m.then_gaussian(scale=math.sqrt(len(flat)) / gaussian_mu(epsilon, delta))
                if delta
                else dp.m.then_laplace(scale=len(flat) / epsilon)
            )
            released.append(np.array(((domain, dp.symmetric_distance()) >> counted >> noise)(values)))
    return released, time.perf_counter() - start


def measure(wish: Wish) -> Iterator[Result]:
    """Every method at both deltas, then OpenDP."""
    if wish.peers:
        load_opendp()  # what is missing is told before the work
    codes = records()
    start = time.perf_counter()
    exact = count(codes)
    wish.say(f"counted {RECORDS:,} records in {time.perf_counter() - start:.2f} s")
    for delta in (DELTA, 0.0):
        for method in METHODS:
            yield ours(method, delta, exact, wish.repeats or REPEATS)
    if wish.peers:
        yield from (opendp(delta, codes, exact) for delta in (DELTA, 0.0))


PART = Part(
    measure,
    {
        "who": lambda result: str(result["who"]),
        "delta": figure("delta", "{:g}"),
        "seconds": figure("seconds", "{:.3f}"),
        "expected error": figure("expected_error", "{:.2f}"),
        "measured error": figure("measured_error", "{:.2f}"),
    },
)
