"""A rule: what a custodian declares in one `[[rule]]`, and the stages at which it speaks.

A kind of rule is a frozen dataclass. Its fields are the keys of its section (`reading.key`), and it
implements one stage or more; it inherits the others, which let everything pass.

    by shape, before a record is read   refuse, refuse_account      -> a refusal, or None
    on noisy counts, area by area       withholds                   -> the areas that it withholds
    on what other rules withhold        spares, fails               -> areas to show again; a failed table

Source: Rinott et al. (2018), section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import Refused
from discreet.model.told import told
from discreet.rules import reading
from discreet.rules.edits import larger_areas, one_less
from discreet.rules.places import at_or_below, finest, holds_one
from discreet.rules.reading import key
from discreet.rules.sentences import at_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.rules.noisy_table import Slices

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
        yield from larger_areas(request, dataset)
        yield from one_less(request, dataset)

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
        return told("a rule withholds the cells")

    @property
    def sentence(self) -> str:
        """What it does, in a sentence for readers of the dataset's methodology."""
        if self.looks_at_counts:
            return told("An area is withheld where {reason}.", reason=self.reason)
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
            at_or_below(request, dataset, self.level) or holds_one(dataset, request.used, str(self.level))
        )

    @property
    def sentence(self) -> str:
        """What it does, and where."""
        return told("An area is withheld where {reason}{where}.", reason=self.reason, where=self.where)

    @property
    def where(self) -> str:
        """The tables that it looks at, as the end of a sentence; empty for all."""
        crossed = self.from_variables
        level = at_level(self.level)
        if crossed <= 1:
            return level
        return told(
            "{level}, in tables that cross {crossed} or more variables beside geography",
            level=level,
            crossed=crossed,
        )

    def reach(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices at the level or below, if enough variables are crossed."""
        return slices.within(self.level) if slices.variables >= self.from_variables else slices.none()
