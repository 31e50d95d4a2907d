"""Amounts of a privacy budget: decimals as they were written, carried as fractions from the file to the ledger.

    loss      epsilon or rho, in whole units of 1e-12
    failure   delta or distance, in whole units of 1e-18

A declared amount must be a whole number of units: nothing of it is lost when it is booked. A computed amount is
rounded up to whole units (`booked`): what is told beforehand is then what is booked. No float lies between: the
float 1.1 is a little more than 1.1, and a cap of 1.1 would not pay for it.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor, log10

from discreet.errors import BadRequest

LOSS_UNIT = Fraction(1, 10**12)
FAILURE_UNIT = Fraction(1, 10**18)
#: A number with a larger exponent is no amount, and would take long to write out.
_MOST_DIGITS = 30


def read_amount(value: object, what: str, unit: Fraction = LOSS_UNIT) -> Fraction:
    """An amount as the decimal that was written.

    Args:
        value: A number, or the text of one.
        what: What it is, for the message.
        unit: What it must be a whole number of.

    Raises:
        BadRequest: It is no number, or has more decimals than can be booked.

    >>> read_amount("1.1", "epsilon"), read_amount(0.1, "epsilon")
    (Fraction(11, 10), Fraction(1, 10))
    """
    exact = value if isinstance(value, Fraction) else _decimal(value)
    if exact is None:
        raise BadRequest(f"{what} is {value}.", "Give a number such as 0.5.")
    if (exact / unit).denominator != 1:
        raise BadRequest(
            f"{what} is {value}, which has too many decimals.",
            f"Give at most {len(str(unit.denominator)) - 1} decimals: the ledger books no smaller part.",
        )
    return exact


def _decimal(value: object) -> Fraction | None:
    """A number as the decimal that was written; a float is the shortest decimal that means it."""
    if not isinstance(value, int | float | str | Decimal) or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    if not amount.is_finite() or abs(amount.adjusted()) > _MOST_DIGITS:
        return None
    return Fraction(amount)


def booked(loss: Fraction | float, failure: Fraction | float) -> tuple[Fraction, Fraction]:
    """A loss and a failure in whole units, rounded up: what the ledger books for them.

    >>> booked(1.1, 0)[0] > Fraction(11, 10)
    True
    """
    return (
        ceil(Fraction(loss) / LOSS_UNIT) * LOSS_UNIT,
        ceil(Fraction(failure) / FAILURE_UNIT) * FAILURE_UNIT,
    )


def rounded_down(amount: Fraction) -> str:
    """An amount for the eye: five figures, never more than there is.

    >>> rounded_down(Fraction("3.000018872563")), rounded_down(Fraction(1, 3))
    ('3', '0.33333')
    """
    if not amount:
        return "0"
    places = 5 - 1 - floor(log10(amount))
    return shown(Fraction(floor(amount * Fraction(10) ** places)) / Fraction(10) ** places)


def shown(amount: Fraction) -> str:
    """An amount in whole units as a decimal, every digit of it.

    >>> shown(Fraction(11, 10)), shown(Fraction(4)), shown(Fraction(1, 10**9))
    ('1.1', '4', '1e-9')
    """
    decimal = Decimal(amount.numerator) / Decimal(amount.denominator)
    plain = decimal.normalize()
    if plain and plain.adjusted() < -4:
        return f"{plain:e}"
    return f"{plain:f}"
