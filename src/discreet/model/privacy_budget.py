"""Amounts of a privacy budget: decimals as they were written, carried as fractions from the file to the ledger.

    loss      epsilon or rho, in whole units of 1e-12
    failure   delta or distance, in whole units of 1e-18

A declared amount must be a whole number of units: nothing of it is lost when it is booked. A computed amount is
rounded up to whole units (`booked`): what is told beforehand is then what is booked. No float lies between: the
float 1.1 is a little more than 1.1, and a cap of 1.1 would not pay for it.

The terms of a differentially private promise: how much, to whom, against which neighbours.

    neighbours   add-remove: one privacy unit more or less.  replace-one: one unit's records are changed.
    invariants   n: the number of records is public; neighbours are then replace-one (Bailie 4.1). A variable: its totals
                 are public, and a replaced record keeps its category (docs/methods/dp-invariants.md).
    name         the budget: datasets about the same people share it, and one lifetime cap holds for all of them.

Source: Bailie (2020), section 4.1; Rinott et al. (2018), section 7. docs/reference/dp-universe.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

from discreet.errors import BadDescription, BadRequest
from discreet.model.description.sections import refuse_unknown_keys
from discreet.model.messages.text import nearest

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


def round_up_to_units(loss: Fraction | float, failure: Fraction | float) -> tuple[Fraction, Fraction]:
    """A loss and a failure in whole units, rounded up: what the ledger books for them.

    >>> booked(1.1, 0)[0] > Fraction(11, 10)
    True
    """
    return (
        ceil(Fraction(loss) / LOSS_UNIT) * LOSS_UNIT,
        ceil(Fraction(failure) / FAILURE_UNIT) * FAILURE_UNIT,
    )


def five_digits(amount: Fraction) -> str:
    """An amount for the eye: five figures, never more than there is.

    >>> rounded_down(Fraction("3.000018872563")), rounded_down(Fraction(1, 3))
    ('3', '0.33333')
    """
    if not amount:
        return "0"
    places = 5 - 1 - floor(log10(amount))
    return format_amount(Fraction(floor(amount * Fraction(10) ** places)) / Fraction(10) ** places)


def format_amount(amount: Fraction) -> str:
    """An amount in whole units as a decimal, every digit of it.

    >>> shown(Fraction(11, 10)), shown(Fraction(4)), shown(Fraction(1, 10**9))
    ('1.1', '4', '1e-9')
    """
    decimal = Decimal(amount.numerator) / Decimal(amount.denominator)
    plain = decimal.normalize()
    if plain and plain.adjusted() < -4:
        return f"{plain:e}"
    return f"{plain:f}"


NEIGHBOURS = ("add-remove", "replace-one")
#: The invariant that is no variable: the number of records.
NUMBER = "n"
SPREADS = ("equal", "importance", "optimised")
MEASURES = ("variance", "absolute")
COMPOSITIONS = ("basic", "zcdp")
#: The largest probability with which noise leaves a count as it is, where nothing else is declared.
MOST_EXACT = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Terms:
    """What one version of a dataset may spend, and what it promises.

    Args:
        name: The budget that datasets about the same people share.
        epsilon: What the universe of one version spends of the budget's cap.
        delta: The delta at which the promise is stated.
        cap_epsilon: The lifetime cap of the budget; a file must say it.
        cap_delta: The lifetime cap of the budget's delta; by default that of as many versions as `cap_epsilon` pays for.
        neighbours: `add-remove` or `replace-one`.
        invariants: What is public exactly: `n`, the number of records, and a variable whose totals are.
        records_per_unit: The most records that one person (the privacy unit) may have, enforced at load.
        spread: How the budget is spread over margins.
        measure: What `optimised` makes small: the variance or the expected absolute error.
        composition: How an interactive ledger adds up: `basic` or `zcdp`. The file calls it `rule`.
        answer_cost: What one table outside the universe costs an account with a share of the ledger: epsilon under
            `basic`, rho under `zcdp`. Zero: nothing outside the universe is answered.
        max_exact: The largest probability with which the noise may leave a count as it is.
        calibrate: Whether noise of tables of their own is made as small as what is claimed allows, in place of shares that
            add up to epsilon. A file that leaves it out means true.
    """

    name: str
    epsilon: Fraction
    delta: Fraction = Fraction(1, 10**9)
    cap_epsilon: Fraction = Fraction(0)
    cap_delta: Fraction = Fraction(0)
    neighbours: str = "add-remove"
    invariants: tuple[str, ...] = ()
    records_per_unit: int = 1
    spread: str = "equal"
    measure: str = "variance"
    composition: str = "basic"
    answer_cost: Fraction = Fraction(0)
    max_exact: Fraction = MOST_EXACT
    calibrate: bool = False

    def __post_init__(self) -> None:
        for key, value, allowed in (
            ("neighbours", self.neighbours, NEIGHBOURS),
            ("spread", self.spread, SPREADS),
            ("measure", self.measure, MEASURES),
            ("rule", self.composition, COMPOSITIONS),
        ):
            if value not in allowed:
                raise BadDescription(f'`{key}` of the budget is "{value}".', nearest(value, allowed))
        if not self.name:
            raise BadDescription(
                "The budget has no name.", 'Write name = "a name for the datasets about the same people".'
            )
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise BadDescription(
                f"The budget is epsilon {float(self.epsilon):g}, delta {float(self.delta):g}.",
                "Epsilon must be above 0, delta from 0 to below 1.",
            )
        object.__setattr__(self, "cap_epsilon", self.cap_epsilon or self.epsilon)
        versions = max(1, ceil(self.cap_epsilon / self.epsilon))
        object.__setattr__(self, "cap_delta", self.cap_delta or versions * self.delta)
        if self.cap_epsilon < self.epsilon or not self.delta <= self.cap_delta < 1:
            raise BadDescription(
                "The budget's cap is smaller than what one version spends, or its delta is 1 or more.",
                "Raise cap_epsilon and cap_delta, or lower epsilon and delta.",
            )
        if not 1 <= self.records_per_unit <= 1000:
            raise BadDescription(
                f"records_per_unit is {self.records_per_unit}.", "Give a whole number from 1 to 1000."
            )
        self._check_answers()
        self._check_invariants()

    def _check_answers(self) -> None:
        """What one more table costs must be payable, and its noise must do something."""
        cap = f"cap_epsilon {float(self.cap_epsilon):g}"
        if self.answer_cost < 0 or (self.composition == "basic" and self.answer_cost > self.cap_epsilon):
            raise BadDescription(
                f"answer_cost is {float(self.answer_cost):g}, and the budget has {cap}.",
                "Give what one table may cost, from above 0 to the cap, or leave it out.",
            )
        if not 0 < self.max_exact < 1:
            raise BadDescription(
                f"max_exact of the budget is {float(self.max_exact):g}.", "Give a number between 0 and 1."
            )

    def _check_invariants(self) -> None:
        if len(self.held) > 1:
            raise BadDescription(
                f"The totals of {' and of '.join(self.held)} are invariants.",
                "Name one variable, the finest level whose totals are exact: with two nobody could be replaced.",
            )
        if self.invariants and self.neighbours != "replace-one":
            raise BadDescription(
                "The number of records is an invariant, and neighbours add or remove a person.",
                'Write neighbours = "replace-one": a public n gives an added person away.',
            )

    @property
    def known_total(self) -> bool:
        """Whether the number of records is public, so that the grand total needs no noise."""
        return bool(self.invariants)

    @property
    def held(self) -> tuple[str, ...]:
        """The variable whose totals are public, if there is one: a replaced record keeps its category."""
        return tuple(name for name in self.invariants if name != NUMBER)

    @property
    def changes(self) -> int:
        """In how many cells of a table one record shows: two when it is replaced."""
        return 2 if self.neighbours == "replace-one" else 1


#: What must be said, and how.
_NEEDED = {
    "name": 'Write name = "a name that all datasets about the same people use".',
    "epsilon": "Write epsilon = 1.0, or what all tables of this version may cost together.",
    "cap_epsilon": "Write cap_epsilon = 4.0, or what all versions and all datasets of this budget may ever cost together. "
    "It can be lowered later and never raised; a cap that equals epsilon leaves nothing for a second version.",
}


#: What the file calls a field by another word.
_IN_THE_FILE = {"composition": "rule"}
#: The keys that are amounts, and what they must be whole numbers of.
_AMOUNTS = {
    "epsilon": LOSS_UNIT,
    "cap_epsilon": LOSS_UNIT,
    "answer_cost": LOSS_UNIT,
    "delta": FAILURE_UNIT,
    "cap_delta": FAILURE_UNIT,
    "max_exact": LOSS_UNIT,
}
#: Every key of `[protection.budget]`, and the field that it fills.
KEYS = {_IN_THE_FILE.get(field.name, field.name): field.name for field in fields(Terms)}
#: An older word for a key, which files that use it keep.
ALIASES = {"family": "name"}


def parse_terms(entry: Mapping[str, Any]) -> Terms:
    """Read `[protection.budget]`.

    >>> parse_terms({"name": "census", "epsilon": 0.1, "cap_epsilon": 4}).epsilon
    Fraction(1, 10)
    """
    entry = _without_aliases(entry)
    refuse_unknown_keys(entry, KEYS, "[protection.budget]")
    for key, advice in _NEEDED.items():
        if key not in entry:
            raise BadDescription(f"[protection.budget] lacks `{key}`.", advice)
    values: dict[str, Any] = {KEYS[key]: _read(key, value) for key, value in entry.items()}
    return Terms(**values)


def _without_aliases(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry with today's word for every key; both words together are refused."""
    for old, key in ALIASES.items():
        if old in entry and key in entry:
            raise BadDescription(f"[protection.budget] has `{key}` and `{old}`.", f"Keep `{key}`.")
    return {ALIASES.get(key, key): value for key, value in entry.items()}


def _read(key: str, value: Any) -> Any:
    """A value of the kind that its key needs: numbers are read as the decimals that were written."""
    if key in _AMOUNTS:
        try:
            return read_amount(
                None if isinstance(value, str) else value, f"`{key}` of the budget", _AMOUNTS[key]
            )
        except BadRequest as error:
            raise BadDescription(error.message, error.advice) from None
    if key == "records_per_unit":
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadDescription(f"records_per_unit is {value!r}.", "Give a whole number.")
        return value
    if key == "calibrate":
        if not isinstance(value, bool):
            raise BadDescription(f"calibrate of the budget is {value!r}.", "Write true or false.")
        return value
    if key == "invariants":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise BadDescription(
                f"`invariants` of the budget is {value!r}.",
                'Write invariants = ["n"], or ["n", "region"] where totals by region are exact.',
            )
        return tuple(sorted({*value, NUMBER})) if value else ()
    if not isinstance(value, str):
        raise BadDescription(f"`{key}` of the budget is {value!r}.", "Put it in quotes.")
    return value
