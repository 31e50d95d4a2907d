"""Table 3: the size and power of three tests of independence on perturbed tables.

    log μ(i, j) = η + α(i) + β(j) + c γ(i, j),   α, β, γ uniform on -1/2..1/2,   η = 4,   c = 0 or 0.7.

Tables are Poisson, 10 x 10, with truncated Laplace noise. "Original" tests the true counts by G², "Naive" the
released ones as if they were true, and the LR test has the noise in its likelihood.

Comes from: `inference.independence`. Goes to: `EXHIBITS`.
Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 6.1 and Table 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sinh
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.inference.bootstrap import with_noise
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.independence import independence_tests
from discreet.inference.likelihood_ratio import chi_square
from discreet.inference.ratios import naive_ratios
from discreet.noise import laplace
from discreet.noise.families.laplace import end_probability
from discreet_studies.exhibit import Exhibit, Finding
from discreet_studies.monte_carlo import TOLERANCE_NOTE, error_finding, mean_finding, share_finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet_studies.exhibit import Effort

    Floats = NDArray[np.float64]

SIDE = 10
LEVEL = 0.05
PRINTED_TABLES = 1000
INTERACTION = 0.7
TESTS = ("Original", "Naive", "LR test")
#: % p ≤ 0.05; mean statistic and its standard error; mean p-value and its standard error.
Row = tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Setting:
    """One quarter of Table 3: a noise law, and the three tests as printed."""

    epsilon: float
    m: int
    delta: float
    independent: tuple[Row, Row, Row]
    dependent: tuple[Row, Row, Row]


PRINTED = (
    Setting(
        0.1,
        10,
        0.0283,
        ((5.0, 81.6, 0.395, 0.487, 0.009), (86.7, 124.5, 0.616, 0.027, 0.002), (3.0, 78.6, 0.388, 0.555, 0.009)),
        ((79.3, 118.8, 0.587, 0.044, 0.003), (99.6, 162.1, 0.792, 0.001, 0.0), (51.0, 103.6, 0.526, 0.140, 0.006)),
    ),
    Setting(
        0.1,
        7,
        0.0470,
        ((6.0, 81.7, 0.423, 0.487, 0.009), (53.3, 105.1, 0.524, 0.123, 0.006), (4.0, 80.1, 0.400, 0.521, 0.009)),
        ((87.3, 124.8, 0.620, 0.027, 0.003), (98.3, 149.2, 0.742, 0.004, 0.001), (73.3, 114.5, 0.583, 0.066, 0.004)),
    ),
    Setting(
        0.5,
        10,
        0.0017,
        ((5.8, 81.7, 0.414, 0.485, 0.009), (25.4, 92.9, 0.476, 0.274, 0.008), (6.9, 82.5, 0.419, 0.467, 0.009)),
        ((82.1, 118.3, 0.551, 0.041, 0.003), (91.3, 129.3, 0.601, 0.017, 0.002), (76.3, 114.8, 0.532, 0.054, 0.004)),
    ),
    Setting(
        0.5,
        7,
        0.0076,
        ((4.7, 81.4, 0.395, 0.485, 0.009), (18.7, 90.8, 0.435, 0.299, 0.008), (5.3, 82.0, 0.391, 0.473, 0.009)),
        ((81.3, 119.6, 0.591, 0.040, 0.003), (91.0, 128.6, 0.627, 0.018, 0.002), (76.9, 116.2, 0.567, 0.051, 0.003)),
    ),
)  # fmt: skip
_POWER = (
    "With the printed interaction 0.7 the noncentrality is about 195 on 81 degrees of freedom and every test "
    "rejects every table; a constant that gives the print could be found, but is not in the paper."
)
_NAIVE = (
    "Not explained: with η = 4 as printed the mean cell is 59, not 'about 50', and smaller cells would widen the "
    "gap. The share of tables that the naive test rejects agrees."
)
NOTE = (
    "Independent attributes reproduce, but for the mean of the naive statistic at ε = 0.1, which parts from the "
    "print when ten thousand tables are drawn; dependent attributes do not follow from the printed interaction 0.7. "
    "Nothing is tuned to the print. The text says "
    "that the LR test had a size of 5.8 % at ε = 0.5, m = 10; its table has 6.9 % (5.8 % is Original). "
)


def table_3(effort: Effort) -> Exhibit:
    """Table 3: tests of independence on perturbed tables."""
    number = effort.of(10_000, 1_000)
    findings = [finding for place in range(4) for finding in _quarter(place, number, effort.seed)]
    findings += _many_people(effort.of(4_000, 500), effort.seed)
    shares = [_share(finding) for finding in findings if "% p" in finding.what]
    return Exhibit(
        "table 3",
        f"Testing independence of 10 x 10 tables ({number:,} tables each; the paper has 1,000)",
        tuple(findings),
        picture=lambda: _picture(shares),
        note=NOTE + TOLERANCE_NOTE,
    )


def true_tables(
    rng: np.random.Generator, number: int, eta: float = 4.0, interaction: float = 0.0
) -> NDArray[np.int64]:
    """Poisson tables with uniform row and column effects, and an interaction where one is wished."""
    rows, columns = rng.uniform(-0.5, 0.5, (number, SIDE, 1)), rng.uniform(-0.5, 0.5, (number, 1, SIDE))
    together = interaction * rng.uniform(-0.5, 0.5, (number, SIDE, SIDE))
    return rng.poisson(np.exp(eta + rows + columns + together))


def three_tests(
    true: NDArray[np.int64], epsilon: float, m: int, rng: np.random.Generator
) -> dict[str, tuple[Floats, Floats]]:
    """Statistics and p-values of the three tests, all by the chi-square law as in the paper."""
    noise = laplace(epsilon=epsilon, m=m)
    found = independence_tests(with_noise(true, noise, rng), noise)
    exact, df = naive_ratios(true, HierarchicalModel.of(((0,), (1,)), np.ones(true.shape[1:])))
    pairs = (
        (exact, chi_square(exact, df)),
        (found.naive_statistic, found.naive_p_value),
        (found.statistic, chi_square(found.statistic, found.df)),
    )
    return dict(zip(TESTS, pairs, strict=True))


def _quarter(place: int, number: int, seed: int) -> Iterator[Finding]:
    setting = PRINTED[place]
    head = f"ε = {setting.epsilon}, m = {setting.m}"
    yield Finding(f"{head}: δ", setting.delta, end_probability(setting.epsilon, setting.m), 5e-5)
    for kind, printed, interaction in (
        ("independent", setting.independent, 0.0),
        ("dependent", setting.dependent, INTERACTION),
    ):
        rng = np.random.default_rng([seed, place, int(interaction > 0)])
        tests = three_tests(
            true_tables(rng, number, interaction=interaction), setting.epsilon, setting.m, rng
        )
        for test, row in zip(TESTS, printed, strict=True):
            yield from _row(
                f"{head}, {kind}, {test}", row, *tests[test], why=_POWER if interaction else _NAIVE
            )


def _row(name: str, printed: Row, statistic: Floats, p_value: Floats, why: str) -> Iterator[Finding]:
    share, mean, mean_error, p, p_error = printed
    runs = PRINTED_TABLES
    rejected = p_value <= LEVEL
    yield share_finding(f"{name}: % p ≤ 0.05", share, rejected, rounding=0.05, printed_runs=runs, why=why)
    yield mean_finding(f"{name}: statistic", mean, statistic, rounding=0.05, printed_runs=runs, why=why)
    yield error_finding(
        f"{name}: statistic, s.e.", mean_error, statistic, rounding=0.0005, printed_runs=runs, why=why
    )
    yield mean_finding(f"{name}: p-value", p, p_value, rounding=0.0005, printed_runs=runs, why=why)
    yield error_finding(
        f"{name}: p-value, s.e.", p_error, p_value, rounding=0.0005, printed_runs=runs, why=why
    )


def _many_people(number: int, seed: int) -> Iterator[Finding]:
    """Section 6.1's remark on an average count of about 400 a cell, at ε = 0.1 and m = 10."""
    eta = log(400 / (2 * sinh(0.5)) ** 2)
    rng = np.random.default_rng([seed, 400])
    tests = three_tests(true_tables(rng, number, eta), 0.1, 10, rng)
    for test, printed in (("Naive", 12.0), ("LR test", 5.0)):
        name = f"ε = 0.1, m = 10, 400 people a cell, {test}: % p ≤ 0.05"
        rejected = tests[test][1] <= LEVEL
        yield share_finding(name, printed, rejected, rounding=0.5, printed_runs=PRINTED_TABLES)


def _share(finding: Finding) -> dict[str, object]:
    head, _, rest = finding.what.rpartition(", ")
    return {
        "setting": head,
        "test": rest.split(":")[0],
        "ours": finding.ours,
        "printed": finding.printed,
    }


def _picture(shares: list[dict[str, object]]) -> Any:
    from discreet_studies.pictures.rinott2018 import rejected_shares  # noqa: PLC0415 - pictures are an extra

    return rejected_shares(shares)
