"""What the tests of `dp` over HTTP share: a client over a workspace, accounts with shares, what is spent."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from discreet.model.description.dataset_toml import parse_dataset
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.options import read_options
from discreet.workspace.versions import load_version as load
from discreet.workspace.versions import version
from discreet.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from httpx import Response

    from discreet.ledger.entries import BudgetState
    from discreet.model.dataset import Dataset
    from discreet.release.dataset_registry import Authoriser


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
        key = open_accounts(self.folder).create(account, role)
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
    return Site(
        folder, workspace, TestClient(create_app(DatasetRegistry(workspace), read_options(folder))), dataset
    )


def load_under(secret: bytes, folder: Path, description: str, records: object) -> None:
    """Load records with a secret of our own in a new workspace."""
    folder.mkdir(parents=True)
    (folder / "secret").write_bytes(secret)
    (folder / "secret").chmod(0o600)
    load.load_dataset(folder, description, records)


def letters_description(letters: str, *, cap: tuple[float, float]) -> str:
    """Variables of two codes under `dp`, of which every table beyond one variable costs 0.1."""
    named = (f'[[variable]]\nname = "{letter}"\ncategories = ["0", "1"]\n' for letter in letters)
    return f"""
id = "town"
label = "Letters"
id_column = "id"
version = "1"
{"".join(named)}
[protection]
method = "dp"
[protection.universe]
margins = "own"
variables = {list(letters)}
up_to = 1
[protection.budget]
calibrate = false
family = "town"
epsilon = 1.0
cap_epsilon = {cap[0]}
cap_delta = {cap[1]}
answer_cost = 0.1
"""


def margins_paid(state: BudgetState) -> list[str]:
    """The margins that accounts have paid for, as the ledger names them."""
    return [",".join(json.loads(each["what"])[4]) for each in state.charges if each["account"]]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for hundreds of workspaces."""
    folder = tmp_path_factory.mktemp("boxes")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def site_of():
    """Opens a workspace behind the HTTP application."""
    return open_site


@pytest.fixture(scope="module")
def parsed_once():
    """One parsed description for hundreds of loads of it: then its plan is made once, too. Parsing knows no secret."""
    kept: dict[tuple[str, int | None], Dataset] = {}

    def parse(text: str, defaults: int | None = None, boundaries: object = ()) -> Dataset:
        assert not boundaries
        if (text, defaults) not in kept:
            kept[text, defaults] = parse_dataset(text, defaults)
        return kept[text, defaults]

    with pytest.MonkeyPatch.context() as patch:
        for module in (load, version):
            patch.setattr(module, "parse_dataset", parse)
        yield


class SwappedDoors(DatasetRegistry):
    """Doors whose workspace can be changed behind an application."""

    def behind(self, gate: Authoriser) -> DatasetRegistry:
        """These registry themselves, behind a gate."""
        self._gate = gate
        return self


@pytest.fixture(scope="module")
def next_site():
    """Opens one workspace after another behind one HTTP application: to make one takes as long as several answers."""
    kept: list[tuple[DatasetRegistry, TestClient]] = []

    def opened(folder: Path, dataset: str = "town") -> Site:
        workspace = Workspace(folder, threads=1)
        if not kept:
            registry = SwappedDoors(workspace)
            options = replace(read_options(folder), cache_mb=0)  # a question is asked again with a fault
            kept.append((registry, TestClient(create_app(registry, options))))
        registry, client = kept[0]
        registry._workspace = workspace
        return Site(folder, workspace, client, dataset)

    return opened


@pytest.fixture
def site(private_town):
    """The private town behind the HTTP application, in a workspace that a test may spend."""
    opened = open_site(private_town.folder)
    yield opened
    opened.close()
