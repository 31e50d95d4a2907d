"""How often noise-aware tests reject true hypotheses, over a published grid; and false ones, beside the naive test.

Tables are drawn at each point of `GRID` and tested as `independence_test` does by default, with the same functions:
by a distribution where it holds, else by the bootstrap, all tables of a point together. Each point has its own seed:
its name is part of it. The same tables give the size by the chi-square distribution, which was the default once, and
that of the naive test on the released counts. Where a point has an effect, the power at 5 % is measured on tables off
the hypothesis, beside the naive test on exact counts.

    Monte Carlo error of a share p of r tables = sqrt(p (1 - p) / r)
"""

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square, likelihood_ratios, naive_ratios
from discreet.inference.hypothesis_tests.null_distribution import null_distribution
from discreet.inference.hypothesis_tests.p_value import (
    REPLICATES,
    bootstrap_p_values,
    choose_method,
    with_noise,
)
from discreet.model.messages.text import nearest
from discreet_studies.bench.part import Part, Result, Wish, figure
from discreet_studies.bench.size_grid import GRID, Point

Floats = NDArray[np.float64]

LEVELS = (0.05, 0.01)
#: Tables from which a power is measured.
POWER_TABLES = 500


@dataclass(frozen=True, slots=True, eq=False)
class PValues:
    """The p-values of the tables of a point.

    Args:
        aware: By the default method.
        chi_square: The same statistics by the chi-square distribution.
        naive: G2 of the released counts.
        exact: G2 of the true counts.
    """

    aware: Floats
    chi_square: Floats
    naive: Floats
    exact: Floats
    methods: list[str]


def p_values(point: Point, tables: int, seed: int, effect: float = 0.0) -> PValues:
    """Draw tables at a point and test them; no other point and no other effect has the same random numbers."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{point.name} {effect:g}".encode())])
    noise, model = point.distribution(), point.model()
    means = point.means(tables, rng, effect)
    true = _drawn(means, rng, multinomial=point.multinomial)
    total = true.reshape(tables, -1).sum(axis=1) if point.multinomial else None
    released = with_noise(true, noise, rng)
    found = likelihood_ratios(released, noise, model, total)
    distribution = null_distribution(found, model, noise)
    aware, methods = distribution.by_distribution(found.statistic), ["chi-square"] * tables
    draws = np.zeros(tables, dtype=np.int64)
    kind = "multinomial" if point.multinomial else "poisson"
    for table in np.flatnonzero(found.df > 0).tolist():
        methods[table], draws[table] = choose_method(
            distribution.of(table), noise, model.offset.size, REPLICATES, kind
        )
    bootstrapped = np.array(methods) == "bootstrap"
    for replicates in np.unique(draws[bootstrapped]).tolist():
        these = bootstrapped & (draws == replicates)
        aware[these] = bootstrap_p_values(
            distribution.p_values(found.statistic)[these], found.means[these], model, noise,
            totals=None if total is None else total[these], replicates=replicates,
        )  # fmt: skip
    return PValues(
        aware,
        chi_square(found.statistic, found.df),
        chi_square(*naive_ratios(released, model)),
        chi_square(*naive_ratios(true, model)),
        methods,
    )


def _drawn(means: Floats, rng: np.random.Generator, *, multinomial: bool) -> NDArray[np.int64]:
    if not multinomial:
        return rng.poisson(means)
    flat = means.reshape(len(means), -1)
    total = np.round(flat.sum(axis=1)).astype(np.int64)
    return rng.multinomial(total, flat / flat.sum(axis=1, keepdims=True)).reshape(means.shape)


def measured(point: Point, tables: int | None = None, seed: int = 12) -> Result:
    """The sizes at a point in percent, with their Monte Carlo errors, and the power where it has an effect."""
    start, runs = time.process_time(), min(tables or point.tables, point.tables)
    found = p_values(point, runs, seed)
    result: Result = {"point": point.name, "tables": runs}
    for level in LEVELS:
        share = float((found.aware <= level).mean())
        result[f"size_{level:g}"] = 100 * share
        result[f"error_{level:g}"] = 100 * sqrt(max(share, 1 / runs) * (1 - share) / runs)
    result |= {"chi_square": _rejected(found.chi_square), "naive": _rejected(found.naive)}
    result |= {f"by_{name}": found.methods.count(name) for name in ("chi-square", "moments", "bootstrap")}
    result |= dict.fromkeys(("power", "power_exact", "power_naive"))
    if point.effect:
        off = p_values(point, min(runs, POWER_TABLES), seed, point.effect)
        result |= {
            "power": _rejected(off.aware),
            "power_exact": _rejected(off.exact),
            "power_naive": _rejected(off.naive),
        }
    return result | {"seconds": round(time.process_time() - start, 1)}


def _rejected(p: Floats) -> float:
    return 100 * float((p <= LEVELS[0]).mean())


def measure(wish: Wish) -> Iterator[Result]:
    """The chosen points, or all of the grid, one after the other."""
    for point in chosen(wish.points):
        wish.say(f"{point.name}: {min(wish.repeats or point.tables, point.tables):,} tables")
        yield measured(point, wish.repeats)


def chosen(names: tuple[str, ...]) -> list[Point]:
    """Points by their names; all where none is given.

    Raises:
        BadRequest: A name that the grid does not have.
    """
    known = {point.name: point for point in GRID}
    for name in names:
        if name not in known:
            raise BadRequest(f'The grid has no point "{name}".', nearest(name, list(known)))
    return [known[name] for name in names or known]


def _size(level: float) -> Callable[[Result], str]:
    digits = 1 if level > 0.02 else 2
    return lambda r: f"{r[f'size_{level:g}']:.{digits}f} ± {r[f'error_{level:g}']:.{digits}f}"


def _methods(result: Result) -> str:
    """The methods that served a tenth of the tables or more."""
    names = ("chi-square", "moments", "bootstrap")
    return ", ".join(name for name in names if result[f"by_{name}"] >= 0.1 * result["tables"])


PART = Part(
    measure,
    {
        "point": lambda result: str(result["point"]),
        "tables": figure("tables", "{:,}"),
        "method": _methods,
        "size at 5 %": _size(0.05),
        "size at 1 %": _size(0.01),
        "chi-square": figure("chi_square", "{:.1f}"),
        "naive": figure("naive", "{:.1f}"),
        "power": figure("power", "{:.0f}"),
        "exact, naive": figure("power_exact", "{:.0f}"),
        "released, naive": figure("power_naive", "{:.0f}"),
    },
)
