"""Variables and their categories, recodes of source values, hierarchies, code lists and structural zeros.

    values = { "0..14" = "child", "M" = "1" }       recodes of a `[[variable]]`

A source value is looked up among the single values first, then among the ranges; otherwise it is its own code. Ranges hold
numbers or ISO dates and include both ends, except the upper end of `a..<b`. A missing end has no limit.

Codes and labels are data: they are escaped wherever they appear and never used as HTML, SQL, a formula or a path.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

from discreet.errors import BadDescription, UnknownCategory
from discreet.model.description.sections import refuse_first
from discreet.model.grammar import escape
from discreet.model.limits import MOST_LABELS_COMPARED
from discreet.model.messages.text import message, nearest, one_line

#: An end of a range.
End: TypeAlias = Decimal | dt.date
_DATE = r"\d{4}-\d{2}-\d{2}"
_END = rf"({_DATE}|-?\d+(?:\.\d+)?)?"
_RANGE = re.compile(rf"{_END}\s*\.\.(<?)\s*{_END}\Z")


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values from `low` to `high`, and their code."""

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
        """Whether two ranges overlap."""
        if self.of_dates != other.of_dates:
            return False
        ends = [each.low for each in (self, other) if each.low is not None]
        return not ends or all(each.holds(max(ends)) for each in (self, other))


@dataclass(frozen=True, slots=True)
class Recodes:
    """The recodes of one variable: single values with their codes, and ranges."""

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


def parse_recodes(given: Any, codes: tuple[str, ...], where: str) -> Recodes:
    """Parse `values` of a variable.

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
    read = [(value, code, value_range(value, code)) for value, code in given.items()]
    ranges = [(value, found) for value, _, found in read if found]
    for (text, one), (later_text, later) in combinations(ranges, 2):
        if one.meets(later):
            raise BadDescription(
                f"The ranges {text!r} and {later_text!r} of {where} overlap.",
                "Let each begin after the other ends: 0..14, 15..64.",
            )
    single = tuple((value.strip(), code) for value, code, found in read if not found)
    return Recodes(single, tuple(each for _, each in ranges))


def parse_missing(given: Any, where: str) -> Recodes:
    """Parse `missing` of a variable: values and ranges that count as missing."""
    if not isinstance(given, list) or not all(isinstance(value, str) for value in given):
        raise BadDescription(
            f"`missing` of {where} is {given!r}.", 'Write the values in quotes: missing = ["-9", "NA"].'
        )
    ranges = {value: value_range(value, "") for value in given}
    single = tuple((value.strip(), "") for value, found in ranges.items() if not found and value.strip())
    return Recodes(single, tuple(filter(None, ranges.values())))


#: The code of a total, in every table and format; `Dimension.labels` (model/shape.py) makes its label.
TOTAL = "_T"
#: Column names of tables; a variable of this name would make a file ambiguous.
RESERVED_NAMES = frozenset(
    {"count", "value", "signed", "status", "weight", "weighted", "measure", "total", "record_key"}
    | {"relative_standard_error", "noise_share", "time_period", "obs_value", "obs_status"}
)
#: The source of categories: unstated, a public code list, or the records themselves.
CATEGORIES_FROM = ("", "code list", "records")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
_SPAN = re.compile(r"[0-9]+-[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its code, its label and, at a finer level, the code of its parent."""

    code: str
    label: str
    parent: str | None = None

    def __post_init__(self) -> None:
        if not self.code or self.code != self.code.strip():
            raise BadDescription(
                f"The category code {self.code!r} is empty or has blanks at an end.",
                "Give each category a code.",
            )
        if self.code == TOTAL:
            raise BadDescription(f'The code "{TOTAL}" is reserved for totals.', "Choose another code.")


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable and its ordered categories.

    Variables are compared by identity, so that a list of 250,000 areas is never compared or hashed.

    Args:
        categories: In display order.
        column: The column of the records; its name by default.
        not_stated: The code of a missing value, and `unlisted` that of an unlisted one; without it such a value is refused.
        categories_from: `records` where a draft took the categories from the records, which `dp` does not allow.
        boundaries: The file with the shapes of its categories, next to the description; empty for none.
        topic: The heading under which readers find it.
        universe: The people to whom it applies, if not all.
        classification: A URL.
        missing: Source values that count as missing, like an empty one.
        recodes: Codes of source values that are not codes themselves.
    """

    name: str
    label: str
    categories: tuple[Category, ...]
    column: str = ""
    not_stated: str | None = None
    unlisted: str | None = None
    categories_from: str = ""
    boundaries: str = ""
    topic: str = ""
    description: str = ""
    universe: str = ""
    notes: str = ""
    source: str = ""
    classification: str = ""
    missing: Recodes = Recodes()
    recodes: Recodes = Recodes()

    def __post_init__(self) -> None:
        named = f'"{self.name}"'
        twice = len(self._positions) != len(self.categories)
        repeated = min(code for code, times in Counter(self.codes).items() if times > 1) if twice else ""
        refuse_first(
            (
                not _NAME.match(self.name),
                f"The variable name {self.name!r} is not usable.",
                "Use a letter, then letters, digits and underscores, at most 64 in all.",
            ),
            (
                self.name.lower() in RESERVED_NAMES or self.name.endswith("_label"),
                f"A variable cannot be called {named}: tables have a column of that name.",
                "Choose another name; `column` can still name the source column.",
            ),
            (not self.categories, f"The variable {named} has no categories.", "List its categories."),
            (
                twice,
                f"The variable {named} lists the code {repeated!r} twice.",
                "Give every category its own code.",
            ),
            (
                "/" in self.boundaries or "\\" in self.boundaries or self.boundaries.startswith("."),
                f"The boundaries of {named} are {self.boundaries!r}.",
                "Name a file that stands beside dataset.toml, as in areas.geojson.",
            ),
        )
        for what, code in (("not stated", self.not_stated), ("unlisted", self.unlisted)):
            if code is not None and code not in self._positions:
                raise BadDescription(
                    f'The "{what}" code {code!r} of {named} is not among its categories.',
                    "Add it to the categories.",
                )
        if self.categories_from not in CATEGORIES_FROM:
            raise BadDescription(
                f'`categories_from` of {named} is "{self.categories_from}".',
                nearest(self.categories_from, CATEGORIES_FROM[1:]),
            )
        object.__setattr__(self, "column", self.column or self.name)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {category.code: position for position, category in enumerate(self.categories)}

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes of all categories, in order."""
        return tuple(category.code for category in self.categories)

    def position(self, code: str) -> int:
        """The position of a code; the error for an unknown code suggests the nearest."""
        try:
            return self._positions[code]
        except KeyError:
            raise UnknownCategory(
                message('The variable "{name}" has no category {code!r}.', name=self.name, code=code),
                self._advice(code),
            ) from None

    def _advice(self, code: str) -> str:
        r"""The nearest code; for a code that was split at its comma or plus, how to escape it: `a\,b`."""
        parts = (c for c in self.codes if code and code != c and code in re.split(r"[,+=]", c))
        whole = next(parts, None)
        if whole is None:
            advice = nearest_category(code, self.codes, [category.label for category in self.categories])
            return f"A range is written {code.replace('-', '..')}. {advice}" if _SPAN.match(code) else advice
        return f'If you mean the code "{whole}", write it as {escape(whole)}: a backslash before , + = or \\.'

    def __contains__(self, code: object) -> bool:
        return code in self._positions

    def __len__(self) -> int:
        return len(self.categories)

    def __repr__(self) -> str:
        return one_line(self, f"{self.name}: {self.label}, {len(self)} categories")


def nearest_category(text: str, codes: Iterable[str], labels: Sequence[str]) -> str:
    """A sentence that suggests the nearest code; where no code is near, the nearest label."""
    by_code = nearest(text, codes)
    if by_code.startswith("Did") or len(labels) > MOST_LABELS_COMPARED:
        return by_code
    by_label = nearest(text, labels)
    return by_label if by_label.startswith("Did") else by_code


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Levels of one classification, coarse to fine: region > district > area."""

    name: str
    label: str
    levels: tuple[str, ...]
    geography: bool = False

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) != len(self.levels):
            raise BadDescription(
                f'The hierarchy "{self.name}" needs two or more different levels.',
                "List its variables, coarse to fine.",
            )


@dataclass(frozen=True, slots=True)
class StructuralZero:
    """A combination that cannot occur: its cells are empty by public knowledge.

    Args:
        label: The reason.
        where: By variable the codes that are impossible together.
        move_to: The codes that such a record gets at a load; empty where it is refused.
    """

    label: str
    where: tuple[tuple[str, frozenset[str]], ...]
    move_to: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return one_line(self, f"of {' and '.join(name for name, _ in self.where)}: {self.label}")


@dataclass(frozen=True, slots=True)
class CodeList:
    """The custodian's named grouping of a variable's categories: broad age bands, planning regions.

    `groups` has code, label and member codes of each group; groups do not overlap.
    """

    name: str
    label: str
    variable: str
    groups: tuple[tuple[str, str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        codes = [code for code, _, _ in self.groups]
        if not codes or len(set(codes)) != len(codes) or TOTAL in codes or "" in codes:
            raise BadDescription(
                f'The code list "{self.name}" needs one or more categories, each with a code of its own.',
                'Write categories = [{ code = "A", label = "...", members = ["1", "2"] }].',
            )
        members = [member for _, _, group in self.groups for member in group]
        if len(set(members)) != len(members) or not all(group for _, _, group in self.groups):
            raise BadDescription(
                f'A category of the code list "{self.name}" is empty or shares a member with another.',
                "Put each code in one category at most.",
            )

    def __repr__(self) -> str:
        return one_line(self, f"{self.name}: {self.label}, {len(self.groups)} groups of {self.variable}")
