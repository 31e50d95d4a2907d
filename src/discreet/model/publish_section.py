"""Which tables of a dataset are published: written once, as protected releases, for machines without a record.

    [publish]
    variables = ["region", "sex", "age"]      every table of some of these
    up_to = 2                                 with at most so many variables
    tables = ["district*sex", "district*age*job"]
    universe = true                           of a joint dp universe: its noisy numbers, which answer all its tables

    [publish.levels]
    district = ["region", "district"]         shown at these levels, wherever it stands

No number depends on the section, so it may be changed after a load (`workspace/wording.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription
from discreet.model.fit_to import variables_of
from discreet.model.nearest import nearest
from discreet.model.section import section_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from discreet.model.dataset import Dataset

KEYS = ("variables", "up_to", "tables", "levels", "universe")


@dataclass(frozen=True, slots=True)
class Publish:
    """What `[publish]` declares; nothing where there is none.

    Args:
        variables: Those of which tables are made.
        up_to: How many of them a table has at most.
        tables: Further tables, each by its variables.
        levels: For a variable, the levels at which it is shown.
        universe: Whether the numbers of a joint dp universe are published.
    """

    variables: tuple[str, ...] = ()
    up_to: int = 2
    tables: tuple[tuple[str, ...], ...] = ()
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    universe: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is published."""
        return not (self.variables or self.tables or self.universe)

    def margins(self) -> Iterator[tuple[str, ...]]:
        """The tables by their variables, smaller ones first, each once."""
        most = range(1, min(self.up_to, len(self.variables)) + 1)
        some = [names for size in most for names in combinations(self.variables, size)]
        seen = set()
        for names in (*some, *self.tables):
            if frozenset(names) not in seen:
                seen.add(frozenset(names))
                yield names

    def refuse_unknown(self, dataset: Dataset) -> None:
        """Refuse variables that the dataset does not have.

        Raises:
            BadDescription: With the nearest match.
        """
        known = [variable.name for variable in dataset.variables]
        named = [*self.variables, *(name for table in self.tables for name in table), *dict(self.levels)]
        for name in named:
            if name not in known:
                raise BadDescription(f'[publish] names the variable "{name}".', nearest(name, known))


def publish_of(section: Any) -> Publish:
    """The section `[publish]`.

    Raises:
        BadDescription: With what is wrong and what to do.

    >>> publish_of({"variables": ["sex", "age"], "tables": ["sex*job"]}).tables
    (('sex', 'job'),)
    """
    section_of(section, "publish", KEYS)
    up_to, universe, levels = (
        section.get("up_to", 2),
        section.get("universe", False),
        section.get("levels", {}),
    )
    if isinstance(up_to, bool) or not isinstance(up_to, int) or up_to < 1:
        raise BadDescription(f"up_to of [publish] is {up_to!r}.", "Give a whole number of at least 1.")
    if not isinstance(universe, bool):
        raise BadDescription(f"universe of [publish] is {universe!r}.", "Write true or false.")
    if not isinstance(levels, dict):
        raise BadDescription("[publish.levels] is not a table.", "Write [publish.levels] before its lines.")
    return Publish(
        _once("variables", _texts("variables", section.get("variables", []))),
        up_to,
        tuple(
            _once(word, variables_of(word)) or _once("tables", ("",))
            for word in _texts("tables", section.get("tables", []))
        ),
        tuple(
            (str(name), _once(name, _texts(f"levels.{name}", own))) for name, own in sorted(levels.items())
        ),
        universe,
    )


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadDescription(f"{key} of [publish] is {value!r}.", 'Give a list, as in ["area", "sex"].')
    return tuple(value)


def _once(key: str, names: Iterable[str]) -> tuple[str, ...]:
    found = tuple(names)
    if len(set(found)) != len(found) or not all(found):
        raise BadDescription(
            f"{key!r} of [publish] names a variable twice, or none.",
            "Name each variable once, as in sex*age.",
        )
    return found
