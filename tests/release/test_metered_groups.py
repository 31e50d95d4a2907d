"""Free groups counted by account, through every face: repeats are free, the last one is taken once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.errors import BadKey, TooManyGroups
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.pipeline import release_table
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace

RULE = '[[rule]]\nkind = "free-groups"\nvariables = ["age", "job"]\nper_account = 2\n'


@pytest.fixture
def folder(town, tmp_path):
    return town.load(
        tmp_path / "w", town.description.replace("[protection]\n", f"{RULE}\n[protection]\n", 1)
    ).folder


@pytest.fixture
def catalogue(folder):
    """The town as Ann sees it, who has a key."""
    return discreet.open(folder, key=open_accounts(folder).create("ann", "reader"))


def ask(catalogue, *groups, rows="age"):
    return catalogue.table("town", rows=[rows], groups={rows: [list(group) for group in groups]})


def test_an_account_has_so_many_groups_of_a_variable_and_repeats_are_free(folder, catalogue):
    ask(catalogue, ("child", "adult"))
    ask(catalogue, ("adult", "old"))
    for _ in range(3):
        ask(catalogue, ("old", "adult"), ("child",))
    with pytest.raises(TooManyGroups, match="2 used before") as raised:
        ask(catalogue, ("child", "old"))
    assert not raised.value.cacheable
    ask(catalogue, ("1", "2"), rows="job")
    other = discreet.open(folder, key=open_accounts(folder).create("bob", "reader"))
    ask(other, ("child", "old"))


def test_nobody_signed_in_has_no_groups_and_all_other_tables(folder):
    catalogue = discreet.open(folder)
    with pytest.raises(TooManyGroups, match="you are not signed in"):
        ask(catalogue, ("child", "adult"))
    catalogue.table("town", rows=["age"])
    ask(catalogue, ("child",), ("adult",))


def test_a_dry_run_takes_nothing(catalogue):
    groups = [["child", "adult"], ["adult", "old"], ["child", "old"]]
    for group in groups:
        assert catalogue.dry_run("town", rows=["age"], groups={"age": [group]})["allowed"]
    for group in groups[:2]:
        ask(catalogue, group)
    assert not catalogue.dry_run("town", rows=["age"], groups={"age": [groups[2]]})["allowed"]


def test_many_at_once_never_take_more_than_there_are(folder):
    key = open_accounts(folder).create("ann", "reader")
    workspace = Workspace(folder)
    stored = workspace.stored("town")
    sets, allowed = ["age=child+adult", "age=adult+old", "age=child+old", "age=child+adult+old"], set()

    def one(number):
        request = request_from_text("town", rows=["age"], groups=[sets[number % 4]])
        with suppress(TooManyGroups):
            release_table(stored, request, workspace.asker(key))
            allowed.add(sets[number % 4])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(40)))
    assert len(allowed) == 2


@pytest.mark.slow
def test_over_http_with_a_key(folder):
    client = TestClient(create_app(DatasetRegistry(Workspace(folder)), read_options(folder)))
    key = open_accounts(folder).create("ann", "reader")
    signed = {"authorization": f"Bearer {key}"}
    address = "/api/datasets/town/table?rows=age&group=age%3Dchild%2Badult&format=csv"
    refused = client.get(address)
    assert refused.status_code == 403
    assert refused.headers["cache-control"] == "no-store"
    assert refused.json()["code"] == "too-many-groups"
    answered = client.get(address, headers=signed)
    assert answered.status_code == 200
    assert answered.headers["cache-control"] == "private, no-store"
    page = client.get("/datasets/town?rows=age&group=age%3Dchild%2Badult", headers=signed)
    assert (page.status_code, page.headers["cache-control"]) == (200, "private, no-store")
    assert client.get(address, headers={"authorization": "Bearer dk_wrong"}).status_code == 401
    open_accounts(folder).revoke("ann")
    assert client.get(address, headers=signed).status_code == 401


def test_a_key_without_a_ledger_gets_no_answer(folder):
    (folder / "ledger.sqlite").unlink()
    with pytest.raises(BadKey, match="no accounts"):
        discreet.open(folder, key="dk_something").table("town", rows=["sex"])
