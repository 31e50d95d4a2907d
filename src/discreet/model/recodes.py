"""What the values of a file become: `values = { "0..14" = "child", "M" = "1" }` of a `[[variable]]`.

A value is looked for among the single values first, then among the ranges, then it is taken as it is. Ranges hold
numbers or ISO dates; both ends belong to them, but for the upper end of `a..<b`. An end that is left out has no limit.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from discreet.errors import BadDescription
from discreet.model.nearest import nearest

#: An end of a range.
End: TypeAlias = Decimal | dt.date
_DATE = r"\d{4}-\d{2}-\d{2}"
_END = rf"({_DATE}|-?\d+(?:\.\d+)?)?"
_RANGE = re.compile(rf"{_END}\s*\.\.(<?)\s*{_END}\Z")


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values from `low` to `high`, and the code that they become.

    >>> value_range("15..<65", "adult").holds(Decimal("64.5"))
    True
    """

    code: str
    low: End | None
    high: End | None
    below: bool = False

    @property
    def of_dates(self) -> bool:
        """Whether the ends are dates."""
        return isinstance(self.high if self.low is None else self.low, dt.date)

    def holds(self, value: End) -> bool:
        """Whether a value lies in the range."""
        above = self.low is None or value >= self.low  # type: ignore[operator]
        return above and (self.high is None or value < self.high or (value == self.high and not self.below))  # type: ignore[operator]

    def meets(self, other: ValueRange) -> bool:
        """Whether a value could lie in both."""
        if self.of_dates != other.of_dates:
            return False
        ends = [each.low for each in (self, other) if each.low is not None]
        return not ends or all(each.holds(max(ends)) for each in (self, other))


@dataclass(frozen=True, slots=True)
class Recodes:
    """The declared recodes of one variable: single values with their codes, and ranges."""

    single: tuple[tuple[str, str], ...] = ()
    ranges: tuple[ValueRange, ...] = ()


def value_range(text: str, code: str) -> ValueRange | None:
    """A range, or None where the text is a single value.

    >>> value_range("65..", "old")
    ValueRange(code='old', low=Decimal('65'), high=None, below=False)
    """
    found = _RANGE.match(text.strip())
    if found is None or not (found[1] or found[3]):
        return None
    low, high = (_end(found[place]) for place in (1, 3))
    if low is not None and high is not None and (type(low) is not type(high) or low > high):  # type: ignore[operator]
        raise BadDescription(f"The range {text!r} is empty.", "Write the lower end first: 15..64.")
    return ValueRange(code, low, high, bool(found[2]))


def _end(text: str | None) -> End | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text) if re.fullmatch(_DATE, text) else Decimal(text)
    except ValueError:
        raise BadDescription(f"{text!r} is no date.", "Write a date as 1990-12-31.") from None


def recodes_of(given: Any, codes: tuple[str, ...], where: str) -> Recodes:
    """Read `values` of a variable.

    Raises:
        BadDescription: A code that is no category, an empty range, or two ranges that overlap.
    """
    if not isinstance(given, dict) or not all(isinstance(code, str) for code in given.values()):
        raise BadDescription(
            f"`values` of {where} is no table of texts.", 'Write values = { "M" = "1", "0..14" = "child" }.'
        )
    known = set(codes)
    for value, code in given.items():
        if code not in known:
            raise BadDescription(
                f"`values` of {where} makes {value!r} the code {code!r}, which is no category.",
                nearest(code, codes),
            )
    single, ranges = [], []
    for value, code in given.items():
        found = value_range(value, code)
        if found is None:
            single.append((value.strip(), code))
        else:
            ranges.append((value, found))
    _refuse_overlap(ranges, where)
    return Recodes(tuple(single), tuple(each for _, each in ranges))


def missing_of(given: Any, where: str) -> Recodes:
    """Read `missing` of a variable: values and ranges that count as missing.

    Raises:
        BadDescription: It is no list of texts.
    """
    if not isinstance(given, list) or not all(isinstance(value, str) for value in given):
        raise BadDescription(
            f"`missing` of {where} is {given!r}.", 'Write the values in quotes: missing = ["-9", "NA"].'
        )
    ranges = {value: value_range(value, "") for value in given}
    single = tuple((value.strip(), "") for value, found in ranges.items() if found is None and value.strip())
    return Recodes(single, tuple(found for found in ranges.values() if found is not None))


def _refuse_overlap(ranges: list[tuple[str, ValueRange]], where: str) -> None:
    for place, (text, one) in enumerate(ranges):
        for other_text, other in ranges[:place]:
            if one.meets(other):
                raise BadDescription(
                    f"The ranges {other_text!r} and {text!r} of {where} overlap.",
                    "Let each begin after the other ends: 0..14, 15..64.",
                )
