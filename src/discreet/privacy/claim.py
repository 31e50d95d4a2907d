"""A claim: a privacy guarantee with its neighbours, invariants, method and assumption, in one sentence.

An epsilon without them cannot be checked, so they stay together. Groups follow from the claim for one:

    k units at once: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))

Source: Dwork & Roth (2014), section 2.3; docs/methods/dp.md, Theorem 5 (groups); Bailie (2020), section 4.1 (invariants).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import BadRequest
from discreet.model.messages.text import message
from discreet.model.request import PERSON, Unit

#: The methods in words.
METHODS = {
    "exact": message("by the exact product of the laws of the shipped noise tables"),
    "basic": message("by adding up the exact figures of all tables (basic composition)"),
    "pld": message("by a pessimistic privacy-loss distribution of the shipped noise tables"),
    "zcdp": message(
        "by zero-concentrated differential privacy of the ideal law and the shipped tables' distance to it"
    ),
    "gaussian": message("by the Gaussian trade-off of the ideal law and the shipped tables' distance to it"),
    "joint": message(
        "by the Gaussian trade-off of the dearest path through all residuals and the shipped tables' distance to it"
    ),
}
ASSUMPTION = message(
    "assuming that AES-256 and HKDF-SHA256 under a secret key cannot be told from randomness"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """The guarantee of all releases of one budget, or of one version.

    Args:
        method: A name of `METHODS`.
        group: The number of units together.
        cells: The number of released cells in which a unit's record is counted.
        scope: The subject of the sentence.
    """

    epsilon: Fraction | float
    delta: Fraction | float
    method: str
    neighbours: str = "add-remove"
    unit: Unit = PERSON
    records_per_unit: int = 1
    group: int = 1
    invariants: tuple[str, ...] = ()
    cells: int = 1
    scope: str = message("All released tables together")

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadRequest(f"There is no method {self.method!r}.", f"Known: {', '.join(METHODS)}.")
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):
            raise BadRequest(f"A claim of epsilon {self.epsilon} and delta {self.delta} means nothing.")

    @property
    def sentence(self) -> str:
        """The whole claim."""
        return message(
            "{scope} are computationally ({epsilon}, {delta})-differentially private for neighbours that differ by "
            "{who} {how}, {method}, {assumption}; {public}.",
            scope=self.scope,
            epsilon=three_digits_up(self.epsilon),
            delta=three_digits_up(self.delta),
            who=self._who,
            how=self._how,
            method=METHODS[self.method],
            assumption=ASSUMPTION,
            public=self._what_is_public,
        )

    @property
    def _who(self) -> str:
        who = self.unit.one
        if self.group > 1:
            who = self.unit.says(message("{group} persons", group=self.group), message("{group} units"))
        if self.records_per_unit == 1:
            return who
        return message("{who} (of at most {records} records)", who=who, records=self.records_per_unit)

    @property
    def _how(self) -> str:
        if self.neighbours == "add-remove":
            return message("added or removed")
        held = tuple(name for name in self.invariants if name != "n")
        if not held:
            return message("whose records are replaced")
        return message("whose records are replaced by others of the same {held:comma}", held=held)

    @property
    def _what_is_public(self) -> str:
        if not self.invariants:
            return message("nothing is released exactly")
        held = [name for name in self.invariants if name != "n"]
        if not held:
            return message("the number of records is public and equal for neighbours")
        return message(
            "the number of records of each {held:comma} is public and equal for neighbours", held=tuple(held)
        )

    def for_group(self, units: int) -> Claim:
        """The claim for several units at once.

        >>> Claim(0.5, 1e-6, "basic").for_group(2).epsilon
        1.0
        """
        if self.group != 1 or units < 1:
            raise BadRequest(f"Groups of {units} follow from the claim for one.", "Give 1 or more, once.")
        return replace(
            self,
            epsilon=units * self.epsilon,
            delta=group_delta(float_up(Fraction(self.delta)), float_up(Fraction(self.epsilon)), units),
            group=units,
        )


def group_delta(delta: float, epsilon: float, units: int) -> float:
    """Delta (e^(k epsilon) - 1) / (e^epsilon - 1), rounded up and at most 1."""
    if units == 1 or delta == 0:
        return delta
    if epsilon == 0:
        return min(1.0, units * delta)
    if units * epsilon > 700:
        return 1.0
    return min(1.0, delta * math.expm1(units * epsilon) / math.expm1(epsilon) * (1 + 1e-12))


def three_digits_up(number: Fraction | float) -> str:
    """A number in three significant digits, rounded up: a promise errs on the safe side.

    >>> three_digits_up(1.0001), three_digits_up(2.0981e-05), three_digits_up(0.0), three_digits_up(1.0)
    ('1.01', '2.1e-05', '0', '1')
    """
    if number == 0 or not math.isfinite(number):
        return f"{float(number):g}"
    exact = number if isinstance(number, Fraction) else Fraction(repr(float(number)))
    places = 2 - math.floor(math.log10(number))
    scale = Fraction(10) ** places
    return f"{float(Fraction(math.ceil(exact * scale)) / scale):.3g}"


def float_up(number: Fraction) -> float:
    """The smallest float that is not below a fraction.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def float_down(number: Fraction) -> float:
    """The largest float that is not above a fraction."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)
