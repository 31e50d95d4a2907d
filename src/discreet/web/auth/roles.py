"""Authorisation: which datasets the requester of the current request may see.

A dataset that the requester may not see is not listed, and requests for it answer 404 as for one that does not exist. Every
route opens datasets through this authoriser, so no route can forget to check.
"""

from __future__ import annotations

from collections.abc import Callable
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
from discreet.web.context import request_context

if TYPE_CHECKING:  # an interface never opens a workspace itself
    from discreet.workspace.workspace import StoredDataset, Workspace


class RequestAuthoriser(Authoriser):
    """The authoriser of a server.

    Args:
        otherwise: Who may see datasets that declare no access, one of `AUDIENCES`.
        admit: Called before each answer; it may raise.
    """

    def __init__(
        self, otherwise: str = PUBLIC, admit: Callable[[CheckedRequest], None] = lambda _checked: None
    ) -> None:
        if otherwise not in AUDIENCES:
            raise BadOption(f"The option access is {otherwise!r}.", f"Give one of: {', '.join(AUDIENCES)}.")
        self.otherwise = otherwise
        self._admit = admit

    def asker(self, workspace: Workspace, key: str | None) -> Requester | None:  # noqa: ARG002 - `identity` has read it
        """The requester, with the ledger that charges it."""
        requester = request_context().requester
        return None if requester is None else workspace.with_ledger(requester)

    def open(self, stored: StoredDataset, asker: Requester | None) -> DatasetService:
        """The service of a version; it records its queries for the audit log."""
        return AuditedService(stored, asker, self.admit)

    def admit(self, question: CheckedRequest) -> None:
        """Called before each answer: nothing is charged or counted if it raises."""
        self._admit(question)

    def is_open(self, dataset: Dataset) -> bool:
        """Whether the requester may see a dataset."""
        requester = request_context().requester
        if requester is None:
            return dataset.access.allows(None, None, self.otherwise)
        in_scope = requester.datasets is None or dataset.id in requester.datasets
        return in_scope and dataset.access.allows(requester.account, requester.role, self.otherwise)


def require_custodian() -> Requester:
    """The requester, if it is a custodian.

    Raises:
        BadKey: The request is anonymous.
        NotAllowed: The account has another role.
    """
    requester = request_context().requester
    if requester is None:
        raise BadKey(message("This is for custodians."), message("Send the key of a custodian, or sign in."))
    requester.require("custodian")
    return requester
