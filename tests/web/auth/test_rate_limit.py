"""How often somebody may call, in one process or in many; who is held back is, and a hold is never made weaker."""

import multiprocessing
import time

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import in_processes, with_key

from discreet.errors import TooManyCalls
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.auth import rate_limit as module
from discreet.web.auth.rate_limit import BATCH, SLOW, SLOWED, STOP, WINDOW, Hold, RateLimitStore, TokenBuckets
from discreet.web.lifespan import ServerState
from discreet.workspace.options import read_options


def test_a_file_that_cannot_be_used_counts_in_this_process(tmp_path, caplog):
    """To let everything through is the wrong alternative."""
    (tmp_path / "s").write_bytes(b"no database at all, and long enough to be taken for one" * 20)
    shared = RateLimitStore(tmp_path / "s", lambda: 1.0)
    assert [shared.take("a", 2, 10, 1)[0] for _ in range(3)] == [1, 1, 0]
    assert shared.holds() == {}
    assert "this process alone" in caplog.text


def test_a_clock_that_went_back_refills_nothing(tmp_path):
    now = [100.0]
    shared = RateLimitStore(tmp_path / "s", lambda: now[0])
    assert shared.take("a", 10, 10, 10)[0] == 10
    now[0] = 1.0
    assert shared.take("a", 10, 10, 1) == (0, 1.0)


def test_the_stricter_hold_stays_and_others_see_it(tmp_path):
    one, other = RateLimitStore(tmp_path / "s"), RateLimitStore(tmp_path / "s")
    soon = time.time() + 60
    one.hold(Hold("account:ann", STOP, soon, "refusals"))
    one.hold(Hold("account:ann", SLOW, soon + 60, "recodes"))
    assert [(each.action, each.until) for each in other.holds().values()] == [(STOP, soon + 60)]
    assert other.release("account:ann")
    assert not other.release("account:ann")
    assert other.holds() == {}
    one.hold(Hold("account:ben", SLOW, time.time() - 1, "recodes"))
    assert other.holds() == {}, "it is over"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def of(calls, clock, path=None):
    return TokenBuckets(calls, RateLimitStore(path, clock), "calls")


def test_a_program_that_keeps_to_the_window_or_waits_as_told_is_never_sent_away():
    """Wrong alternative: windows that all begin at full tens, which a burst across a border doubles."""
    clock = Clock()
    buckets = of(5, clock)
    for clock.now in (0.0, 10.0, 20.0):
        for _ in range(5):
            buckets.take("a")
    clock.now = 29.0
    for _ in range(4):
        buckets.take("a")
    with pytest.raises(TooManyCalls) as told:
        buckets.take("a")
    assert 1 <= told.value.retry_after <= WINDOW
    clock.now += told.value.retry_after
    buckets.take("a")


def test_names_have_buckets_of_their_own_and_few_are_remembered(monkeypatch):
    monkeypatch.setattr(module, "MAX_CLIENTS", 2)
    buckets = of(40, Clock())
    for name in ("a", "b", "c"):
        buckets.take(name)
    assert len(buckets._own) == 2


def _call(path, number, calls, allowed):
    buckets = TokenBuckets(calls, RateLimitStore(path), "calls")
    for _ in range(number):
        try:
            buckets.take("a")
        except TooManyCalls:
            continue
        with allowed.get_lock():
            allowed.value += 1


def test_processes_share_a_bucket(tmp_path):
    """A bucket for each process is the wrong alternative: four would let four times as much through."""
    calls, processes, begun = 400, 4, time.monotonic()
    allowed = multiprocessing.get_context("fork").Value("i", 0)
    in_processes(processes, _call, tmp_path / "s", 300, calls, allowed)
    refilled = (time.monotonic() - begun) * calls / WINDOW
    assert calls * (1 - processes * BATCH) <= allowed.value <= calls + refilled


def test_many_calls_need_few_transactions(tmp_path, monkeypatch):
    shared = RateLimitStore(tmp_path / "s")
    asked, take = [], shared.take
    monkeypatch.setattr(shared, "take", lambda *given: asked.append(1) or take(*given))
    buckets = TokenBuckets(10_000, shared, "calls")
    for _ in range(5_000):
        buckets.take("a")
    assert len(asked) == 5_000 // (10_000 * BATCH)


PATH = "/api/datasets"


@pytest.fixture
def limited(office):
    state = ServerState(
        shared=RateLimitStore(None, lambda: 0.0)
    )  # nothing is refilled, however slow the machine
    options = read_options(office[0], account_calls=6, address_calls=3)
    return create_app(open_registry(office[0]), options, state), state, office[1]


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
    household = [statuses(app, 1, f"2001:db8::{n}")[0] for n in range(1, 5)]
    assert household == [200, 200, 200, 429], "a household of IPv6 counts once"
    assert statuses(app, 5, "127.0.0.1") == [200] * 5, "the machine itself does not count"


def test_keys_that_are_refused_count_for_their_address(limited):
    """Wrong alternative: a wrong key before any limit, as often as somebody likes."""
    app, _, keys = limited
    assert statuses(app, 5, **with_key("dk_wrong")) == [401, 401, 401, 429, 429]
    assert statuses(app, 1) == [429]
    assert statuses(app, 1, **with_key(keys["reader"])) == [200], "a good key has the calls of its account"
    assert statuses(app, 5, "127.0.0.1", **with_key("dk_wrong")) == [401] * 5


def test_too_many_calls_say_when_to_come_back_and_no_cache_keeps_it(limited):
    client = TestClient(limited[0], client=("203.0.113.9", 1))
    refused = [client.get("/", headers={}) for _ in range(4)][-1]
    assert (refused.status_code, refused.headers["cache-control"]) == (429, "no-store")
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    assert "script-src 'self'" in refused.headers["content-security-policy"]


@pytest.mark.parametrize("action", [SLOW, STOP])
def test_who_is_held_back_is_slowed_or_stopped_and_nobody_else_is(limited, action):
    app, state, keys = limited
    address = state.addresses.stored("127.0.0.1")
    for who in ("account:rita", f"address:{address}"):
        state.shared.hold(Hold(who, action, time.time() + 60, "recodes"))
    held = [200] * SLOWED + [429] if action == SLOW else [403]
    assert statuses(app, len(held), **with_key(keys["reader"])) == held
    assert statuses(app, len(held), "127.0.0.1") == held
    assert statuses(app, 1, **with_key(keys["analyst"])) == [200]
    state.shared.release("account:rita")
    assert statuses(app, 1, **with_key(keys["reader"])) == [200]
