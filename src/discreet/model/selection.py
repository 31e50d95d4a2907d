"""Parse an item of a filter or a group into the categories that it selects, and validate group names.

    0-4             the category with that code, or with that label (case-insensitive)
    25..64, 65..    a range in the declared order; its ends are codes, labels, or numbers at the ends of classes
    region:R01      all categories below category R01 of the level region, or in that group of a code list
    R01*, ?1        all categories whose code matches the pattern

A code takes precedence, then a label, a level, a range, a pattern. A backslash escapes `.`, `:`, `*` and `?`. `shortest`
writes a long list of codes as ranges, which parse to the same codes. A number inside a class such as "25-29" is refused:
half a class cannot be counted. A group name is a label of the requester; it must not pass for one of the custodian's.
"""

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
from discreet.model.limits import LONGEST_NAME, MOST_LOOKED_AT, MOST_READ
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
    """The categories that are classes of numbers, by position, each with its lowest and highest number.

    Codes decide if one of them is a class of several numbers, else labels; if all are single numbers, codes again.
    Categories that are no class, such as "Not stated", are left out.
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


#: Shorter runs of codes are written one by one.
SHORTEST_RANGE = 3
#: Longer lists of codes are written as ranges, if these are shorter.
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
        return {category.code: place for place, category in enumerate(self.categories)}

    @cached_property
    def labels(self) -> dict[str, list[int]]:
        """The positions of each case-folded label; a translated label only where no category has it as its own."""
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
        """The categories that are classes of numbers: position to lowest and highest number."""
        return number_classes([c.code for c in self.categories], [c.label for c in self.categories])

    @cached_property
    def unknown(self) -> set[int]:
        """The position of "not stated", which a range includes only as an end."""
        return set() if self.not_stated is None else {self.codes[self.not_stated]}

    @cached_property
    def no_numbers(self) -> set[int]:
        """Also the positions of categories that are no classes, which a range of classes includes only as ends."""
        return self.unknown | (set(range(len(self.categories))) - set(self.bounds))

    def place(self, text: str) -> int | None:
        """The position of a code, or of a label that one category has; None if there is none.

        Raises:
            UnknownCategory: Several categories have the label; the error lists their codes.
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
    """The positions of the categories of a variable that an item selects, ascending.

    Raises:
        UnknownCategory: It selects none; the error suggests the nearest.
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
    """Refuse a request with too many items that need a search; `items` has each with its variable."""
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
    """The maximum number of searches in variables of these sizes; fewer where they are large."""
    return min(MOST_READ, max(1, MOST_LOOKED_AT // max(sizes, default=1)))


@lru_cache(maxsize=256)
def scale_of(variable: Variable) -> Scale:
    """The categories of a variable as a scale; cached, because areas are many."""
    return Scale(variable.name, variable.categories, variable.not_stated)


def shortest(variable: Variable, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The items that write ordered codes: ranges where the codes are many and ranges are shorter."""
    if len(codes) <= LONG:
        return codes
    places = enumerate(variable.position(code) for code in codes)
    runs = [[place for _, place in run] for _, run in groupby(places, lambda pair: pair[1] - pair[0])]
    if sum(len(run) >= SHORTEST_RANGE for run in runs) > MOST_READ:
        return codes
    items = tuple(item for run in runs for item in _written(scale_of(variable), run))
    return items if sum(map(len, items)) < sum(map(len, codes)) else codes


def _written(scale: Scale, run: list[int]) -> list[str]:
    """Neighbours as a range if it parses to the same positions; else one by one."""
    codes = [scale.categories[place].code for place in run]
    ends = (codes[0], codes[-1])
    item = "..".join(protect(code, "." * (".." in code or "." in {code[0], code[-1]})) for code in ends)
    if len(run) < SHORTEST_RANGE or ":" in item:
        return codes
    try:
        return [item] if _places(scale, item) == tuple(run) else codes
    except BadRequest:  # several categories have it for a label
        return codes


def _places(scale: Scale, item: str) -> tuple[int, ...]:
    for text in (item, unescape(item)):
        place = scale.place(text)
        if place is not None:
            return (place,)
    letters = re.findall(r"\\.|.", item, re.DOTALL)
    return _range(scale, item) or (match_form(letters, scale.codes) if {"*", "?"} & set(letters) else ())


def _range(scale: Scale, item: str) -> tuple[int, ...]:
    """The positions of a range; none if the item is no range."""
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
    """The position at which a range begins (side 0) or ends (side 1)."""
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
            code, label = scale.categories[place].code, scale.categories[place].label
            begin = message("Let the range begin at the whole category ({code}), or next to it.", code=code)
            end = message("Let the range end at the whole category ({code}), or next to it.", code=code)
            text = message(
                '{number} lies inside the category "{label}" of "{name}", which cannot be divided.',
                number=number,
                label=label,
                name=scale.name,
            )
            raise BadRequest(text, end if side else begin)
    known = first_few([str(each[side]) for each in scale.bounds.values() if math.isfinite(each[side])])
    if side:
        none = message('No category of "{name}" ends at {number}.', name=scale.name, number=number)
        raise BadRequest(none, message("Categories end at {known}.", known=known))
    none = message('No category of "{name}" begins at {number}.', name=scale.name, number=number)
    raise BadRequest(none, message("Categories begin at {known}.", known=known))


def match_form(form: Iterable[str], codes: Iterable[str]) -> tuple[int, ...]:
    r"""The positions of the codes that match a pattern, given letter by letter; an escaped letter is literal.

    Stars are atomic (`fnmatch`), so that many cost no more than one. A pattern longer than every code is not tried.

    >>> match_form("?1*", ["R1", "R10", "R2"]), match_form(["R", "\\*"], ["R*", "R1"])
    ((0, 1), (0,))
    """
    letters, known = list(form), list(codes)
    if len(letters) - letters.count("*") > max(map(len, known), default=0):
        return ()
    pattern = "".join(letter if letter in {"*", "?"} else glob.escape(letter[-1]) for letter in letters)
    matches = re.compile(fnmatch.translate(pattern)).match
    return tuple(place for place, code in enumerate(known) if matches(code))


def _refuse_unknown(scale: Scale, text: str) -> NoReturn:
    advice = nearest_category(text, scale.codes, [category.label for category in scale.categories])
    raise UnknownCategory(message('"{name}" has no category {text!r}.', name=scale.name, text=text), advice)


#: The codes of each shown group with its name; empty without one.
NamedGroups = tuple[tuple[tuple[str, ...], str], ...]

#: Control characters, surrogates and line ends; bidi controls.
_FORBIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def take_name(dataset: Dataset, variable: str, group: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The name before the first item of a group, and the group without it; a code with a colon is no name."""
    own = dataset.variable(variable)
    if not group or group[0] in own or scale_of(own).place(group[0]) is not None:
        return "", group
    name, *first = split(group[0], ":", limit=1)
    if not first or unescape(name) in level_names(dataset, variable):
        return "", group
    _refuse_characters(unescape(name))
    return unescape(name), (first[0].strip(), *group[1:])


def write_named(items: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The items of a group with its name, as `take_name` parses them."""
    return (f"{protect(name, ':')}:{items[0]}", *items[1:]) if name else items


def group_label(variable: Variable, codes: tuple[str, ...]) -> str:
    """The default label of a group: the labels of its categories."""
    labels = tuple(variable.categories[variable.position(code)].label for code in codes)
    return Message("{labels:plus}", {"labels": labels})


def canonical_names(
    dataset: Dataset, variable: Variable, given: Mapping[tuple[str, ...], str]
) -> NamedGroups:
    """The names of all shown groups by their codes; empty where each has its default label.

    Raises:
        BadRequest: A name that is invalid, or that means something else in this dataset.
    """
    if not any(given.values()):
        return ()
    *coarser, _ = level_names(dataset, variable.name)
    declared = [Scale(level, level_groups(dataset, variable.name, level)) for level in coarser]
    declared.append(scale_of(variable))
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
    """Refuse the code or label of another category, level or total, and a name that parses as a code with a colon."""
    members = tuple(variable.position(code) for code in codes)
    others = any(
        _members(scale, place) != members
        for scale in declared
        for place in {*scale.labels.get(name.casefold(), ()), scale.codes.get(name, -1)} - {-1}
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


def _members(scale: Scale, place: int) -> tuple[int, ...]:
    category = scale.categories[place]
    return category.members if isinstance(category, Group) else (place,)
