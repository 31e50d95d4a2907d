"""A claim: what is promised, against which neighbours, by which argument. One sentence says all of it.

An epsilon without its neighbours, its delta, its invariants and its assumption promises nothing that can be checked,
so they travel together. Groups follow from the claim for one:

    k units at once: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))

Comes from: `tightest`. Goes to: every release, page and report.
Source: Dwork & Roth (2014), section 2.3; docs/methods/dp.md, Theorem 5 (groups); Bailie (2020), section 4.1 (invariants).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import BadRequest

#: How a figure was found, in words.
METHODS = {
    "exact": "by the exact product of the laws of the shipped noise tables",
    "basic": "by adding up the exact figures of all tables (basic composition)",
    "pld": "by a pessimistic privacy-loss distribution of the shipped noise tables",
    "zcdp": "by zero-concentrated differential privacy of the ideal law and the shipped tables' distance to it",
    "gaussian": "by the Gaussian trade-off of the ideal law and the shipped tables' distance to it",
}
ASSUMPTION = "assuming that AES-256 and HKDF-SHA256 under a secret key cannot be told from randomness"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is promised about everything that will ever be said of the datasets of one budget, or of one version.

    Args:
        epsilon: The privacy loss, rounded up.
        delta: The probability that it may fail, rounded up.
        method: A name of `METHODS`.
        neighbours: `add-remove` or `replace-one`.
        unit: What is protected: "person".
        records_per_unit: The most records that one unit has.
        group: How many units together.
        invariants: What is public exactly.
        cells: In how many released cells a unit's record is counted.
        scope: What the claim covers, as the subject of its sentence.
    """

    epsilon: Fraction | float
    delta: Fraction | float
    method: str
    neighbours: str = "add-remove"
    unit: str = "person"
    records_per_unit: int = 1
    group: int = 1
    invariants: tuple[str, ...] = ()
    cells: int = 1
    scope: str = "All released tables together"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadRequest(f"There is no method {self.method!r}.", f"Known: {', '.join(METHODS)}.")
        if not (self.epsilon >= 0 and 0 <= self.delta <= 1):
            raise BadRequest(f"A claim of epsilon {self.epsilon} and delta {self.delta} means nothing.")

    @property
    def sentence(self) -> str:
        """The whole claim."""
        return (
            f"{self.scope} are computationally ({up(self.epsilon)}, {up(self.delta)})-differentially private "
            f"for neighbours that differ by {self._who} {self._how}, "
            f"{METHODS[self.method]}, {ASSUMPTION}; {self._what_is_public}."
        )

    @property
    def _who(self) -> str:
        who = f"one {self.unit}" if self.group == 1 else f"{self.group} {self.unit}s"
        if self.records_per_unit == 1:
            return who
        return f"{who} (of at most {self.records_per_unit} records)"

    @property
    def _how(self) -> str:
        return "added or removed" if self.neighbours == "add-remove" else "whose records are replaced"

    @property
    def _what_is_public(self) -> str:
        if not self.invariants:
            return "nothing is released exactly"
        names = {"n": "the number of records"}
        known = ", ".join(names.get(name, name) for name in self.invariants)
        return f"{known} is public and equal for neighbours"

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


def up(number: Fraction | float) -> str:
    """A number in three figures, rounded up: a promise errs on the safe side.

    >>> up(1.0001), up(2.0981e-05), up(0.0), up(1.0)
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
