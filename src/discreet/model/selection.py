r"""Which categories an item of a filter or a group means, beside its variable.

    0-4             the category with that code, or with that label (capital letters do not matter)
    25..64, 65..    a range in the declared order; its ends are codes, labels, or numbers where classes end
    region:R01      all categories below category R01 of the level region, or in that group of a code list
    R01*, ?1        all categories whose code has that form

A code always wins, then a label, a level, a range, a form. A backslash makes `.`, `:`, `*` and `?` plain. `shortest`
writes a long list of codes as ranges, which read back as the same codes.
"""

from __future__ import annotations

import fnmatch
import glob
import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NoReturn

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.grammar import protect, split, unescape
from discreet.model.levels import level_groups, level_names
from discreet.model.number_classes import number_classes
from discreet.model.told import Label, first_of, told
from discreet.model.variable import nearest_category

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.model.levels import Group
    from discreet.model.number_classes import Bounds
    from discreet.model.variable import Category, Variable

#: A request has at most so many ranges, levels and forms.
MOST_READ = 50
#: Each looks at all categories of its variable, and all together at so many at most.
MOST_LOOKED_AT = 5_000_000
#: Fewer neighbours are written one by one.
SHORTEST_RANGE = 3
#: Up to so many codes are written one by one; of more, ranges if they are shorter.
LONG = 20
_MOST_NAMED = 5
_NUMBER = re.compile(r"[0-9]{1,18}\Z")


@dataclass(frozen=True, eq=False)
class Scale:
    """The ordered categories of a variable, or the groups of one of its levels."""

    name: str
    categories: tuple[Category | Group, ...]
    not_stated: str | None = None

    @cached_property
    def codes(self) -> dict[str, int]:
        """The place of each code."""
        return {category.code: place for place, category in enumerate(self.categories)}

    @cached_property
    def labels(self) -> dict[str, list[int]]:
        """The places of each label, in small letters; a label in another language where no category is called so."""
        found: dict[str, list[int]] = {}
        others: dict[str, list[int]] = {}
        for place, category in enumerate(self.categories):
            found.setdefault(category.label.strip().casefold(), []).append(place)
            for text in category.label.others.values() if isinstance(category.label, Label) else ():
                places = others.setdefault(text.strip().casefold(), [])
                places += [place] if place not in places else []
        return others | found

    @cached_property
    def bounds(self) -> dict[int, Bounds]:
        """The places of categories that are classes of numbers, with the lowest and the highest number of each."""
        return number_classes([c.code for c in self.categories], [c.label for c in self.categories])

    @cached_property
    def unknown(self) -> set[int]:
        """The place of "not stated", which a range takes as an end only."""
        return set() if self.not_stated is None else {self.codes[self.not_stated]}

    @cached_property
    def no_numbers(self) -> set[int]:
        """That, and the places of all that is no class of numbers, which a range of classes takes as an end only."""
        return self.unknown | (set(range(len(self.categories))) - set(self.bounds))

    def place(self, text: str) -> int | None:
        """The place of a code, or of a label that one category has; None if there is none.

        Raises:
            UnknownCategory: Several categories have the label; their codes are named.
        """
        if text in self.codes:
            return self.codes[text]
        same = self.labels.get(text.casefold(), []) if text else []
        if len(same) > 1:
            codes = first_of([self.categories[place].code for place in same], _MOST_NAMED)
            raise UnknownCategory(
                told(
                    '{count} categories of "{name}" are called {text!r}.',
                    count=len(same),
                    name=self.name,
                    text=text,
                ),
                told("Write a code: {codes}.", codes=codes),
            )
        return same[0] if same else None


def selected(dataset: Dataset, name: str, item: str) -> tuple[int, ...]:
    """The places of the categories of a variable that an item means, ascending.

    Raises:
        UnknownCategory: It means none; the nearest is named.
        BadRequest: A range that runs backwards, or ends inside a class.
    """
    variable = dataset.variable(name)
    if item in variable:
        return (variable.position(item),)
    scale = scale_of(variable)
    level, *rest = split(item, ":", limit=1)
    if rest and scale.place(item) is None and unescape(level) in level_names(dataset, name):
        groups = level_groups(dataset, name, unescape(level))
        above = scale if unescape(level) == name else Scale(unescape(level), groups)
        places = _places(above, rest[0].strip())
        if not places:
            _unknown(above, rest[0])
        return tuple(sorted(member for place in places for member in groups[place].members))
    places = _places(scale, item)
    return places or (variable.position(item),)


def refuse_many(dataset: Dataset, items: Iterable[tuple[str, str]]) -> None:
    """Refuse a request with too much to look for.

    Args:
        dataset: The description.
        items: All that is written, with the variable of each.
    """
    pairs = ((dataset.variable(name), item) for name, item in items)
    looked = [len(v) for v, item in pairs if item not in v and scale_of(v).place(item) is None]
    if len(looked) > most_read(looked):
        raise BadRequest(
            told(
                "The request has {count} ranges, levels, patterns and words that are no code.",
                count=len(looked),
            ),
            told("Write at most {most}; codes and labels are not counted.", most=most_read(looked)),
        )


def most_read(sizes: Iterable[int]) -> int:
    """How many items may look at variables with so many categories; fewer where these are many."""
    return min(MOST_READ, max(1, MOST_LOOKED_AT // max(sizes, default=1)))


@lru_cache(maxsize=256)
def scale_of(variable: Variable) -> Scale:
    """The categories of a variable as a scale; made once, since areas are many."""
    return Scale(variable.name, variable.categories, variable.not_stated)


def shortest(variable: Variable, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The items that write codes, given in their order: ranges where the codes are many and ranges are shorter."""
    if len(codes) <= LONG:
        return codes
    places = enumerate(variable.position(code) for code in codes)
    runs = [[place for _, place in run] for _, run in groupby(places, lambda pair: pair[1] - pair[0])]
    if sum(len(run) >= SHORTEST_RANGE for run in runs) > MOST_READ:
        return codes
    items = tuple(item for run in runs for item in _written(scale_of(variable), run))
    return items if sum(map(len, items)) < sum(map(len, codes)) else codes


def _written(scale: Scale, run: list[int]) -> list[str]:
    """Neighbours as a range, if it reads back as the same; else one by one."""
    codes = [scale.categories[place].code for place in run]
    item = f"{_protected(codes[0])}..{_protected(codes[-1])}"
    if len(run) < SHORTEST_RANGE or ":" in item:
        return codes
    try:
        return [item] if _places(scale, item) == tuple(run) else codes
    except BadRequest:  # several categories have it for a label
        return codes


def _protected(code: str) -> str:
    """A code as an end of a range: its own dots must not look like those of the range."""
    return protect(code, "." if ".." in code or code[0] == "." or code[-1] == "." else "")


def _places(scale: Scale, item: str) -> tuple[int, ...]:
    """What an item means on one scale; none if it means nothing."""
    for text in (item, unescape(item)):
        place = scale.place(text)
        if place is not None:
            return (place,)
    return _range(scale, item) or _matching(scale, item)


def _range(scale: Scale, item: str) -> tuple[int, ...]:
    """The places of a range; none if the item is no range."""
    ends = split(item, "..", limit=1)
    if len(ends) == 1:
        return ()
    low, high = (unescape(end) for end in ends)
    if not low and not high:
        raise BadRequest(
            told('The range "{item}" has no end.', item=item), told("Write 25..64, 25.. or ..64.")
        )
    numbers = [int(end) for end in (low, high) if _NUMBER.match(end) and scale.place(end) is None]
    if numbers != sorted(numbers):
        _refuse_backwards(scale, item)
    first = _end(scale, low, 0) if low else 0
    last = _end(scale, high, 1) if high else len(scale.categories) - 1
    named = {place for end, place in ((low, first), (high, last)) if end}
    passed = scale.no_numbers if all(place in scale.bounds for place in named) else scale.unknown
    found = tuple(place for place in range(first, last + 1) if place in named or place not in passed)
    return found or _refuse_backwards(scale, item)


def _refuse_backwards(scale: Scale, item: str) -> NoReturn:
    raise BadRequest(
        told('The range "{item}" of "{name}" runs backwards.', item=item, name=scale.name),
        told("Begin with the end that is listed first."),
    )


def _end(scale: Scale, text: str, side: int) -> int:
    """The place at which a range begins (side 0) or ends (side 1)."""
    place = scale.place(text)
    if place is not None:
        return place
    if not _NUMBER.match(text) or not scale.bounds:
        _unknown(scale, text)
    number = int(text)
    there = [place for place, bounds in scale.bounds.items() if bounds[side] == number]
    if len(there) == 1:
        return there[0]
    if there:
        codes = tuple(scale.categories[place].code for place in there[:_MOST_NAMED])
        raise BadRequest(
            told('{number} is an end of several categories of "{name}".', number=number, name=scale.name),
            told("Write a code: {codes:comma}.", codes=codes),
        )
    return _refuse_inside(scale, number, side)


def _refuse_inside(scale: Scale, number: int, side: int) -> NoReturn:
    for place, (low, high) in scale.bounds.items():
        if low <= number <= high:
            category = scale.categories[place]
            raise BadRequest(
                told(
                    '{number} lies inside the category "{label}" of "{name}", which cannot be divided.',
                    number=number,
                    label=category.label,
                    name=scale.name,
                ),
                told("Let the range end with the whole category ({code}), or beside it.", code=category.code)
                if side
                else told(
                    "Let the range begin with the whole category ({code}), or beside it.", code=category.code
                ),
            )
    ends = [str(bounds[side]) for bounds in scale.bounds.values() if math.isfinite(bounds[side])]
    if side:
        none = told('No category of "{name}" ends at {number}.', name=scale.name, number=number)
        raise BadRequest(none, told("Categories end at {known}.", known=first_of(ends)))
    none = told('No category of "{name}" begins at {number}.', name=scale.name, number=number)
    raise BadRequest(none, told("Categories begin at {known}.", known=first_of(ends)))


def match_form(form: Iterable[str], codes: Iterable[str]) -> tuple[int, ...]:
    r"""The places of the codes of a form, given letter by letter; a backslash before a letter makes it plain.

    Stars are atomic (`fnmatch`), so that many of them cost no more than one. What is longer than every code is not tried.

    >>> match_form("?1*", ["R1", "R10", "R2"]), match_form(["R", "\\*"], ["R*", "R1"])
    ((0, 1), (0,))
    """
    letters, known = list(form), list(codes)
    if len(letters) - letters.count("*") > max(map(len, known), default=0):
        return ()
    pattern = "".join(letter if letter in {"*", "?"} else glob.escape(letter[-1]) for letter in letters)
    matches = re.compile(fnmatch.translate(pattern)).match
    return tuple(place for place, code in enumerate(known) if matches(code))


def _matching(scale: Scale, item: str) -> tuple[int, ...]:
    """The places of the codes of a form; none if the item has no star or question mark."""
    letters = re.findall(r"\\.|.", item, re.DOTALL)
    return match_form(letters, scale.codes) if {"*", "?"} & set(letters) else ()


def _unknown(scale: Scale, text: str) -> NoReturn:
    advice = nearest_category(text, scale.codes, [category.label for category in scale.categories])
    raise UnknownCategory(told('"{name}" has no category {text!r}.', name=scale.name, text=text), advice)
