"""Simulated numbers beside simulated prints: how far apart may the two be?

A print from R runs has a standard error s/√R, ours from r runs s/√r, s being the spread of one run. They agree if

    |printed - ours| ≤ √(h² + 9 (s²/R + s²/r)),   h = half the last printed digit,

and not within h plus three errors, which would add two worst cases: then 8.4 % would pass for 5.0 %, of 1,000
tables each. By chance it fails once in 370 comparisons where h is small beside the error, less often where the error is
small, and at most once in 42 in between. The spread is that of our own runs, since papers rarely print it.
"""

from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet_studies.exhibit import Finding

Floats = NDArray[np.float64]

#: Standard errors of the difference that two simulations may be apart.
ERRORS = 3.0
#: What every simulated exhibit says about its tolerance.
TOLERANCE_NOTE = (
    "Tolerance of a simulated number: the root of the squares of half the last printed digit and of three standard "
    "errors of the difference."
)


def apart(spread: float, runs: int, printed_runs: int) -> float:
    """Three standard errors of the difference of two means of runs with this spread.

    >>> round(apart(1.0, 400, 100), 4)
    0.3354
    """
    return ERRORS * spread * sqrt(1 / runs + 1 / printed_runs)


def mean_finding(
    what: str, printed: float | None, runs: Floats, *, rounding: float, printed_runs: int, why: str = ""
) -> Finding:
    """The mean of our runs beside a printed mean."""
    tolerance = hypot(rounding, apart(float(np.std(runs)), len(runs), printed_runs))
    return Finding(what, printed, float(np.mean(runs)), tolerance, why)


def share_finding(
    what: str,
    printed: float | None,
    hits: NDArray[np.bool_],
    *,
    rounding: float,
    printed_runs: int,
    why: str = "",
) -> Finding:
    """A percentage of our runs beside a printed one; the spread is that of the two shares together.

    Our own share may be 100 %, which alone would have no spread at all.
    """
    ours, runs = float(np.mean(hits)), len(hits)
    there = ours if printed is None else printed / 100
    pooled = (ours * runs + there * printed_runs) / (runs + printed_runs)
    tolerance = hypot(rounding, 100 * apart(sqrt(pooled * (1 - pooled)), runs, printed_runs))
    return Finding(what, printed, 100 * ours, tolerance, why)


def error_finding(
    what: str, printed: float | None, runs: Floats, *, rounding: float, printed_runs: int, why: str = ""
) -> Finding:
    """The standard error of a mean of R runs, as our runs have it, beside the printed one.

    The spread of an estimated standard deviation s is about √(m4 - s⁴) / (2 s √runs), m4 the fourth moment.
    """
    centred = np.asarray(runs) - np.mean(runs)
    spread = float(np.sqrt(np.mean(centred**2)))
    fourth = float(np.mean(centred**4))
    of_spread = sqrt(max(fourth - spread**4, 0.0)) / (2 * spread) if spread > 0 else 0.0
    tolerance = hypot(rounding, apart(of_spread, len(runs), printed_runs) / sqrt(printed_runs))
    return Finding(what, printed, spread / sqrt(printed_runs), tolerance, why)
