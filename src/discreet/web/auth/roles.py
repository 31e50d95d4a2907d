"""The gate of the server: which datasets whoever asks may see. Every route reaches data through it, without knowing.

    a dataset that the asker may not see     is not listed, and answers 404 as one that does not exist
    a key for some datasets                  sees these alone

Who asks stands in a context variable for the time of a request, as the address does (`address`): `identity` sets it.
So a new route cannot forget to ask: its doors stand behind this gate.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from discreet.errors import BadKey, BadOption
from discreet.ledger.requester import Requester
from discreet.model.access import AUDIENCES, PUBLIC
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import Authoriser
from discreet.release.dataset_service import DatasetService
from discreet.web.audit.entry import AuditedService

if TYPE_CHECKING:  # an interface never opens a workspace itself
    from discreet.workspace.workspace import StoredDataset, Workspace

ASKER: ContextVar[Requester | None] = ContextVar("ASKER", default=None)


def current_requester() -> Requester | None:
    """Who asks the request that is being answered; None for anybody."""
    return ASKER.get()


class RequestAuthoriser(Authoriser):
    """The gate before all datasets of a server.

    Args:
        otherwise: Who may see datasets that do not say so themselves, one of `AUDIENCES`.
        admit: Called before each answer; it may raise.
    """

    def __init__(
        self, otherwise: str = PUBLIC, admit: Callable[[CheckedRequest], None] = lambda _question: None
    ) -> None:
        if otherwise not in AUDIENCES:
            raise BadOption(f"The option access is {otherwise!r}.", f"Give one of: {', '.join(AUDIENCES)}.")
        self.otherwise = otherwise
        self._admit = admit

    def asker(self, workspace: Workspace, key: str | None) -> Requester | None:  # noqa: ARG002 - `identity` has read it
        """Who asks, with the ledger that counts it."""
        found = current_requester()
        return None if found is None else workspace.with_ledger(found)

    def open(self, stored: StoredDataset, asker: Requester | None) -> DatasetService:
        """The door of a version; it notes what it is asked."""
        return AuditedService(stored, asker, self._admit)

    def admit(self, question: CheckedRequest) -> None:
        """Called before each answer: nothing is charged or counted where it raises."""
        self._admit(question)

    def is_open(self, dataset: Dataset) -> bool:
        """Whether whoever asks may see a dataset."""
        found = current_requester()
        if found is None:
            return dataset.access.allows(None, None, self.otherwise)
        in_scope = found.datasets is None or dataset.id in found.datasets
        return in_scope and dataset.access.allows(found.account, found.role, self.otherwise)


def require_custodian() -> Requester:
    """Refuse everybody but custodians.

    Raises:
        BadKey: Nobody is known to ask.
        NotAllowed: The account has another role.
    """
    found = current_requester()
    if found is None:
        raise BadKey(message("This is for custodians."), message("Send the key of a custodian, or sign in."))
    found.require("custodian")
    return found
