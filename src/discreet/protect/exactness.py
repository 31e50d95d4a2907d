"""How often noise leaves a count as it is, and what is said and done about it.

    P(exact) = P(noise = 0), from the integers that are looked up

A release never says what its noise does not do. Under `dp` a version whose noise leaves a count exact with a
probability above `max_exact` of its budget is refused: at epsilon 1,000 every count would be published as it is. Under
the cell key method the custodian is cautioned: offices change as few as 14 % of cells, and rules stand beside the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import BadDescription
from discreet.model.terms import MOST_EXACT
from discreet.model.told import Text, told
from discreet.protect.plan import NoisePlan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.terms import Terms
    from discreet.noise.table import NoiseRow, NoiseTable

#: From this epsilon on the custodian is told how little is promised.
WEAK_EPSILON = 5


def largest_exact(tables: Iterable[NoiseTable]) -> Fraction:
    """The largest probability with which a count keeps its value; zeros that always stay zero are left out.

    >>> from discreet.noise import laplace
    >>> round(float(largest_exact([laplace(epsilon=1.0, modulus=2**64)])), 4)
    0.4621
    """
    return _most_kept(row for table in tables for row in table.rows[1 if table.keeps_zero else 0 :])


def _exact_above_zero(tables: Iterable[NoiseTable]) -> Fraction:
    """The same of counts above zero, where a zero has a row of its own: that empty cells stay empty tells nobody."""
    return _most_kept(row for table in tables for row in table.rows[1 if len(table.rows) > 1 else 0 :])


def _most_kept(rows: Iterable[NoiseRow]) -> Fraction:
    return max((_kept(row) for row in rows), default=Fraction(1))


def _kept(row: NoiseRow) -> Fraction:
    """The probability that a row changes nothing."""
    place = bisect_left(row.values, 0)
    if place == len(row.values) or row.values[place]:
        return Fraction(0)
    return Fraction(row.thresholds[place] - (row.thresholds[place - 1] if place else 0), row.modulus)


def refuse_exact(plan: NoisePlan) -> None:
    """Refuse a plan whose noise does too little.

    Raises:
        BadDescription: A table would be exact more often than `max_exact` allows.
    """
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
    """The same of margins that are released together: a count is exact with probability 1 - E|error| at least.

    Raises:
        BadDescription: The expected error of a margin is too small.
    """
    smallest = min(errors)
    if smallest < 1 - terms.max_exact:
        raise BadDescription(
            f"The expected error of a count would be {smallest:.3g}: at least {_percent(Fraction(1 - smallest))} of "
            f"counts would be exact, and max_exact of the budget is {float(terms.max_exact):g}.",
            "Lower epsilon, or ask for more margins.",
        )


def noise_cautions(noise: NoiseTable | NoisePlan) -> tuple[str, ...]:
    """What a custodian should know about noise that is loaded all the same."""
    if isinstance(noise, NoisePlan):
        epsilon = noise.terms.epsilon
        if epsilon < WEAK_EPSILON:
            return ()
        return (
            f"Epsilon is {float(epsilon):g}: one person may change the odds of what is seen by a factor of "
            f"{math.exp(min(700.0, float(epsilon))):,.0f}. From {WEAK_EPSILON} on this promises little.",
        )
    found = _exact_above_zero([noise])
    if found <= MOST_EXACT:
        return ()
    return (
        f"The noise leaves some counts exact with probability {_percent(found)}: readers will see true counts.",
    )


def changed_sentence(tables: Iterable[NoiseTable]) -> str:
    """How often the noise changes a count, rounded down: a note errs on the safe side."""
    return _changed_sentence(tuple(tables))


@lru_cache(maxsize=64)
def _changed_sentence(tables: tuple[NoiseTable, ...]) -> str:
    """It follows from the integers of the tables alone, so it is made once."""
    chance = _percent(1 - _exact_above_zero(tables))
    if all(len(table.rows) > 1 for table in tables):
        return told(
            "The noise changes a count above zero with a probability of at least {chance}.", chance=chance
        )
    return told("The noise changes a count with a probability of at least {chance}.", chance=chance)


def _percent(share: Fraction) -> Text:
    """A share in percent, rounded down; near 0 % and 100 % with as many decimals as tell it from them.

    >>> _percent(Fraction(5379, 10000)), _percent(Fraction(99961, 100000)), _percent(Fraction(0))
    ('53 %', '99.961 %', '0 %')
    """
    distance = min(share, 1 - share)
    places = 0 if not 0 < distance < Fraction(1, 100) else min(7, math.ceil(-math.log10(distance)) - 1)
    down = math.floor(share * 100 * 10**places) / 10**places
    return Text(f"{{percent:.{places}f}} %", {"percent": down})
