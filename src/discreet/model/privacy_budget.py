"""The declared privacy budget: amounts as exact decimals, and the terms of a differentially private promise.

A loss is an epsilon or rho in whole units of 1e-12, a failure a delta or distance in whole units of 1e-18. A declared
amount must be a whole number of units, so that the ledger stores all of it. A computed amount is rounded up to whole
units. No float is used: the float 1.1 is a little more than 1.1, and a cap of 1.1 would not cover it.

Source: Bailie (2020), section 4.1; Rinott et al. (2018), section 7. docs/reference/dp-universe.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

from discreet.errors import BadDescription, BadRequest
from discreet.model.description.sections import check_texts, check_type, refuse_first, refuse_unknown_keys
from discreet.model.limits import MOST_RECORDS_PER_UNIT
from discreet.model.messages.text import nearest

LOSS_UNIT = Fraction(1, 10**12)
FAILURE_UNIT = Fraction(1, 10**18)
#: A number with a larger exponent is no amount, and would be slow to expand.
_MOST_DIGITS = 30


def read_amount(value: object, what: str, unit: Fraction = LOSS_UNIT) -> Fraction:
    """An amount as the exact decimal that was written.

    Raises:
        BadRequest: It is no number, or no multiple of `unit`; `what` is its name in errors.

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
    """A number as the decimal that was written; for a float, its shortest decimal."""
    plain = isinstance(value, int | float | str | Decimal) and not isinstance(value, bool)
    try:
        amount = Decimal(str(value) if plain else "nan")
    except InvalidOperation:
        return None
    return Fraction(amount) if amount.is_finite() and abs(amount.adjusted()) <= _MOST_DIGITS else None


def round_up_to_units(loss: Fraction | float, failure: Fraction | float) -> tuple[Fraction, Fraction]:
    """A loss and a failure, rounded up to the units of the ledger."""
    return (
        ceil(Fraction(loss) / LOSS_UNIT) * LOSS_UNIT,
        ceil(Fraction(failure) / FAILURE_UNIT) * FAILURE_UNIT,
    )


def five_digits(amount: Fraction) -> str:
    """An amount for display: five significant digits, rounded down.

    >>> five_digits(Fraction("3.000018872563")), five_digits(Fraction(1, 3))
    ('3', '0.33333')
    """
    if not amount:
        return "0"
    places = 5 - 1 - floor(log10(amount))
    return format_amount(Fraction(floor(amount * Fraction(10) ** places)) / Fraction(10) ** places)


def format_amount(amount: Fraction) -> str:
    """An amount in whole units as a decimal with all digits.

    >>> format_amount(Fraction(11, 10)), format_amount(Fraction(4)), format_amount(Fraction(1, 10**9))
    ('1.1', '4', '1e-9')
    """
    plain = (Decimal(amount.numerator) / Decimal(amount.denominator)).normalize()
    return f"{plain:e}" if plain and plain.adjusted() < -4 else f"{plain:f}"


NEIGHBOURS = ("add-remove", "replace-one")
#: The invariant that is no variable: the number of records.
NUMBER = "n"
SPREADS = ("equal", "importance", "optimised")
MEASURES = ("variance", "absolute")
COMPOSITIONS = ("basic", "zcdp")
#: The default of `max_exact`.
MOST_EXACT = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Terms:
    """The budget of one version of a dataset, and the definition of its neighbours.

    Args:
        name: The budget that datasets about the same people share.
        epsilon: The cost of one version's universe.
        delta: The delta at which the promise is stated.
        cap_epsilon: The lifetime cap of the budget; required in a file.
        cap_delta: The lifetime cap of delta; by default for as many versions as `cap_epsilon` covers.
        neighbours: `add-remove`: one privacy unit more or less. `replace-one`: one unit's records are changed.
        invariants: Public facts: `n`, the number of records (neighbours are then `replace-one`, Bailie 4.1), and a
            variable whose totals are public: a replaced record keeps its category (docs/methods/dp.md).
        records_per_unit: The maximum number of records per person (privacy unit), enforced at load.
        spread: How the budget is allocated to margins.
        measure: The error that `optimised` minimises: variance or expected absolute error.
        composition: The composition of an interactive ledger: `basic` or `zcdp`. The file calls it `rule`.
        answer_cost: The cost of one table outside the universe for an account with a share of the ledger: epsilon
            under `basic`, rho under `zcdp`. Zero: no such table is answered.
        max_exact: The largest probability with which noise may leave a count unchanged.
        calibrate: Whether noise of independent tables is minimised for the claim, instead of shares that add up to
            epsilon. True if a file leaves it out.
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
        epsilon, delta = f"epsilon {float(self.epsilon):g}", f"delta {float(self.delta):g}"
        refuse_first(
            (
                not self.name,
                "The budget has no name.",
                'Write name = "a name for the datasets about the same people".',
            ),
            (
                self.epsilon <= 0 or not 0 <= self.delta < 1,
                f"The budget is {epsilon}, {delta}.",
                "Epsilon must be above 0, delta from 0 to below 1.",
            ),
        )
        object.__setattr__(self, "cap_epsilon", self.cap_epsilon or self.epsilon)
        versions = max(1, ceil(self.cap_epsilon / self.epsilon))
        object.__setattr__(self, "cap_delta", self.cap_delta or versions * self.delta)
        cap, cap_delta = f"{float(self.cap_epsilon):g}", f"{float(self.cap_delta):g}"
        refuse_first(
            (
                self.cap_epsilon < self.epsilon or self.cap_delta < self.delta,
                f"One version spends {epsilon} and {delta}, more than the lifetime cap of {cap} and {cap_delta}.",
                "Lower epsilon and delta. The cap of a budget that nothing was charged to yet may be raised instead.",
            ),
            (
                self.cap_delta >= 1,
                f"cap_delta is {cap_delta}, and a delta of 1 promises nothing. By default it is delta for each of the "
                f"{versions:,} versions that cap_epsilon allows.",
                "Raise epsilon, lower delta, or write cap_delta below 1.",
            ),
            (
                not 1 <= self.records_per_unit <= MOST_RECORDS_PER_UNIT,
                f"records_per_unit is {self.records_per_unit}.",
                f"Give a whole number from 1 to {MOST_RECORDS_PER_UNIT}.",
            ),
            (
                self.answer_cost < 0 or (self.composition == "basic" and self.answer_cost > self.cap_epsilon),
                f"answer_cost is {float(self.answer_cost):g}, and the budget has cap_epsilon {cap}.",
                "Give what one table may cost, from above 0 to the cap, or leave it out.",
            ),
            (
                not 0 < self.max_exact < 1,
                f"max_exact of the budget is {float(self.max_exact):g}.",
                "Give a number between 0 and 1.",
            ),
            (
                len(self.held) > 1,
                f"The totals of {' and of '.join(self.held)} are invariants.",
                "Name one variable, the finest level whose totals are exact: with two nobody could be replaced.",
            ),
            (
                self.invariants and self.neighbours != "replace-one",
                "The number of records is an invariant, and neighbours add or remove a person.",
                'Write neighbours = "replace-one": a public n gives an added person away.',
            ),
        )

    @property
    def known_total(self) -> bool:
        """Whether the number of records is public, so that the grand total needs no noise."""
        return bool(self.invariants)

    @property
    def held(self) -> tuple[str, ...]:
        """The variable whose totals are public, if any; a replaced record keeps its category."""
        return tuple(name for name in self.invariants if name != NUMBER)

    @property
    def changes(self) -> int:
        """The number of cells of a table that one record changes: two if it is replaced."""
        return 2 if self.neighbours == "replace-one" else 1


#: Required keys with advice.
_NEEDED = {
    "name": 'Write name = "a name that all datasets about the same people use".',
    "epsilon": "Write epsilon = 1.0, or what all tables of this version may cost together.",
    "cap_epsilon": "Write cap_epsilon = 4.0, or what all versions and all datasets of this budget may ever cost together. "
    "It can be lowered later and never raised; a cap that equals epsilon leaves nothing for a second version.",
}


#: Fields with another name in the file.
_IN_THE_FILE = {"composition": "rule"}
#: The keys that are amounts, with their units.
_AMOUNTS = dict.fromkeys(("epsilon", "cap_epsilon", "answer_cost", "max_exact"), LOSS_UNIT)
_AMOUNTS |= dict.fromkeys(("delta", "cap_delta"), FAILURE_UNIT)
#: Every key of `[protection.budget]`, and the field that it fills.
KEYS = {_IN_THE_FILE.get(field.name, field.name): field.name for field in fields(Terms)}
#: Older names of keys.
ALIASES = {"family": "name"}


def parse_terms(entry: Mapping[str, Any]) -> Terms:
    """Parse `[protection.budget]`."""
    for old, key in ALIASES.items():
        if old in entry and key in entry:
            raise BadDescription(f"[protection.budget] has `{key}` and `{old}`.", f"Keep `{key}`.")
    entry = {ALIASES.get(key, key): value for key, value in entry.items()}
    refuse_unknown_keys(entry, KEYS, "[protection.budget]")
    for key, advice in _NEEDED.items():
        if key not in entry:
            raise BadDescription(f"[protection.budget] lacks `{key}`.", advice)
    return Terms(**{KEYS[key]: _read(key, value) for key, value in entry.items()})


def _read(key: str, value: Any) -> Any:
    """Validate the value of a key; amounts are read as exact decimals."""
    if key in _AMOUNTS:
        number = None if isinstance(value, str) else value
        try:
            return read_amount(number, f"`{key}` of the budget", _AMOUNTS[key])
        except BadRequest as error:
            raise BadDescription(error.message, error.advice) from None
    if key == "invariants":
        advice = 'Write invariants = ["n"], or ["n", "region"] where totals by region are exact.'
        check_texts(value, "`invariants` of the budget", advice)
        return tuple(sorted({*value, NUMBER})) if value else ()
    check_type(value, {"records_per_unit": int, "calibrate": bool}.get(key, str), f"`{key}` of the budget")
    return value
