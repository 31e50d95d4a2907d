"""How much may be asked: accounts and addresses have limits of their own, and who is held back is."""

import time

import pytest
from starlette.testclient import TestClient
from tests.server.access.conftest import with_key

from discreet.answer.doors import open_doors
from discreet.server.access.quotas import SLOWED
from discreet.server.access.shared import SLOW, STOP, Hold
from discreet.server.app import create_app
from discreet.server.state import State
from discreet.workspace.options import read_options

PATH = "/api/datasets"


@pytest.fixture
def limited(office):
    state = State()
    options = read_options(office[0], account_calls=6, address_calls=3)
    return create_app(open_doors(office[0]), options, state), state, office[1]


def statuses(app, number, address="203.0.113.7", **headers):
    client = TestClient(app, client=(address, 50_000))
    return [client.get(PATH, headers=headers).status_code for _ in range(number)]


def test_an_account_has_more_calls_than_an_address_and_each_its_own(limited):
    app, _, keys = limited
    assert statuses(app, 4) == [200, 200, 200, 429]
    assert statuses(app, 1, "203.0.113.8") == [200]
    assert statuses(app, 7, **with_key(keys["analyst"])) == [200] * 6 + [429]
    assert statuses(app, 1, **with_key(keys["elsewhere"])) == [429], "two keys of an account share its calls"
    assert statuses(app, 1, **with_key(keys["reader"])) == [200]


def test_keys_that_are_refused_count_for_their_address(limited):
    """Wrong alternative: a wrong key before any limit, as often as somebody likes."""
    app, _, keys = limited
    assert statuses(app, 5, **with_key("dk_wrong")) == [401, 401, 401, 429, 429]
    assert statuses(app, 1) == [429]
    assert statuses(app, 1, **with_key(keys["reader"])) == [200], "a good key has the calls of its account"
    assert statuses(app, 5, "127.0.0.1", **with_key("dk_wrong")) == [401] * 5


def test_a_household_of_ipv6_counts_once_and_the_machine_itself_not(limited):
    app, _, _ = limited
    assert [statuses(app, 1, f"2001:db8::{n}")[0] for n in range(1, 5)] == [200, 200, 200, 429]
    assert statuses(app, 5, "127.0.0.1") == [200] * 5


def test_too_many_calls_say_when_to_come_back_and_no_cache_keeps_it(limited):
    client = TestClient(limited[0], client=("203.0.113.9", 1))
    refused = [client.get("/", headers={}) for _ in range(4)][-1]
    assert (refused.status_code, refused.headers["cache-control"]) == (429, "no-store")
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    assert "script-src 'self'" in refused.headers["content-security-policy"]


@pytest.mark.parametrize("action", [SLOW, STOP])
def test_who_is_held_back_is_slowed_or_stopped_and_nobody_else_is(limited, action):
    app, state, keys = limited
    address = state.addresses.kept("127.0.0.1")
    for who in ("account:rita", f"address:{address}"):
        state.shared.hold(Hold(who, action, time.time() + 60, "recodes"))
    held = [200] * SLOWED + [429] if action == SLOW else [403]
    assert statuses(app, len(held), **with_key(keys["reader"])) == held
    assert statuses(app, len(held), "127.0.0.1") == held
    assert statuses(app, 1, **with_key(keys["analyst"])) == [200]
    state.shared.release("account:rita")
    assert statuses(app, 1, **with_key(keys["reader"])) == [200]
