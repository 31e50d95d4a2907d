"""A server that is told to end, whose clock jumps, or that shares its workspace with another one."""

from __future__ import annotations

import http.client
import multiprocessing
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations, cycle

import httpx
import numpy as np
import pyarrow as pa
import pytest
from tests.black_box.conftest import letters_description, margins_paid, open_site
from tests.drills.faults import ID, changes_of, check_after_fault, killed, outcome

from discreet.web.audit.chain import verify_log
from discreet.web.auth.rate_limit import RateLimitStore
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.folder_layout import log_key
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.operate.diagnosis import examine
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset

pytestmark = [pytest.mark.slow, pytest.mark.drill]

#: Seconds: ten years ahead and back, the hour of summer time, a quarter.
JUMPS = (0, 315_000_000, -315_000_000, 3_600, -3_600, 7_776_000)
#: The clock of a process follows a file: what it reads by `time` and by `datetime`.
JUMPING = """
import datetime, time
import duckdb, pandas, pyarrow.compute, scipy.stats, sqlalchemy  # compiled code has seen the real one
from pathlib import Path
time.time = lambda real=time.time, at=Path({stamp!r}): real() + float(at.read_text() or 0)
class Jumped(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
datetime.datetime = Jumped
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A census whose largest table takes megabytes."""
    folder = tmp_path_factory.mktemp("large")
    load_dataset(folder, census_description(300_000), census_batches(300_000))
    return folder


LARGE = "/api/datasets/census/table?rows=area&columns=age,sex&format=csv"


def taken(server, told: signal.Signals) -> bytes:
    """What a slow reader gets of a large table whose server is told to end after the first bytes."""
    port = int(server.address.rpartition(":")[2])
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # the kernel holds little of it
        line.connect(("127.0.0.1", port))
        asking = http.client.HTTPConnection("127.0.0.1", port)
        asking.sock = line
        asking.request("GET", LARGE, headers={"accept-encoding": "identity"})
        answer = asking.getresponse()
        got = answer.read(4_096)
        server.process.send_signal(told)
        try:
            return got + answer.read()
        except (http.client.HTTPException, OSError):
            return got


def test_an_answer_in_flight_ends_before_the_server_does(large, running, drill):
    """A server that drops its connections leaves half a table, which reads like a whole one: so does one that is killed."""
    whole = cut = 0
    for told in [signal.SIGTERM] * drill.times(1, 3) + [signal.SIGKILL]:
        with running(large) as server:
            wanted = httpx.get(server.address + LARGE, timeout=60).content
            assert len(wanted) > 1_000_000
            is_whole = taken(server, told) == wanted
            if told == signal.SIGKILL:
                assert not is_whole, "what is in flight must not lie in the kernel already"
                continue
            whole, cut = whole + is_whole, cut + (not is_whole)
            assert server.process.wait(60) in {0, -signal.SIGTERM}  # a supervisor takes both for a clean end
    assert cut == 0
    drill.note(stops=whole + cut, whole_answers=whole, half_answers=cut)


def test_limits_by_the_time_of_day_would_be_found_out():
    """After a jump back their buckets never fill up again; by a clock that only goes on they do."""
    allowed = []
    for jump in (0, -3_600):
        clock = iter((1e6, 1e6 + 10 + jump))
        limits = RateLimitStore(None, clock=lambda clock=clock: next(clock))
        assert limits.take("ann", 20, 10.0, 20)[0] == 20
        allowed.append(limits.take("ann", 20, 10.0, 20)[0])
    assert allowed == [20, 0]


#: Tables that are charged for, one at each jump.
CHARGED = ("sex,age,job", "sex,age,area", "sex,job,area", "age,job,area")


def test_a_clock_that_jumps_changes_no_number_and_stops_no_answer(private_town, running, drill, tmp_path):
    """Years ahead and back: numbers, charges, limits, caches and the log do not follow the clock; the end of a key does.

    Wrong alternatives: limits by the time of day would be full for years after a jump back; a ledger in the order of its
    dates would take a later charge for an earlier one.
    """
    stamp, folder = tmp_path / "clock", private_town.folder
    stamp.write_text("0")
    site = open_site(folder)
    ann, bob = site.share("ann", 5), open_accounts(folder).create("bob", "reader", days=30)
    site.close()
    seen, asked, ended, late = set(), 0, 0, []
    left = iter(CHARGED)
    with running(folder, JUMPING.format(stamp=str(stamp)), DISCREET_ACCOUNT_CALLS="4") as server:
        for _ in range(drill.times(1, 2)):
            for jump in JUMPS:
                stamp.write_text(str(jump))
                answer = server.get("rows=sex&columns=age&format=csv", headers={"cache-control": "no-cache"})
                assert answer.status_code == 200, jump
                seen.add(answer.content)
                asked += 1
                paid = server.get(f"rows={next(left, CHARGED[0])}", headers=bearer(ann))
                assert paid.status_code == 200, paid.text
                statuses = [server.get("rows=sex", headers=bearer(bob)) for _ in range(12)]
                over = jump > 30 * 86_400
                assert {each.status_code for each in statuses} == ({401} if over else {200, 429}), jump
                late += [int(e.headers["retry-after"]) for e in statuses if e.status_code == 429]
                ended += over
                time.sleep(3)  # a call may be made again
        stamp.write_text(str(JUMPS[1]))
        time.sleep(2)  # the server writes the date once a second
        jumped = server.get("rows=sex&format=csv").headers["date"].split()[3]
        assert int(jumped) > int(time.strftime("%Y")) + 8  # the clock of the server did jump
        server.process.terminate()  # a killed server would lose the line of the last request
        server.process.wait(60)
    assert len(seen) == 1
    assert all(0 < seconds <= 10 for seconds in late)
    site = open_site(folder)
    assert len(site.state().charges) == 1 + len(CHARGED)  # the load, and each table once
    site.close()
    assert not [
        fault for chain in verify_log(folder / "server" / "log", log_key(folder)) for fault in chain.faults
    ]
    check_after_fault(folder)
    drill.note(
        jumps=asked,
        other_numbers=len(seen) - 1,
        refused=0,
        charged_twice=0,
        longest_retry_after=max(late),
        keys_ended_by_the_clock=ended,
    )


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_two_hosts_on_one_workspace_tell_one_story(town, loaded, running, drill):
    """Two servers and a load between them: one version has one set of bytes, whoever is asked."""
    told: dict[str, set[bytes]] = {}
    by_host: list[set[str]] = [set(), set()]
    failed: list[str] = []
    lock, done = threading.Lock(), threading.Event()
    asked = 0

    def ask(server, digests: set[str]) -> None:
        nonlocal asked
        while not done.is_set():
            answer = server.get("rows=sex&columns=age&format=json")
            with lock:
                if answer.status_code != 200:
                    failed.append(answer.text)
                    return
                digest = answer.json()["extension"]["digest"]
                told.setdefault(digest, set()).add(answer.content)
                digests.add(digest)
                asked += 1

    def each_host_told(versions: int) -> None:
        give_up = time.monotonic() + 120
        while any(len(digests) < versions for digests in by_host) and not failed:
            assert time.monotonic() < give_up, f"{versions} versions were not told: {by_host}"
            done.wait(0.05)

    loads = drill.times(1, 5)
    with running(loaded) as first, running(loaded) as second:
        readers = [
            threading.Thread(target=ask, args=told_by)
            for told_by in zip((first, second), by_host, strict=True)
        ]
        for reader in readers:
            reader.start()
        try:
            each_host_told(1)
            for number in range(loads):
                changed = town.description.replace('version = "1"', f'version = "{number + 2}"')
                load_dataset(loaded, changed, town.records.slice(number + 1))
                each_host_told(number + 2)
        finally:
            done.set()
            for reader in readers:
                reader.join(60)
    assert not failed
    assert by_host == [set(told)] * 2
    assert all(len(bodies) == 1 for bodies in told.values())
    assert len(told) == loads + 1
    check_after_fault(loaded)
    drill.note(loads=loads, answers=asked, versions=len(told), two_stories=0)


# Quotas, whatever the protocol ---------------------------------------------------------------------------------------

LETTERS = "abcdefghij"


@pytest.fixture
def letters(tmp_path):
    """Letters under `dp` in a workspace, of which each table of two costs 0.1."""
    rng = np.random.RandomState(2)
    columns = {name: pa.array(rng.choice(["0", "1"], 300)) for name in LETTERS}
    records = pa.table({"id": pa.array([f"{ID}-{number}" for number in range(300)]), **columns})
    load_dataset(tmp_path / "w", letters_description(LETTERS, cap=(1000.0, 1e-3)), records)
    return tmp_path / "w"


def asked_by(protocol, one, other):
    """The path of a table of two variables; of SDMX and PxWebApi only some of its cells."""
    return {
        "json": f"/api/datasets/town/table?rows={one}&columns={other}",
        "sdmx": f"/api/sdmx/data/town-{one}-{other}/1.",
        "pxweb": f"/api/pxweb/v2/tables/town/data?valuecodes[{one}]=1&valuecodes[{other}]=*",
    }[protocol]


PROTOCOLS = ("sdmx", "pxweb", "json")


def statuses_of(server, key, paths):
    """How often each path had which status, asked by four clients at once."""

    def ask(path):
        return path, httpx.get(server.address + path, headers=bearer(key), timeout=60).status_code

    with ThreadPoolExecutor(4) as clients:
        return list(clients.map(ask, paths))


def test_a_share_is_spent_once_whatever_the_protocol(letters, running, drill):
    """Wrong alternative: a protocol, or a slice, that charges for itself, so that fewer tables are answered."""
    pays, tables = drill.times(4, 21), list(combinations(LETTERS, 2))[: drill.times(8, 45)]
    site = open_site(letters)
    key = site.share("ann", pays / 10 + 0.05)
    site.close()
    with running(letters, DISCREET_PXWEB_CALLS="1000000") as server:
        each = zip(tables, cycle(PROTOCOLS), strict=False)
        first = statuses_of(server, key, [path for (a, b), by in each for path in [asked_by(by, a, b)] * 2])
        paid = {path for path, status in first if status == 200}
        assert {status for _, status in first} == {200, 403}
        assert len(paid) == pays
        again = statuses_of(server, key, [asked_by(by, a, b) for a, b in tables for by in PROTOCOLS])
        answered = {path for path, status in again if status == 200}
    assert paid <= answered
    assert len(answered) == pays * len(PROTOCOLS)
    site = open_site(letters)
    state = site.state()
    site.close()
    assert len(margins_paid(state)) == pays
    assert state.accounts[0].spent[0] <= state.accounts[0].cap[0]
    drill.note(
        tables=len(tables),
        requests=len(first) + len(again),
        paid=len(paid),
        charged_twice=0,
        beyond_the_share=0,
    )


@pytest.mark.parametrize("protocol", ["sdmx", "pxweb"])
def test_a_limit_of_calls_holds_for_other_protocols(loaded, running, drill, protocol):
    """Calls of an account in ten seconds. Wrong alternative: a protocol with a limit of its own, or with none."""
    calls, asked = 20, drill.times(40, 200)
    key, path = open_accounts(loaded).create("ann", "reader"), asked_by(protocol, "sex", "age")
    with running(loaded, DISCREET_ACCOUNT_CALLS=str(calls), DISCREET_PXWEB_CALLS="1000000") as server:
        started = time.monotonic()
        found = Counter(status for _, status in statuses_of(server, key, [path] * asked))
        refilled = calls * (time.monotonic() - started) / 10
        late = httpx.get(server.address + path, headers=bearer(key), timeout=60)
        other = httpx.get(server.address + asked_by("json", "sex", "age"), headers=bearer(key), timeout=60)
    assert set(found) == {200, 429}
    assert found[200] <= calls + refilled + 1
    assert {late.status_code, other.status_code} <= {200, 429}
    assert late.status_code == 200 or int(late.headers["retry-after"]) > 0
    drill.note(calls=asked, answered=found[200], refused_429=found[429], beyond_the_limit=0)


# Labels that change while tables are asked ----------------------------------------------------------------------------


def keep_asking(address, stop, told):
    """Ask for a table until the end, and report each answer once: its status, its label and its numbers."""
    seen = Counter()
    with httpx.Client(timeout=60) as client:
        while not stop.is_set():
            answer = client.get(f"{address}/api/datasets/town/table?rows=sex&columns=age&format=json")
            found = answer.json() if answer.status_code == 200 else {}
            label = found["dimension"]["sex"]["label"] if found else ""
            seen[answer.status_code, label, str(found.get("value"))] += 1
    told.put(seen)


def test_labels_that_change_under_load_change_no_number(town, loaded, running, drill):
    """Half of the commands are killed before a change of a file, and given again."""
    labels = [f"Sex {number}" for number in range(drill.times(2, 20))]
    fork = multiprocessing.get_context("fork")
    stop, told, killed_within = fork.Event(), fork.Queue(), 0

    def relabel(label):
        relabel_dataset(loaded, town.description.replace('label = "Sex"', f'label = "{label}"'))

    changes = changes_of(loaded, partial(relabel, "Sex"))
    with running(loaded) as server:
        readers = [fork.Process(target=keep_asking, args=(server.address, stop, told)) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number, label in enumerate(labels):
            act = partial(killed, 1 + number % changes)
            killed_within += outcome(loaded, act, partial(relabel, label)) == "died"
            relabel(label)
            page = httpx.get(f"{server.address}/datasets/town?rows=sex", timeout=60)
            assert label in page.text
        stop.set()
        seen = sum((told.get(timeout=60) for _ in readers), Counter())
        for reader in readers:
            reader.join(60)
    assert {status for status, *_ in seen} == {200}
    assert len({numbers for *_, numbers in seen}) == 1
    assert {label for _, label, _ in seen} <= {"Sex", *labels}
    assert killed_within
    assert not [found for found in examine(loaded) if found.state == "fault"]
    drill.note(
        commands=2 * len(labels),
        killed_within=killed_within,
        answers=seen.total(),
        labels_seen=len({label for _, label, _ in seen}),
        other_numbers=0,
        failed=0,
    )
