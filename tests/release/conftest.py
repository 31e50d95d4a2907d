"""The description of the town, read; a demo census of 50,000 persons."""

from fractions import Fraction

import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)


@pytest.fixture(scope="session")
def census(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answer-census")
    load_dataset(folder, census_description(50_000), census_batches(50_000))
    return Workspace(folder).stored("census")


@pytest.fixture(scope="session")
def share():
    """Create an account with a share of the town's budget; its key."""

    def give(folder, account, epsilon, role="analyst"):
        key = open_accounts(folder).create(account, role)
        ledger = open_ledger(folder)
        ledger.allow("town", account, (Fraction(epsilon), Fraction(1, 10**9)))
        ledger.close()
        return key

    return give


@pytest.fixture(scope="session")
def spent():
    """The loss that the town's budget has been charged."""

    def of(folder):
        ledger = open_ledger(folder)
        try:
            return ledger.state("town").spent[0]
        finally:
            ledger.close()

    return of
