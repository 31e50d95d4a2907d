"""A dry run tells the size, the verdict and the cost, and reads no number."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.model.request import TableRequest, request_from_text
from discreet.release.dry_run import dry_run, try_request
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def stored(census):
    return census


def ask(stored, **parts):
    return release_table(stored, request_from_text("census", **parts))


SPARSE = {"rows": ["area"], "columns": ["age", "occupation"]}

INSIDE = TableRequest("town", ("sex",), ("age",))

OUTSIDE = TableRequest("town", ("sex",), ("job",), ("area",))


def opened(town):
    return Workspace(town.folder)


def share(folder, account, epsilon, role="analyst"):
    """An account with a share of the family's ledger; its key."""
    key = open_accounts(folder).create(account, role)
    ledger = open_ledger(folder)
    ledger.allow("town", account, (Fraction(epsilon), Fraction(1, 10**9)))
    ledger.close()
    return key


@pytest.mark.slow
def test_a_dry_run_tells_size_and_verdict_and_no_number(stored):
    told = dry_run(stored, request_from_text("census", **SPARSE))
    assert set(told) == {"cells", "allowed", "verdict", "suggestion"}
    assert set(told["verdict"]) == {"passed", "blocked", "total", "table_error", "rules"}
    assert told["cells"] == ask(stored, **SPARSE).cells
    assert told["allowed"]
    refused = dry_run(stored, request_from_text("census", rows=["sex", "age", "education", "employment"]))
    assert not refused["allowed"]
    assert refused["verdict"]["rules"][0]["code"] == "too-many-variables"
    assert refused["verdict"]["rules"][0]["advice"]
    assert refused["suggestion"]


def test_a_dry_run_that_a_rule_of_shape_refuses_asks_no_engine(stored):

    class NoEngine:
        def aggregate(self, query):
            raise AssertionError("the engine was asked")

    quiet = replace(stored, engine=NoEngine(), verdicts={})
    assert (
        try_request(quiet, TableRequest("census", ("sex", "age", "education", "employment"))).refusal
        is not None
    )


def test_a_dry_run_reads_no_unpaid_table_and_says_its_cost(private_town, monkeypatch):
    workspace = opened(private_town)
    stored = workspace.stored("town")
    asker = workspace.asker(share(private_town.folder, "ann", 2))
    monkeypatch.setattr(type(stored.engine), "aggregate", lambda *_: pytest.fail("a record was read"))
    found = dry_run(stored, OUTSIDE, asker)
    assert found["allowed"]
    assert found["cost"]["epsilon"] == pytest.approx(0.5)
    assert dry_run(stored, INSIDE)["cost"] == {"epsilon": 0, "delta": 0}
    refused = dry_run(stored, OUTSIDE)
    assert not refused["allowed"]
    assert refused["verdict"]["rules"][0]["code"] == "outside-universe"
    assert refused["suggestion"] is not None
