"""A hundred clients at once never overspend: what is answered is what the budget allows, and every answer is charged."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from discreet.workspace.versions.load_version import load_dataset

from .conftest import letters_description, margins_paid

pytestmark = pytest.mark.slow

CLIENTS, ACCOUNTS = 100, 10
LETTERS = "abcdefgh"
#: 1 for the universe, and 30 answers of 0.1; an account may have 5 of them.
DESCRIPTION = letters_description(LETTERS, cap=(4.05, 1e-6))
TABLES = [",".join(names) for size in (3, 4) for names in itertools.combinations(LETTERS, size)]


@pytest.fixture
def sites(tmp_path, site_of):
    """One workspace served twice, as by two replicas."""
    rng = np.random.RandomState(1)
    columns = {v: pa.array(rng.choice(["0", "1"], 500)) for v in LETTERS}
    load_dataset(tmp_path / "w", DESCRIPTION, pa.table({"id": pa.array(range(500)), **columns}))
    found = [site_of(tmp_path / "w") for _ in range(2)]
    yield found
    for site in found:
        site.close()


def at_once(sites, questions):
    """Every question by a client of its own, all let go at the same moment; questions are (rows, key)."""
    gate = threading.Barrier(len(questions))

    def ask(number):
        rows, key = questions[number]
        client = TestClient(sites[number % len(sites)].client.app)
        gate.wait()
        return client.get(
            "/api/datasets/town/table",
            params={"rows": rows, "format": "json"},
            headers={"authorization": f"Bearer {key}"},
        )

    with ThreadPoolExecutor(len(questions)) as pool:
        return list(pool.map(ask, range(len(questions))))


def test_a_hundred_clients_get_what_the_budget_allows_and_no_more(sites):
    keys = [sites[0].share(f"account-{n}", "0.55") for n in range(ACCOUNTS)]
    published = sites[0].state()
    answers = at_once(sites, [(TABLES[n], keys[n % ACCOUNTS]) for n in range(CLIENTS)])
    state = sites[0].state()
    cost = Fraction(1, 10)
    allowed = (state.cap[0] - published.spent[0]) // cost
    assert 30 <= allowed < ACCOUNTS * 5
    answered = {TABLES[n] for n, answer in enumerate(answers) if answer.status_code == 200}
    paid = set(margins_paid(state))
    assert len(paid) == len(margins_paid(state)) == allowed
    # Whatever is answered was paid for, or is a sum of a table that was.
    assert paid <= answered
    for free in answered - paid:
        assert any(set(free.split(",")) < set(table.split(",")) for table in paid)
    assert state.spent[0] - published.spent[0] == allowed * cost
    assert state.spent[0] <= state.cap[0]
    assert all(each.spent[0] <= each.cap[0] for each in state.accounts)
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.json()["code"] for answer in refused} == {"budget-spent"}


def test_a_hundred_clients_with_one_question_pay_once_and_get_the_same_bytes(sites):
    keys = [sites[0].share(f"account-{n}", "0.55") for n in range(ACCOUNTS)]
    before = sites[0].state().spent[0]
    answers = at_once(sites, [(TABLES[7], keys[n % ACCOUNTS]) for n in range(CLIENTS)])
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert sites[0].state().spent[0] - before == Fraction(1, 10)
