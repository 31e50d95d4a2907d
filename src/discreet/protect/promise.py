"""What a protection does and does not promise, in sentences for people.

The numbers are those of the exact audit at epsilon = 1, rounded up; they speak of one count. They
also say that nothing is promised about many tables together.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

from discreet.model.measure import COUNT
from discreet.model.told import Text, joined, told
from discreet.model.unit import PERSON, unit_of
from discreet.privacy.audit import audit
from discreet.privacy.claim import up
from discreet.protect.tightest import tightest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from discreet.model.dataset import Dataset
    from discreet.model.terms import Terms
    from discreet.model.unit import Unit
    from discreet.noise.table import NoiseTable
    from discreet.privacy.audit import Audit
    from discreet.protect.plan import NoisePlan

_STEADY = (
    told("The same people show the same number in every table."),
    told("The same {many} show the same number in every table."),
)
_ALONE = told("Nothing is promised about what can be learned from many tables together.")


def promise(
    noise: NoiseTable, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
) -> tuple[str, ...]:
    """What the protection does and does not promise, in sentences for the table's page."""
    spread = sqrt(noise.variance)
    design = _design(noise.parameters)
    found, protection, unit = audit_once(noise), dataset.protection, unit_of(dataset)
    steady = (additivity or protection.additivity) == "independent" and not protection.keyed_by_description
    return (
        told(
            "Cell key method: noise of the family {family} ({design}), looked up by who is in the cell "
            "({keys} keys). The noise changes a count by at most {largest}, with a standard deviation of "
            "at most {spread:.2f}. {of_zeros}",
            family=noise.family,
            design=design,
            keys=protection.keys,
            largest=noise.largest,
            spread=spread,
            of_zeros=_of_zeros(noise, unit),
        ),
        unit.says(
            told(
                "{subject} is (1, {delta})-differentially private at worst, and (1, {above}) for counts above "
                "{largest}; neighbours differ by one person added or removed.",
                subject=subject,
                delta=up(found.delta),
                above=up(found.above_D.delta),
                largest=noise.largest,
            ),
            told(
                "{subject} is (1, {delta})-differentially private at worst, and (1, {above}) for counts above "
                "{largest}; neighbours differ by {one} added or removed."
            ),
        ),
        joined([unit.says(*_STEADY) if steady else "", _ALONE]),
    )


def _design(parameters: Mapping[str, Any]) -> str:
    """The parameters of a design; of one by size, those of each class."""
    known = {n: v for n, v in parameters.items() if n not in {"notes", "quantise", "zeros", "classes"}}
    said = ", ".join(f"{n} = {v}" for n, v in known.items() if v is not None and v is not False)
    classes = [
        _design({n: v for n, v in each.items() if n != "from"}) for each in parameters.get("classes", ())
    ]
    starts = [each.get("from", 0) for each in parameters.get("classes", ())]
    later = [
        told("from {start:,} on {text}", start=start, text=text)
        for start, text in zip(starts[1:], classes[1:], strict=True)
    ]
    return Text("{parts:semicolon}", {"parts": tuple(filter(None, (*classes[:1], *later, said)))})


def _of_zeros(noise: NoiseTable, unit: Unit) -> str:
    """What happens to empty cells."""
    if noise.keeps_zero:
        return told("Counts of zero stay zero.")
    row = noise.rows[0]
    return told(
        "Of the empty cells, {percent:.3g} % show a count of {low} to {high}, found by the description of the cell, "
        "{mean:.3g} {many} on average: a count above zero does not say that somebody is there.",
        percent=100 * float(1 - row.probabilities()[0]),
        low=row.values[1],
        high=row.values[-1],
        mean=float(row.mean()),
        many=unit.many,
    )


@lru_cache(maxsize=64)
def audit_once(noise: NoiseTable) -> Audit:
    """The audit depends on the integers alone: tables of equal integers and other parameters share it, and no sentence."""
    return audit(noise, epsilon=1.0)


@lru_cache(maxsize=64)
def dp_promise(plan: NoisePlan, unit: Unit = PERSON) -> tuple[str, ...]:
    """What everything that is ever said of a dataset under `dp` is promised, and how its noise is distributed."""
    claim = plan.claim or tightest(plan)
    terms = plan.terms
    sentences = [] if claim is None else [replace(claim, unit=unit).sentence]
    return (
        *sentences,
        _lifetime(terms),
        _about_noise(plan),
        *(_given_up(held, unit) for held in terms.held),
    )


def _lifetime(terms: Terms) -> str:
    """What the cap bounds; another dataset of the budget may release numbers exactly that this one does not."""
    bounded = {
        "name": terms.name,
        "cap_epsilon": float(terms.cap_epsilon),
        "cap_delta": float(terms.cap_delta),
    }
    if terms.neighbours == "replace-one":
        return told(
            'All answers ever given by this workspace under the budget "{name}", for all its datasets '
            "and versions together, stay within epsilon {cap_epsilon:g} and delta {cap_delta:g}, for neighbours that "
            "agree on every number that one of these datasets releases exactly.",
            **bounded,
        )
    return told(
        'All answers ever given by this workspace under the budget "{name}", for all its datasets '
        "and versions together, stay within epsilon {cap_epsilon:g} and delta {cap_delta:g}.",
        **bounded,
    )


def _given_up(held: str, unit: Unit) -> str:
    """What an exact level costs those who are in it."""
    return unit.says(
        told(
            "The number of records of each {held} is released exactly. So nothing is promised about which {held} a person "
            "is in: somebody who knows all others of a {held} learns it. What a person is within their {held} stays "
            "protected.",
            held=held,
        ),
        told(
            "The number of records of each {held} is released exactly. So nothing is promised about which {held} {one} is "
            "in: somebody who knows all others of a {held} learns it. What else is true of {one} stays protected."
        ),
    )


def _about_noise(plan: NoisePlan) -> str:
    """How the noise of a plan is made and how wide it is."""
    if plan.joint is not None:
        errors = plan.joint.errors
        return told(
            "All tables are made of {d} residuals that were measured once, empty cells included, with discrete Gaussian "
            "noise keyed by their description. The noise of a cell of a declared table has a standard deviation {between}. "
            "A cell has one value in every table, shown rounded to a whole number; totals and levels add up but for this "
            "rounding.",
            d=plan.d,
            between=_between([errors.standard_deviation(margin) for margin in plan.universe.noisy]),
        )
    return told(
        "Every cell of {d} released tables, empty ones included, has its own noise of the family "
        "{family}, keyed by the description of the cell, with a standard deviation {between}. Any "
        "other cell is the sum of such cells and has the sum of their noise.",
        d=plan.d,
        family=plan.tables[0].noise.family,
        between=_between([sqrt(table.noise.rows[0].variance()) for table in plan.tables]),
    )


def _between(spreads: list[float]) -> str:
    low, high = min(spreads), max(spreads)
    if f"{low:.3g}" == f"{high:.3g}":
        return f"{low:.3g}"
    return told("from {low:.3g} to {high:.3g}", low=low, high=high)
