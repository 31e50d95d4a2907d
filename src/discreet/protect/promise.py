"""What a protection does and does not guarantee, in sentences for people.

The numbers are those of the exact audit at epsilon = 1, rounded up; they apply to one count. The sentences also say that
nothing is guaranteed about many tables together.

    P(exact) = P(noise = 0), from the integers of the noise table

A release never claims more than its noise does. Under `dp` a version whose noise leaves a count exact with a probability
above `max_exact` of its budget is refused: at epsilon 1,000 every count would be published unchanged. Under the cell key
method the custodian is warned only: agencies change as few as 14 % of cells, and rules complement the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.privacy_budget import MOST_EXACT, Terms
from discreet.model.request import COUNT, PERSON, Unit, unit_of
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.audit import Audit, audit
from discreet.privacy.claim import three_digits_up

if TYPE_CHECKING:  # a table under cell keys starts without plans
    from discreet.protect.plan import NoisePlan

_STEADY = (
    message("The same people show the same number in every table."),
    message("The same {many} show the same number in every table."),
)
_ALONE = message("Nothing is promised about what can be learned from many tables together.")


def promise(
    noise: NoiseTable, dataset: Dataset, additivity: str = "", subject: str = COUNT.subject
) -> tuple[str, ...]:
    """What the protection does and does not guarantee, in sentences for the table's page."""
    spread = sqrt(noise.variance)
    design = _design(noise.parameters)
    found, protection, unit = audit_once(noise), dataset.protection, unit_of(dataset)
    steady = (additivity or protection.additivity) == "independent" and not protection.uses_description_keys
    return (
        message(
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
            message(
                "{subject} is (1, {delta})-differentially private at worst, and (1, {above}) for counts above "
                "{largest}; neighbours differ by one person added or removed.",
                subject=subject,
                delta=three_digits_up(found.delta),
                above=three_digits_up(found.above_D.delta),
                largest=noise.largest,
            ),
            message(
                "{subject} is (1, {delta})-differentially private at worst, and (1, {above}) for counts above "
                "{largest}; neighbours differ by {one} added or removed."
            ),
        ),
        join_sentences([unit.says(*_STEADY) if steady else "", _ALONE]),
    )


def _design(parameters: Mapping[str, Any]) -> str:
    """The parameters of a design; for a design by size, those of each class."""
    known = {n: v for n, v in parameters.items() if n not in {"notes", "quantise", "zeros", "classes"}}
    said = ", ".join(f"{n} = {v}" for n, v in known.items() if v is not None and v is not False)
    classes = [
        _design({n: v for n, v in each.items() if n != "from"}) for each in parameters.get("classes", ())
    ]
    starts = [each.get("from", 0) for each in parameters.get("classes", ())]
    later = [
        message("from {start:,} on {text}", start=start, text=text)
        for start, text in zip(starts[1:], classes[1:], strict=True)
    ]
    return Message("{parts:semicolon}", {"parts": tuple(filter(None, (*classes[:1], *later, said)))})


def _of_zeros(noise: NoiseTable, unit: Unit) -> str:
    if noise.keeps_zero:
        return message("Counts of zero stay zero.")
    row = noise.rows[0]
    return message(
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
    """The audit, cached by the integers of the table alone."""
    return audit(noise, epsilon=1.0)


@lru_cache(maxsize=64)
def dp_promise(plan: NoisePlan, unit: Unit = PERSON) -> tuple[str, ...]:
    """The guarantee of all releases of a dataset under `dp`, and the distribution of their noise."""
    from discreet.protect.best_composition import best_claim  # noqa: PLC0415 - only `dp` needs it

    claim, terms = best_claim(plan), plan.terms
    sentences = [] if claim is None else [replace(claim, unit=unit).sentence]
    return (*sentences, _lifetime(terms), _about_noise(plan), *(_given_up(held, unit) for held in terms.held))


def _lifetime(terms: Terms) -> str:
    """The guarantee of the cap; another dataset of the budget may have other exact numbers."""
    cap_epsilon, cap_delta = float(terms.cap_epsilon), float(terms.cap_delta)
    bounded = {"name": terms.name, "cap_epsilon": cap_epsilon, "cap_delta": cap_delta}
    if terms.neighbours == "replace-one":
        return message(
            'All answers ever given by this workspace under the budget "{name}", for all its datasets '
            "and versions together, stay within epsilon {cap_epsilon:g} and delta {cap_delta:g}, for neighbours that "
            "agree on every number that one of these datasets releases exactly.",
            **bounded,
        )
    return message(
        'All answers ever given by this workspace under the budget "{name}", for all its datasets '
        "and versions together, stay within epsilon {cap_epsilon:g} and delta {cap_delta:g}.",
        **bounded,
    )


def _given_up(held: str, unit: Unit) -> str:
    return unit.says(
        message(
            "The number of records of each {held} is released exactly. So nothing is promised about which {held} a person "
            "is in: somebody who knows all others of a {held} learns it. What a person is within their {held} stays "
            "protected.",
            held=held,
        ),
        message(
            "The number of records of each {held} is released exactly. So nothing is promised about which {held} {one} is "
            "in: somebody who knows all others of a {held} learns it. What else is true of {one} stays protected."
        ),
    )


def _about_noise(plan: NoisePlan) -> str:
    if plan.joint is not None:
        errors = plan.joint.errors
        return message(
            "All tables are made of {d} residuals that were measured once, empty cells included, with discrete Gaussian "
            "noise keyed by their description. The noise of a cell of a declared table has a standard deviation {between}. "
            "A cell has one value in every table, shown rounded to a whole number; totals and levels add up but for this "
            "rounding.",
            d=plan.d,
            between=_between([errors.standard_deviation(margin) for margin in plan.universe.noisy]),
        )
    return message(
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
    return message("from {low:.3g} to {high:.3g}", low=low, high=high)


#: From this epsilon on the custodian is warned.
WEAK_EPSILON = 5


def largest_exact(tables: Iterable[NoiseTable], *, above_zero: bool = False) -> Fraction:
    """The largest probability with which noise leaves a count unchanged; zeros that always stay zero are left out.

    With `above_zero` no row that is for counts of zero alone is looked at.

    >>> from discreet.noise import laplace
    >>> round(float(largest_exact([laplace(epsilon=1.0, modulus=2**64)])), 4)
    0.4621
    """
    rows = (
        row
        for table in tables
        for row in table.rows[table.keeps_zero or (above_zero and len(table.rows) > 1) :]
    )
    return max(map(_exact_probability, rows), default=Fraction(1))


def _exact_probability(row: NoiseRow) -> Fraction:
    place = bisect_left(row.values, 0)
    if place == len(row.values) or row.values[place]:
        return Fraction(0)
    return Fraction(row.thresholds[place] - (row.thresholds[place - 1] if place else 0), row.modulus)


def refuse_exact(plan: NoisePlan) -> None:
    """Refuse a plan with too little noise."""
    tables = [*plan.tables, *([] if plan.answer is None else [plan.answer])]
    exact = [(table.margin, largest_exact([table.noise])) for table in tables]
    if plan.joint is not None:
        errors = plan.joint.errors
        exact += [(margin, Fraction(errors.most_exact(margin))) for margin in plan.universe.noisy]
    for margin, found in exact:
        if found > plan.terms.max_exact:
            what = " x ".join(margin) or "the grand total"
            raise BadDescription(
                f"The noise would leave a count of {what} exact with probability {_percent(found)}, and max_exact of "
                f"the budget is {float(plan.terms.max_exact):g}.",
                "Lower epsilon (or answer_cost), or declare more tables. Raise max_exact only where nearly exact "
                "counts may be published.",
            )


def refuse_small_errors(terms: Terms, errors: Iterable[float]) -> None:
    """The same for margins that are released together: a count is exact with probability 1 - E|error| at least."""
    smallest = min(errors)
    if smallest < 1 - terms.max_exact:
        raise BadDescription(
            f"The expected error of a count would be {smallest:.3g}: at least {_percent(Fraction(1 - smallest))} of "
            f"counts would be exact, and max_exact of the budget is {float(terms.max_exact):g}.",
            "Lower epsilon, or ask for more margins.",
        )


def noise_cautions(noise: NoiseTable | NoisePlan) -> tuple[str, ...]:
    """Warnings for the custodian about noise that is allowed."""
    if not isinstance(noise, NoiseTable):
        epsilon = noise.terms.epsilon
        if epsilon < WEAK_EPSILON:
            return ()
        return (
            f"Epsilon is {float(epsilon):g}: one person may change the odds of what is seen by a factor of "
            f"{math.exp(min(700.0, float(epsilon))):,.0f}. From {WEAK_EPSILON} on this promises little.",
        )
    found = largest_exact([noise], above_zero=True)
    if found <= MOST_EXACT:
        return ()
    return (
        f"The noise leaves some counts exact with probability {_percent(found)}: readers will see true counts.",
    )


@lru_cache(maxsize=64)
def change_sentence(tables: tuple[NoiseTable, ...]) -> str:
    """How often the noise changes a count, rounded down to err on the safe side."""
    chance = _percent(1 - largest_exact(tables, above_zero=True))
    if all(len(table.rows) > 1 for table in tables):
        return message(
            "The noise changes a count above zero with a probability of at least {chance}.", chance=chance
        )
    return message("The noise changes a count with a probability of at least {chance}.", chance=chance)


def _percent(share: Fraction) -> Message:
    """A share in percent, rounded down; near 0 % and 100 % with enough decimals to differ from them.

    >>> _percent(Fraction(5379, 10000)), _percent(Fraction(99961, 100000)), _percent(Fraction(0))
    ('53 %', '99.961 %', '0 %')
    """
    distance = min(share, 1 - share)
    places = 0 if not 0 < distance < Fraction(1, 100) else min(7, math.ceil(-math.log10(distance)) - 1)
    down = math.floor(share * 100 * 10**places) / 10**places
    return Message(f"{{percent:.{places}f}} %", {"percent": down})
