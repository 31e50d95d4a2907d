"""A door without a ledger: what was spent is told as on the day of publication, and nothing can be charged."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

from discreet.answer.door import Door
from discreet.errors import BadKey, NotPublished
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.answer.question import Question
    from discreet.workspace.workspace import StoredDataset


class DocumentedDoor(Door):
    """A door whose budget is told as on the day of publication; nothing can be charged here."""

    __slots__ = ("_budget", "_left")

    def __init__(self, stored: StoredDataset, documents: Mapping[str, Any]) -> None:
        super().__init__(stored)
        self._budget, self._left = documents["budget"], documents["budget_left"]

    def admitted_by(self, admit: Callable[[Question], None]) -> Self:
        """The same door, which has each question admitted before it is answered."""
        door = copy(self)
        door._admit = admit  # noqa: SLF001 - its own copy
        return door

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promised and cost when it was published."""
        if self._budget is None:
            return super().budget()
        found: dict[str, Any] = self._budget
        return found

    def budget_left(self) -> str | None:
        """What was left of the budget, in a sentence."""
        left: str | None = self._left
        return left

    def ledger(self) -> dict[str, Any]:
        """Nobody is a custodian here."""
        raise no_accounts()

    def margins(self, *_given: Any, **_named: Any) -> dict[str, Any]:
        """Nothing is released anew here."""
        raise NotPublished(
            told("Margins are released by the workspace, and this server has published tables alone."),
            told("Ask for a published table."),
        )


def no_accounts() -> BadKey:
    """Why a key is not accepted."""
    return BadKey(
        told("The API key is not accepted: this server has no accounts."),
        told("Ask without a key: what is published is for everybody."),
    )
