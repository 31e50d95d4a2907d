"""Disclosure rules: the stages at which a `[[rule]]` is evaluated, the registry of kinds, and edits of a refused request.

A kind of rule is a frozen dataclass. Its fields are the keys of its section (`reading.key`), and it implements at least one
stage; the inherited ones let everything pass.

    by shape, before a record is read   refuse, refuse_account      -> a refusal, or None
    on noisy counts, area by area       withholds                   -> the areas that it withholds
    on withheld areas                   spares, fails               -> areas to show again; a failed table

The modules of `kinds/` register themselves and are imported at first use; a third party calls `register` in the same way.

Source: Rinott et al. (2018), section 2.2.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import at_or_below, coarser, finest, has_single_area
from discreet.model.messages.sentences import at_level
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import kinds as home
from discreet.rules import reading
from discreet.rules.noisy_table import Slices
from discreet.rules.reading import key

#: The number of free groups of a variable that an account has used, without those of the request.
Meter = Callable[[str, str], int]

#: The stages; a kind implements at least one.
STAGES = ("refuse", "refuse_account", "withholds", "spares", "fails")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that lets everything pass: the base class of all kinds."""

    #: Its name in `dataset.toml`.
    kind: ClassVar[str] = ""
    #: The class of its refusals; with `Refused` the code is the kind.
    error: ClassVar[type[Refused]] = Refused
    #: Whether another rule may spare areas that this one withholds.
    rescuable: ClassVar[bool] = False

    @classmethod
    def implements(cls, stage: str) -> bool:
        """Whether the kind implements a stage."""
        return getattr(cls, stage) is not getattr(Rule, stage)

    @classmethod
    def refuses(cls) -> bool:
        """Whether the kind refuses tables, by shape or by an account's usage."""
        return cls.implements("refuse") or cls.implements("refuse_account")

    @classmethod
    def refusal_code(cls) -> str:
        """The stable code of its refusals by shape."""
        return cls.kind if cls.error is Refused else cls.error.code

    @property
    def looks_at_counts(self) -> bool:
        """Whether it withholds areas by noisy counts."""
        return self.implements("withholds")

    def check(self, dataset: Dataset) -> None:
        """Check the whole section against its dataset, after every key was read.

        Raises:
            BadDescription: The dataset cannot have this rule.
        """

    # By shape.
    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """The refusal of a canonical request by its shape; no record is read."""
        return None

    def refuse_account(
        self, request: TableRequest, meter: Meter | None, account: str | None
    ) -> Refused | None:
        """The refusal of a request by the earlier usage of an account."""
        return None

    def is_metered(self, request: TableRequest) -> bool:
        """Whether the answer depends on the usage of an account."""
        return False

    def refusal(self, message: str, advice: str, *, cacheable: bool = True) -> Refused:
        """A refusal with the code of this kind."""
        return self.error(message, advice, code=self.refusal_code(), cacheable=cacheable)

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """Edits of a refused request, the nearest first."""
        yield from use_larger_areas(request, dataset)
        yield from drop_one_variable(request, dataset)

    # On noisy counts.
    def concerns(self, request: TableRequest, dataset: Dataset) -> bool:
        """Whether it would look at the noisy counts of a request."""
        return True

    def reach(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices that it looks at."""
        return slices.within(None)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices that it withholds."""
        return slices.none()

    @property
    def reason(self) -> str:
        """The defect of a withheld area, as the end of a sentence: "In 3 of 9 areas ..."."""
        return message("a rule withholds the cells")

    @property
    def sentence(self) -> str:
        """A sentence for the dataset's methodology."""
        if self.looks_at_counts:
            return message("An area is withheld where {reason}.", reason=self.reason)
        return str(self.__doc__).partition("\n")[0]

    def spares(self, other: "Rule", slices: Slices) -> NDArray[np.bool_]:
        """The slices that are shown although another rule withholds them."""
        return slices.none()

    def fails(self, withheld: int, total: int) -> str | None:
        """A sentence why a table fails as a whole, given its number of withheld areas; None if it does not."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRule(Rule):
    """A rule on noisy counts that may be limited to small areas and to tables of enough variables."""

    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def concerns(self, request: TableRequest, dataset: Dataset) -> bool:
        """Whether the request crosses enough variables, at the level or below, or above it with the same people."""
        crossed = len(finest(dataset, request.used - dataset.geography))
        return crossed >= self.from_variables and (
            at_or_below(request, dataset, self.level)
            or has_single_area(dataset, request.used, str(self.level))
        )

    @property
    def sentence(self) -> str:
        """A sentence for the dataset's methodology, with the scope."""
        return message("An area is withheld where {reason}{where}.", reason=self.reason, where=self.where)

    @property
    def where(self) -> str:
        """The tables in scope, as the end of a sentence; empty for all."""
        level, crossed = at_level(self.level), self.from_variables
        if crossed <= 1:
            return level
        return message(
            "{level}, in tables that cross {crossed} or more variables beside geography",
            level=level,
            crossed=crossed,
        )

    def reach(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices at the level or below, if enough variables are crossed."""
        return slices.within(self.level) if slices.variables >= self.from_variables else slices.none()


_KINDS: dict[str, type[Rule]] = {}
K = TypeVar("K", bound=type[Rule])


def register(kind: K) -> K:
    """Add a kind of rule; use it as the outermost decorator of its class.

    Raises:
        TypeError: The class is no rule, has no name, or implements no stage.
        ValueError: The name is taken.
    """
    if not issubclass(kind, Rule) or not kind.kind:
        raise TypeError(f"{kind} is not a `Rule` with a `kind`")
    if not any(kind.implements(stage) for stage in STAGES):
        raise TypeError(
            f'the rule "{kind.kind}" would never be evaluated: implement one of {", ".join(STAGES)}'
        )
    for stage, needed in (("withholds", "reason"), ("refuse_account", "is_metered")):
        if kind.implements(stage) and not kind.implements(needed):
            raise TypeError(f'the rule "{kind.kind}" implements `{stage}` and not `{needed}`')
    if not kind.__module__.startswith(f"{home.__name__}."):
        _discover()
    if kind.kind in _KINDS:
        raise ValueError(f'two kinds of rules are called "{kind.kind}": {_KINDS[kind.kind]} and {kind}')
    _KINDS[kind.kind] = kind
    return kind


def unregister(name: str) -> None:
    """Remove a kind; datasets that declare it can then not be opened."""
    del _KINDS[name]


def kinds() -> Mapping[str, type[Rule]]:
    """Every kind of rule by its name in `dataset.toml`."""
    _discover()
    return MappingProxyType(_KINDS)


@cache
def _discover() -> None:
    for module in iter_modules(home.__path__, f"{home.__name__}."):
        import_module(module.name)


#: The choices of a request by variable.
_CHOICES = ("filters", "groups", "levels")


def drop_variables(request: TableRequest, *names: str) -> Iterator[TableRequest]:
    """Remove variables from the table, filters, groups and levels."""
    rows, columns, layers = (
        tuple(name for name in axis if name not in names)
        for axis in (request.rows, request.columns, request.layers)
    )
    if rows or columns or layers:
        yield replace(request, rows=rows, columns=columns, layers=layers, **_without_choices(request, names))


def drop_choices(
    request: TableRequest, *names: str, what: Iterable[str] = ("groups",)
) -> Iterator[TableRequest]:
    """Drop the groups (or filters) of variables and keep the variables."""
    yield replace(request, **_without_choices(request, names, tuple(what)))


def add_variables(request: TableRequest, *names: str) -> Iterator[TableRequest]:
    """Add variables to the columns."""
    yield replace(request, columns=(*request.columns, *(n for n in names if n not in request.variables)))


def drop_one_variable(request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
    """Remove one variable that is no geography: hidden filters first, then the one with most categories."""
    free = sorted(request.used - dataset.geography)
    free.sort(key=lambda name: (name in request.variables, -len(dataset.variable(name))))
    for name in free:
        yield from drop_variables(request, name)


def use_larger_areas(request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
    """Drop the finest level, or replace it by the next coarser one, or remove the geography."""
    for name in finest(dataset, request.used & dataset.geography):
        levels = dict(request.levels).get(name, (name,))
        if len(levels) > 1:
            fewer = tuple((each, levels[:-1] if each == name else kept) for each, kept in request.levels)
            yield replace(request, **_without_choices(request, (name,), ("filters",)), levels=fewer)
            continue
        above = coarser(dataset, levels[0] if levels[0] in dataset.geography else name)
        upper = above[0] if above else None
        if upper is None or upper in request.variables or name not in request.variables:
            yield from drop_variables(request, name)
            continue
        rows, columns, layers = (
            tuple(upper if each == name else each for each in axis)
            for axis in (request.rows, request.columns, request.layers)
        )
        choices = _without_choices(request, (name, upper))
        yield replace(request, rows=rows, columns=columns, layers=layers, **choices)


def _without_choices(
    request: TableRequest, names: tuple[str, ...], what: tuple[str, ...] = _CHOICES
) -> dict[str, Any]:
    """The choices of a request without those of some variables."""
    return {
        choice: tuple(entry for entry in getattr(request, choice) if entry[0] not in names) for choice in what
    }
