"""e^epsilon between two fractions: the only irrational number in the audit, never a float.

    low <= e^epsilon <= high,   (high - low) / low < 10^(2 - digits)

`decimal` rounds `exp` correctly, so one unit in the last place on each side encloses the truth. A
comparison asks for more digits until it is certain; e^epsilon is irrational for every rational epsilon
but 0, so it always becomes certain.

Source: Python's `decimal` (General Decimal Arithmetic: `exp` and `ln` are correctly rounded).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BadRequest

FIRST_DIGITS = 60
SPARE_DIGITS = 12
WIDEST_EXPONENT = 999_999_999


@dataclass(frozen=True, slots=True)
class Exponential:
    """e^epsilon as an enclosure that can be tightened at will.

    >>> low, high = Exponential.of(1.5).bounds(60)
    >>> float(low) == float(high) == math.exp(1.5)
    True
    >>> Exponential.of(0).bounds(60)
    (Fraction(1, 1), Fraction(1, 1))
    """

    #: None stands for infinity.
    epsilon: Fraction | None

    @classmethod
    def of(cls, epsilon: float | Fraction | Decimal) -> Exponential:
        """Take an epsilon as it is given: a float means exactly the binary fraction that it is."""
        if isinstance(epsilon, float | Decimal) and (
            math.isnan(epsilon) or epsilon < 0 or math.isinf(epsilon)
        ):
            if epsilon == math.inf:
                return cls(None)
            raise _bad_epsilon(epsilon)
        exact = Fraction(epsilon)
        if exact < 0:
            raise _bad_epsilon(epsilon)
        return cls(exact)

    def beyond(self, ratio: int) -> bool:
        """Whether e^epsilon is surely above a whole number: 2^epsilon is already."""
        return self.epsilon is None or self.epsilon > ratio.bit_length()

    def bounds(self, digits: int = FIRST_DIGITS) -> tuple[Fraction, Fraction]:
        """A fraction below and a fraction above e^epsilon."""
        if self.epsilon is None:
            raise _bad_epsilon(math.inf)
        return _bounds(self.epsilon, digits)

    def below(self, numerator: int, denominator: int) -> bool:
        """Whether e^epsilon < numerator / denominator, with certainty."""
        if self.beyond(numerator // denominator + 1):
            return False
        digits = FIRST_DIGITS
        while True:
            low, high = self.bounds(digits)
            if high * denominator < numerator:
                return True
            if low * denominator >= numerator:
                return False
            digits *= 2


@lru_cache(maxsize=1024)
def _bounds(epsilon: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    if epsilon == 0:
        return Fraction(1), Fraction(1)
    numerator, denominator = Decimal(epsilon.numerator), Decimal(epsilon.denominator)
    # An error in epsilon grows by epsilon in e^epsilon: the division gets more digits than the result.
    down, up = _context(digits + SPARE_DIGITS, ROUND_FLOOR), _context(digits + SPARE_DIGITS, ROUND_CEILING)
    least, most = down.divide(numerator, denominator), up.divide(numerator, denominator)
    context = _context(digits, ROUND_HALF_EVEN)
    low, high = context.next_minus(context.exp(least)), context.next_plus(context.exp(most))
    return max(Fraction(1), Fraction(low)), Fraction(high)


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=WIDEST_EXPONENT, Emin=-WIDEST_EXPONENT)


def log_up(ratio: Fraction) -> float:
    """The smallest float whose exponential is at least a ratio of at least one.

    >>> log_up(Fraction(1)), log_up(Fraction(2)) >= math.log(2)
    (0.0, True)
    """
    if ratio == 1:
        return 0.0
    up = _context(FIRST_DIGITS, ROUND_CEILING)
    exact = up.next_plus(up.ln(up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def _bad_epsilon(epsilon: object) -> BadRequest:
    return BadRequest(f"Epsilon is {epsilon}; it must be a number from 0 upward.", "Give 0, 1.5 or infinity.")
