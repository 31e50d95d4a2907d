"""Figure 4: the test of one proportion on a noisy count, by its exact distribution and by the paper's 500 draws.

    T(x) = 2 log(max over p of L(p) / L(p0)),   x = Binomial(80, 1/2) + truncated Laplace noise, ε = 0.5.

T is a function of x alone: its distribution, the size and the power are sums, and the paper's critical values, being
empirical quantiles, must be values that T can take.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 6.2 and Figure 4.
"""

from collections.abc import Iterator
from functools import cache
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.hypothesis_tests.goodness_of_fit import ProportionTest
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import NoiseRow, NoiseTable, laplace
from discreet.noise.families.laplace import end_probability
from discreet_studies.exhibit import Effort, Exhibit, Finding
from discreet_studies.monte_carlo import ERRORS

PEOPLE = 80
TRUTH = 0.5
WRONG = 0.7
EPSILON = 0.5
DRAWS = 500
ASYMPTOTIC = 3.84
#: Twice the log-likelihood ratio is shown up to here, as in the paper.
LARGEST_SHOWN = 50.0
_NOTE = (
    "Exact, but for the histogram, which shows 500 draws as the paper does; the tolerances of the powers are those of "
    "its 500 draws. The exact 5 % critical value is {five:.3f} for m = 5 and {ten:.3f} for m = 10."
)
_LEVEL = (
    "The critical value is the 95 % quantile of 500 draws. T takes the value {atom:.3f}, the next is {next:.3f}: with "
    "{atom:.3f} the exact size is {low:.1%}, without it {high:.1%}. The print of c decides: {atom:.3f} is {side} {c}."
)


def figure_4(effort: Effort) -> Exhibit:
    """Figure 4: testing a proportion of 80 people."""
    note = _NOTE.format(five=_test(5, TRUTH).critical_value(), ten=_test(10, TRUTH).critical_value())
    return Exhibit(
        "figure 4",
        "Testing p = 0.5 and p = 0.7 on a noisy count of 80 people, true p = 0.5",
        (*_with_noise(5, 3.36, 0.95), *_with_noise(10, 3.82, 0.92), *_without_noise(), *_deltas()),
        picture=lambda: _picture(effort),
        note=note,
    )


@cache
def _noise(m: int) -> NoiseTable:
    return laplace(epsilon=EPSILON, m=m) if m else NoiseTable(1, (NoiseRow((0,), (1,)),))


def _test(m: int, hypothesis: float) -> ProportionTest:
    return ProportionTest(PEOPLE, _noise(m), hypothesis)


def _with_noise(m: int, critical: float, power: float) -> Iterator[Finding]:
    null, alternative = _test(m, TRUTH), _test(m, WRONG)
    values = null.statistic(null.distribution(TRUTH)[0])
    nearest = float(values[np.argmin(np.abs(values - critical))])
    yield Finding(f"m = {m}: critical value c, the nearest value of T", critical, nearest, 0.005)
    yield Finding(
        f"m = {m}: size at c", 0.05, null.rejection(critical), 0.005, _level(null, critical, nearest)
    )
    yield _of_500(f"m = {m}: power at c against p = 0.7", power, alternative.rejection(critical, TRUTH))
    yield Finding(f"m = {m}: exact 5 % critical value", None, null.critical_value())
    yield Finding(f"m = {m}: size at 3.84", None, null.rejection(ASYMPTOTIC))
    yield Finding(f"m = {m}: power at 3.84", None, alternative.rejection(ASYMPTOTIC, TRUTH))


def _without_noise() -> Iterator[Finding]:
    yield _of_500("no noise: power", 0.96, _test(0, WRONG).rejection(ASYMPTOTIC, TRUTH))
    yield Finding("no noise: size at 3.84", None, _test(0, TRUTH).rejection(ASYMPTOTIC))


def _deltas() -> Iterator[Finding]:
    yield Finding("m = 5: δ", 0.02, end_probability(EPSILON, 5), 0.005)
    yield Finding("m = 10: δ", 0.00166, end_probability(EPSILON, 10), 5e-6)


def _level(null: ProportionTest, critical: float, atom: float) -> str:
    """Why the size is not the level that the paper gives it: 5 % is a definition there, and has no error of its own."""
    values = null.statistic(null.distribution(TRUTH)[0])
    after = float(values[values > atom + 1e-6].min())
    between = (atom + after) / 2
    return _LEVEL.format(
        atom=atom,
        next=after,
        low=null.rejection(atom - 1e-6),
        high=null.rejection(between),
        side="above" if atom > critical else "below",
        c=critical,
    )


def _of_500(what: str, printed: float, exact: float) -> Finding:
    return Finding(what, printed, exact, hypot(0.005, ERRORS * sqrt(exact * (1 - exact) / DRAWS)))


def _draws(effort: Effort, hypothesis: float) -> NDArray[np.float64]:
    rng = np.random.default_rng([effort.seed, 4])
    released = with_noise(rng.binomial(PEOPLE, TRUTH, DRAWS).astype(np.int64), _noise(5), rng)
    return np.minimum(_test(5, hypothesis).statistic(released), LARGEST_SHOWN)


def _picture(effort: Effort) -> Any:
    from discreet_studies.pictures.rinott2018 import ratio_histograms  # noqa: PLC0415 - pictures are an extra

    return ratio_histograms({h: _draws(effort, h).tolist() for h in (TRUTH, WRONG)}, ASYMPTOTIC)
