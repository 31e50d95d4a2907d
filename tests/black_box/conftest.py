"""What the tests of `dp` over HTTP share: a client over a workspace, accounts with shares, what is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from discreet.answer.door import Doors
from discreet.server.app import create_app
from discreet.workspace.ledger_place import accounts_of, open_ledger
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import Response

    from discreet.ledger.entries import BudgetState


@dataclass(frozen=True)
class Site:
    """A workspace behind the HTTP application."""

    folder: Path
    workspace: Workspace
    client: TestClient
    dataset: str = "town"

    def get(self, query: object, key: str | None = None) -> Response:
        """Ask for a table; the query is a string, a mapping or a list of pairs."""
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return self.client.get(f"/api/datasets/{self.dataset}/table", params=query, headers=headers)

    def share(self, account: str, epsilon: object, role: str = "analyst") -> str:
        """A new account with a share of the family's ledger; its key."""
        key = accounts_of(self.folder).create(account, role)
        ledger = open_ledger(self.folder)
        ledger.allow(self.dataset, account, (Fraction(epsilon), Fraction(1, 10**6)))
        ledger.close()
        return key

    def state(self) -> BudgetState:
        """What the family has spent."""
        ledger = open_ledger(self.folder)
        try:
            return ledger.state(self.dataset)
        finally:
            ledger.close()

    def close(self) -> None:
        self.workspace.close()


def open_site(folder: Path, dataset: str = "town") -> Site:
    workspace = Workspace(folder, threads=1)
    return Site(folder, workspace, TestClient(create_app(Doors(workspace), read_options(folder))), dataset)


@pytest.fixture(scope="session")
def site_of():
    """Opens a workspace behind the HTTP application."""
    return open_site


@pytest.fixture
def site(private_town):
    """The private town behind the HTTP application, in a workspace that a test may spend."""
    opened = open_site(private_town.folder)
    yield opened
    opened.close()
