"""Categories that are classes of whole numbers, "25-29" or "85+": where each begins and ends.

A range of ages may then be asked for by numbers, as long as its ends are where classes end: 25..64 is 25-29 to 60-64.
A number inside a class is refused with the name of the class: half a class cannot be counted.

Which categories an item of a filter or a group means, beside its variable.

    0-4             the category with that code, or with that label (capital letters do not matter)
    25..64, 65..    a range in the declared order; its ends are codes, labels, or numbers where classes end
    region:R01      all categories below category R01 of the level region, or in that group of a code list
    R01*, ?1        all categories whose code has that form

A code always wins, then a label, a level, a range, a form. A backslash makes `.`, `:`, `*` and `?` plain. `shortest`
writes a long list of codes as ranges, which read back as the same codes.

Names that whoever asks gives to groups: words beside the question, which never change its cells.

A name is a label of somebody's own. It is data like every label, and it must not pass for something that the custodian
declared: it is refused where it is the code or label of other categories, of a level or of a total. The table says in a
note which groups have such names. A name is no part of a question's identity.
"""

from __future__ import annotations

import fnmatch
import glob
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NoReturn

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.dataset import Dataset
from discreet.model.grammar import protect, split, unescape
from discreet.model.hierarchy import Group, level_groups, level_names
from discreet.model.messages.text import Label, Message, first_few, message
from discreet.model.variable import TOTAL, Category, Variable, nearest_category

#: The lowest and the highest number of a class.
Bounds = tuple[float, float]

_WORDS = r"(?:\s+[^0-9]*)?"
_CLASS = re.compile(rf"([0-9]{{1,18}})\s*(?:[-\u2013\u2014]|to)\s*([0-9]{{1,18}}){_WORDS}\Z")
_OPEN = re.compile(
    rf"([0-9]{{1,18}})(?:\s*\+{_WORDS}|(?:\s+[^0-9\s]+)?\s+(?:and|or)\s+(?:over|above|more|older))\Z",
    re.IGNORECASE,
)
_BELOW = re.compile(rf"(?:<|(?:under|below|less than)\s)\s*([0-9]{{1,18}}){_WORDS}\Z", re.IGNORECASE)
_BEGINNINGS = frozenset("0123456789<ubl")
_SINGLE = re.compile(rf"([0-9]{{1,18}}){_WORDS}\Z")


def number_classes(codes: Sequence[str], labels: Sequence[str]) -> dict[int, Bounds]:
    """The categories that are classes of numbers, by their places, each with its lowest and highest number.

    The codes tell it if one of them is a class of several numbers, else the labels; if all are single numbers, the
    codes again. A category that its own text does not make a class has no place here: "U", "Not stated".

    >>> number_classes(["1", "2", "9"], ["25 to 29 years", "30 and over", "Not stated"])
    {0: (25, 29), 1: (30, inf)}
    """
    telling = next((texts for texts in (codes, labels) if any(map(_several, texts))), None)
    telling = telling or (codes if any(map(_single, codes)) else labels)
    bounds = ((place, _several(text) or _single(text)) for place, text in enumerate(telling))
    return {place: each for place, each in bounds if each is not None}


def _several(text: str) -> Bounds | None:
    if text[:1].lower() not in _BEGINNINGS:
        return None  # at once: areas are many
    if found := _CLASS.match(text):
        low, high = int(found[1]), int(found[2])
        return (low, high) if low <= high else None
    if found := _OPEN.match(text):
        return int(found[1]), math.inf
    if found := _BELOW.match(text):
        return -math.inf, int(found[1]) - 1
    return None


def _single(text: str) -> Bounds | None:
    found = _SINGLE.match(text)
    return (int(found[1]), int(found[1])) if found else None


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
            codes = first_few([self.categories[place].code for place in same], _MOST_NAMED)
            raise UnknownCategory(
                message(
                    '{count} categories of "{name}" are called {text!r}.',
                    count=len(same),
                    name=self.name,
                    text=text,
                ),
                message("Write a code: {codes}.", codes=codes),
            )
        return same[0] if same else None


def select(dataset: Dataset, name: str, item: str) -> tuple[int, ...]:
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
            _refuse_unknown(above, rest[0])
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
            message(
                "The request has {count} ranges, levels, patterns and words that are no code.",
                count=len(looked),
            ),
            message("Write at most {most}; codes and labels are not counted.", most=most_read(looked)),
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
    item = f"{_protect_dots(codes[0])}..{_protect_dots(codes[-1])}"
    if len(run) < SHORTEST_RANGE or ":" in item:
        return codes
    try:
        return [item] if _places(scale, item) == tuple(run) else codes
    except BadRequest:  # several categories have it for a label
        return codes


def _protect_dots(code: str) -> str:
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
            message('The range "{item}" has no end.', item=item), message("Write 25..64, 25.. or ..64.")
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
        message('The range "{item}" of "{name}" runs backwards.', item=item, name=scale.name),
        message("Begin with the end that is listed first."),
    )


def _end(scale: Scale, text: str, side: int) -> int:
    """The place at which a range begins (side 0) or ends (side 1)."""
    place = scale.place(text)
    if place is not None:
        return place
    if not _NUMBER.match(text) or not scale.bounds:
        _refuse_unknown(scale, text)
    number = int(text)
    there = [place for place, bounds in scale.bounds.items() if bounds[side] == number]
    if len(there) == 1:
        return there[0]
    if there:
        codes = tuple(scale.categories[place].code for place in there[:_MOST_NAMED])
        raise BadRequest(
            message('{number} is an end of several categories of "{name}".', number=number, name=scale.name),
            message("Write a code: {codes:comma}.", codes=codes),
        )
    return _refuse_inside(scale, number, side)


def _refuse_inside(scale: Scale, number: int, side: int) -> NoReturn:
    for place, (low, high) in scale.bounds.items():
        if low <= number <= high:
            category = scale.categories[place]
            raise BadRequest(
                message(
                    '{number} lies inside the category "{label}" of "{name}", which cannot be divided.',
                    number=number,
                    label=category.label,
                    name=scale.name,
                ),
                message(
                    "Let the range end with the whole category ({code}), or beside it.", code=category.code
                )
                if side
                else message(
                    "Let the range begin with the whole category ({code}), or beside it.", code=category.code
                ),
            )
    ends = [str(bounds[side]) for bounds in scale.bounds.values() if math.isfinite(bounds[side])]
    if side:
        none = message('No category of "{name}" ends at {number}.', name=scale.name, number=number)
        raise BadRequest(none, message("Categories end at {known}.", known=first_few(ends)))
    none = message('No category of "{name}" begins at {number}.', name=scale.name, number=number)
    raise BadRequest(none, message("Categories begin at {known}.", known=first_few(ends)))


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


def _refuse_unknown(scale: Scale, text: str) -> NoReturn:
    advice = nearest_category(text, scale.codes, [category.label for category in scale.categories])
    raise UnknownCategory(message('"{name}" has no category {text!r}.', name=scale.name, text=text), advice)


#: For each group that a variable shows, by its codes, its name; empty where it has none.
NamedGroups = tuple[tuple[tuple[str, ...], str], ...]

LONGEST_NAME = 100
#: Controls, halves of characters and line ends; what turns the direction of writing.
_FORBIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def take_name(dataset: Dataset, variable: str, group: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The name before the first item of a group, and the group without it; a code with a colon is no name.

    Raises:
        BadRequest: A name that cannot be used.
    """
    own = dataset.variable(variable)
    if not group or group[0] in own or scale_of(own).place(group[0]) is not None:
        return "", group
    name, *first = split(group[0], ":", limit=1)
    if not first or unescape(name) in level_names(dataset, variable):
        return "", group
    _refuse_characters(unescape(name))
    return unescape(name), (first[0].strip(), *group[1:])


def write_named(items: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The items of a group with its name, as `take_name` reads them."""
    return (f"{protect(name, ':')}:{items[0]}", *items[1:]) if name else items


def group_label(variable: Variable, codes: tuple[str, ...]) -> str:
    """What a group is called without a name: its labels."""
    labels = tuple(variable.categories[variable.position(code)].label for code in codes)
    return Message("{labels:plus}", {"labels": labels})


def canonical_names(
    dataset: Dataset, variable: Variable, given: Mapping[tuple[str, ...], str]
) -> NamedGroups:
    """The names of all groups that are shown, by their codes; none at all where each has its own label.

    Raises:
        BadRequest: A name that cannot be used, or that means something else in this dataset.
    """
    if not any(given.values()):
        return ()
    declared = _scales(dataset, variable)
    own = {codes: group_label(variable, codes) for codes in given}
    names = {codes: "" if name == own[codes] else name for codes, name in given.items()}
    labels = Counter((name or own[codes]).casefold() for codes, name in names.items())
    for codes, name in ((codes, name) for codes, name in names.items() if name):
        _refuse_characters(name)
        _refuse_taken(variable, codes, name, declared, dataset.unit)
        if labels[name.casefold()] > 1:
            raise BadRequest(
                message(
                    'Two groups of "{variable}" would be called {name!r}.', variable=variable.name, name=name
                ),
                message("Give each its own name."),
            )
    return tuple(names.items()) if any(names.values()) else ()


def _refuse_characters(name: str) -> None:
    bad = [c for c in name if unicodedata.category(c) in _FORBIDDEN or unicodedata.bidirectional(c) in _TURNS]
    if bad or not 0 < len(name) <= LONGEST_NAME or name != name.strip():
        raise BadRequest(
            message("A group cannot be called {name!a}.", name=name[:LONGEST_NAME]),
            message(
                "Use 1 to {longest_name} characters, without control characters and without blanks at the "
                "ends.",
                longest_name=LONGEST_NAME,
            ),
        )


def _refuse_taken(
    variable: Variable, codes: tuple[str, ...], name: str, declared: list[Scale], unit: str
) -> None:
    """Refuse the words of something else: another category, a group of a level, a level, a total, a code with a colon."""
    members = tuple(variable.position(code) for code in codes)
    others = any(
        _members(scale, place) != members
        for scale in declared
        for place in (
            *scale.labels.get(name.casefold(), ()),
            *((scale.codes[name],) if name in scale.codes else ()),
        )
    )
    totals = {"total", TOTAL.casefold(), f"total (all {unit})".casefold()}
    if others or name.casefold() in totals or name in {scale.name for scale in declared}:
        raise BadRequest(
            message(
                'A group of "{variable}" cannot be called {name!r}: the dataset calls something else so.',
                variable=variable.name,
                name=name,
            ),
            message("Choose another name."),
        )
    first = write_named(shortest(variable, codes), name)[0]
    if declared[-1].place(first) is not None:
        raise BadRequest(
            message(
                'A group of "{variable}" cannot be called {name!r}: before its first code that reads as '
                "another code.",
                variable=variable.name,
                name=name,
            ),
            message("Choose another name."),
        )


def _scales(dataset: Dataset, variable: Variable) -> list[Scale]:
    """The levels of a variable as scales, its own categories last."""
    *coarser, _ = level_names(dataset, variable.name)
    return [
        *(Scale(each, level_groups(dataset, variable.name, each)) for each in coarser),
        scale_of(variable),
    ]


def _members(scale: Scale, place: int) -> tuple[int, ...]:
    """The base categories of one category of a level; a category of the variable itself is its own."""
    category = scale.categories[place]
    return category.members if isinstance(category, Group) else (place,)
