"""A rule: what a custodian declares in one `[[rule]]`, and the stages at which it speaks.

A kind of rule is a frozen dataclass. Its fields are the keys of its section (`reading.key`), and it
implements one stage or more; it inherits the others, which let everything pass.

    by shape, before a record is read   refuse, refuse_account      -> a refusal, or None
    on noisy counts, area by area       withholds                   -> the areas that it withholds
    on what other rules withhold        spares, fails               -> areas to show again; a failed table

Source: Rinott et al. (2018), section 2.2.

The one registry of kinds of rules: a kind that is registered is read, evaluated and documented by its own class.

The kinds of Discreet register themselves in the modules of `kinds/`, which are found by walking that folder.
A third party calls `register` in the same way. A kind without a stage is refused: what is accepted is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, TypeVar

from discreet.errors import Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import at_or_below, finest, has_single_area
from discreet.model.messages.refusal import at_level
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import kinds as home
from discreet.rules import reading
from discreet.rules.noisy_table import Slices
from discreet.rules.reading import key
from discreet.rules.request_edits import drop_one_variable, use_larger_areas

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: How many free groups of a variable an account has used, those of the request itself not counted.
Meter = Callable[[str, str], int]

#: What a kind may implement; it needs at least one of them.
STAGES = ("refuse", "refuse_account", "withholds", "spares", "fails")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that lets everything pass: the parent of all kinds."""

    #: Its name in `dataset.toml`.
    kind: ClassVar[str] = ""
    #: The class of its refusals; with the general one the code of a refusal is the kind.
    error: ClassVar[type[Refused]] = Refused
    #: Whether another rule may show an area again that this one withholds.
    rescuable: ClassVar[bool] = False

    @classmethod
    def implements(cls, stage: str) -> bool:
        """Whether the kind has a stage of its own."""
        return getattr(cls, stage) is not getattr(Rule, stage)

    @classmethod
    def refuses(cls) -> bool:
        """Whether the kind refuses tables, by their shape or by what an account has used."""
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
        """The refusal of a request that is not refused by its shape, by what an account has used before."""
        return None

    def is_metered(self, request: TableRequest) -> bool:
        """Whether its answer to a request depends on what an account has used."""
        return False

    def refusal(self, message: str, advice: str, *, cacheable: bool = True) -> Refused:
        """A refusal with the code of this kind."""
        return self.error(message, advice, code=self.refusal_code(), cacheable=cacheable)

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """Edits of a request that it refuses, the nearest first."""
        yield from use_larger_areas(request, dataset)
        yield from drop_one_variable(request, dataset)

    # On noisy counts.
    def concerns(self, request: TableRequest, dataset: Dataset) -> bool:
        """Whether it would look at the noisy counts of a request."""
        return True

    def reach(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices of a table that it looks at."""
        return slices.within(None)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices that it withholds."""
        return slices.none()

    @property
    def reason(self) -> str:
        """What is wrong with an area that it withholds, as the end of a sentence: "In 3 of 9 areas ..."."""
        return message("a rule withholds the cells")

    @property
    def sentence(self) -> str:
        """What it does, in a sentence for readers of the dataset's methodology."""
        if self.looks_at_counts:
            return message("An area is withheld where {reason}.", reason=self.reason)
        return str(self.__doc__).partition("\n")[0]

    def spares(self, other: Rule, slices: Slices) -> NDArray[np.bool_]:
        """The slices that are shown although another rule withholds them."""
        return slices.none()

    def fails(self, withheld: int, total: int) -> str | None:
        """Why a table fails as a whole when so many of its areas are withheld, as a sentence."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRule(Rule):
    """A rule on noisy counts that may look at small areas only, and at tables of enough variables only."""

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
        """What it does, and where."""
        return message("An area is withheld where {reason}{where}.", reason=self.reason, where=self.where)

    @property
    def where(self) -> str:
        """The tables that it looks at, as the end of a sentence; empty for all."""
        crossed = self.from_variables
        level = at_level(self.level)
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
        TypeError: The class is no rule, has no name, or has no stage at which it would be evaluated.
        ValueError: Another kind has the same name.
    """
    _refuse_idle(kind)
    if not kind.__module__.startswith(f"{home.__name__}."):
        _discover()
    if kind.kind in _KINDS:
        raise ValueError(f'two kinds of rules are called "{kind.kind}": {_KINDS[kind.kind]} and {kind}')
    _KINDS[kind.kind] = kind
    return kind


def unregister(name: str) -> None:
    """Take a kind out again; datasets that declare it can then not be opened."""
    del _KINDS[name]


def kinds() -> Mapping[str, type[Rule]]:
    """Every kind of rule by its name in `dataset.toml`."""
    _discover()
    return MappingProxyType(_KINDS)


def _refuse_idle(kind: type[Rule]) -> None:
    if not issubclass(kind, Rule) or not kind.kind:
        raise TypeError(f"{kind} is not a `Rule` with a `kind`")
    if not any(kind.implements(stage) for stage in STAGES):
        raise TypeError(
            f'the rule "{kind.kind}" would never be evaluated: implement one of {", ".join(STAGES)}'
        )
    for stage, needed in (("withholds", "reason"), ("refuse_account", "is_metered")):
        if kind.implements(stage) and not kind.implements(needed):
            raise TypeError(f'the rule "{kind.kind}" implements `{stage}` and not `{needed}`')


@cache
def _discover() -> None:
    """Import every module of `kinds/` once: each registers its own."""
    for module in iter_modules(home.__path__, f"{home.__name__}."):
        import_module(module.name)
