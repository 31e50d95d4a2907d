"""Section 7: what a privacy budget buys when a person is counted in several tables.

With d tables a person is in, noise at ε/d each keeps ε; its standard deviation is about √2 d/ε. A margin added up
from interior cells of C categories has √(2 C^(t-k))/ε instead.

    truncated noise:  δ = 1 - (1 - p(m))^d at ε/d each, add/remove;   1 - (1 - p(m))^(2d) and 2ε, replace one.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 7; its δ and its total are corrected here.
"""

from collections.abc import Iterator
from math import comb, sqrt
from typing import Any

from discreet.noise import laplace
from discreet.noise.families import laplace as discrete_laplace
from discreet.privacy.audit import delta
from discreet_studies.exhibit import Effort, Exhibit, Finding

WAYS = 4
CATEGORIES = 10
_NOTE = (
    "The paper leaves out the total, 'almost always known'. Published exactly it gives add/remove neighbours δ = 1: "
    "either noise it too (d = 2^t), or hold n invariant and count a replaced person twice in each table. "
    "Theorem 4.2 bounds δ pointwise where total mass is needed: for d cells it is 1 - (1 - p(m))^d, not p(m)."
)


def section_7(effort: Effort) -> Exhibit:  # noqa: ARG001 - nothing here is simulated
    """Section 7: margins beside interior cells."""
    return Exhibit(
        "section 7",
        "Spending ε on a 4-way table of 10 categories each and its two-way margins",
        (*_counts(), *_deviations(), *_exact_deviations(), *_shares(), *_deltas()),
        picture=_picture,
        note=_NOTE,
    )


def tables(t: int) -> int:
    """How many tables, margins included and the total not, a person of a t-way table is in.

    >>> tables(3)
    7
    """
    return sum(comb(t, k) for k in range(1, t + 1))


def deviation(scheme: str, ways: int) -> float:
    """The standard deviation, times ε, of a cell of a k-way margin: the paper's approximation."""
    if scheme == "interior":
        return sqrt(2 * CATEGORIES ** (WAYS - ways))
    return sqrt(2) * (comb(WAYS, ways) if scheme == "only these" else tables(WAYS))


def _counts() -> Iterator[Finding]:
    yield Finding("d: two-way margins of a 4-way table", 6, comb(WAYS, 2))
    yield Finding("d: a 4-way table and all margins but the total", 15, tables(4))
    yield Finding("d: a 3-way table and all margins but the total", 7, tables(3))


def _deviations() -> Iterator[Finding]:
    yield Finding("SD·ε of a two-way cell added up from interior cells", 14, deviation("interior", 2), 0.5)
    yield Finding("SD·ε of a two-way cell, two-way margins only", 8.5, deviation("only these", 2), 0.05)
    yield Finding("SD·ε of a two-way cell, everything perturbed", 21, deviation("everything", 2), 0.5)


def _exact_deviations() -> Iterator[Finding]:
    """The discrete distribution at ε = 1 rather than its continuous approximation."""
    for name, d, terms in (("interior", 1, CATEGORIES**2), ("two-way only", 6, 1), ("everything", 15, 1)):
        exact = sqrt(terms * discrete_laplace.ideal_laplace(1 / d, modulus=2**64).last.variance())
        yield Finding(f"SD at ε = 1 of the discrete law: {name}", None, exact)


def _shares() -> Iterator[Finding]:
    whole = 2 / 3 + 5 / 15
    yield Finding("a budget of ε/3 for two tables and ε/15 for five: the sum, in ε", 1, whole, 1e-12)


def _deltas() -> Iterator[Finding]:
    """A 3-way table and its margins at ε = 1, truncated at m = 70: the exact audit, and what p(m) alone says."""
    noise = laplace(epsilon=1 / 7, m=70)
    yield Finding("3-way, ε/7 each, m = 70: p(m)", None, discrete_laplace.end_probability(1 / 7, 70))
    yield Finding(
        "3-way, ε/7 each, m = 70: δ of the 7 cells", None, float(delta(noise, epsilon=1.0, cells=7))
    )
    noise = laplace(epsilon=1 / 8, m=70)
    yield Finding(
        "3-way with its total, ε/8 each, m = 70: δ", None, float(delta(noise, epsilon=1.0, cells=8))
    )


def _picture() -> Any:
    from discreet_studies.pictures.rinott2018 import deviations_by_margin  # noqa: PLC0415 - pictures are an extra

    names = {
        "interior": "Interior cells only, margins added up",
        "only these": "Only the margins of this size",
        "everything": "Everything, each on its own",
    }
    return deviations_by_margin(
        [
            {"scheme": name, "ways": ways, "deviation": deviation(scheme, ways)}
            for scheme, name in names.items()
            for ways in range(1, WAYS + 1)
        ]
    )
