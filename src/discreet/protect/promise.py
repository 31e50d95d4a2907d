"""What a protection does and does not promise, in sentences for people.

The numbers are those of the exact audit at epsilon = 1, rounded up; they speak of one count. They
also say that nothing is promised about many tables together.

Comes from: the noise table that is looked up. Goes to: the release, its page and its documents.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING

from discreet.model.measure import COUNT
from discreet.privacy.audit import audit
from discreet.protect.tightest import tightest

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.model.protection import Protection
    from discreet.noise.table import NoiseTable
    from discreet.privacy.audit import Audit
    from discreet.protect.plan import NoisePlan


def promise(
    noise: NoiseTable, protection: Protection, additivity: str = "", subject: str = COUNT.subject
) -> tuple[str, ...]:
    """What the protection does and does not promise, in sentences for the table's page."""
    spread = sqrt(max(row.variance() for row in noise.rows))
    known = {n: v for n, v in noise.parameters.items() if n not in {"notes", "quantise", "zeros"}}
    design = ", ".join(f"{n} = {v}" for n, v in known.items() if v is not None and v is not False)
    found = audited(noise)
    steady = (additivity or protection.additivity) == "independent" and not protection.keyed_by_description
    return (
        f"Cell key method: noise of the family {noise.family} ({design}), looked up by who is in the cell "
        f"({protection.keys} keys). The noise changes a count by at most {noise.largest}, with a standard "
        f"deviation of at most {spread:.2f}. Counts of zero stay zero.",
        f"{subject} is (1, {_up(found.delta)})-differentially private at worst, and "
        f"(1, {_up(found.above_D.delta)}) for counts above {noise.largest}; neighbours differ by one person "
        "added or removed.",
        ("The same people show the same number in every table. " if steady else "")
        + "Nothing is promised about what can be learned from many tables together.",
    )


@lru_cache(maxsize=64)
def audited(noise: NoiseTable) -> Audit:
    """The audit depends on the integers alone: tables of equal integers and other parameters share it, and no sentence."""
    return audit(noise, epsilon=1.0)


def _up(delta: Fraction) -> str:
    """A delta in three figures, rounded up: a promise errs on the safe side."""
    if not delta:
        return "0"
    places = 2 - floor(log10(delta))
    return f"{ceil(delta * 10**places) / 10**places:.3g}"


@lru_cache(maxsize=64)
def dp_promise(plan: NoisePlan) -> tuple[str, ...]:
    """What everything that is ever said of a dataset under `dp` is promised, and how its noise is distributed."""
    claim = plan.claim or tightest(plan)
    terms = plan.terms
    spreads = [sqrt(table.noise.rows[0].variance()) for table in plan.tables]
    low, high = min(spreads), max(spreads)
    between = f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"from {low:.3g} to {high:.3g}"
    sentences = [] if claim is None else [claim.sentence]
    return (
        *sentences,
        f'All answers ever given by this workspace under the budget "{terms.name}", for all its datasets and versions '
        f"together, "
        f"stay within epsilon {float(terms.cap_epsilon):g} and delta {float(terms.cap_delta):g}.",
        f"Every cell of {plan.d} released tables, empty ones included, has its own noise of the family "
        f"{plan.tables[0].noise.family}, keyed by the description of the cell, with a standard deviation {between}. "
        "Any other cell is the sum of such cells and has the sum of their noise.",
    )
