"""Several processes serve one workspace: the same bytes from each, one ledger, and one that dies is replaced."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from discreet_studies.bench.serve import free_port

pytestmark = pytest.mark.slow

TABLE = "/api/datasets/people/table?rows=sex&columns=age&format=csv"
#: Calls in ten seconds.
CALLS = 40
#: Groups of districts, which the rules do not allow.
REFUSED = [
    f"/api/datasets/people/table?rows=district&group=district=D01%2BD{other:02}" for other in range(2, 32)
]


@contextmanager
def serving(folder, **options):
    port = free_port()
    words = ["serve", "-w", str(folder), "--port", str(port), "--workers", "2"]
    run = [sys.executable, "-c", "from discreet.cli.main import run; run()", *words]
    process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True, env={**os.environ, **options})
    assert "is serving" in process.stderr.readline()
    yield process, port
    process.terminate()
    assert process.wait(30) == 0


@pytest.fixture
def server(small_folder):
    with serving(small_folder) as found:
        yield found


def ask(port, address):
    """The answer to a reader elsewhere, as a proxy tells it, on a connection of its own."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", address, headers={"X-Forwarded-For": "198.51.100.7"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def get(port, address):
    status, body = ask(port, address)
    assert status == 200, body
    return body


def workers(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes")
def test_a_process_that_is_killed_is_replaced_and_no_byte_changes(server, client):
    process, port = server
    expected, before = client.get(TABLE).content, workers(process)
    assert len(before) == 2
    for _ in range(20):  # each on a new connection, so both of them answer
        assert get(port, TABLE) == expected
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: not _is_alive(before[0]))
    assert get(port, TABLE) == expected  # by the other one
    wait_until(lambda: len(set(workers(process)) - set(before)) == 1)
    assert all(get(port, TABLE) == expected for _ in range(20))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes")
def test_the_processes_end_with_the_one_that_watches_over_them(small_folder, server):
    process, _ = server
    team = workers(process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(_is_alive(pid) for pid in team))
    process.wait = lambda _seconds: 0  # it was killed here


def test_one_watch_one_log_and_one_quota_whichever_process_answers(small_folder, tmp_path):
    """Each process by itself would see half of the recodes, too few for an alert, and let twice the calls through."""
    folder = shutil.copytree(small_folder, tmp_path / "w")
    (folder / "workspace.toml").write_text(
        f"address_calls = {CALLS}\n[watch]\nrecodes = [{len(REFUSED)}, 0, 0]\n"
    )
    with serving(folder) as (_, port):
        begin = time.monotonic()
        assert {ask(port, address)[0] for address in REFUSED} == {403}
        told = [ask(port, TABLE)[0] for _ in range(80)]
        seconds = time.monotonic() - begin
        wait_until(lambda: "recodes" in by_command("log", "alerts", "-w", folder))
    assert set(told) <= {200, 429}
    assert len(REFUSED) + told.count(200) <= CALLS * (1 + seconds / 10) + 1
    sound = by_command("log", "verify", "-w", folder)
    assert len(set(re.findall(r"\b(\d\d):\d+:", sound))) == 2, "a chain a process"


def by_command(*words):
    run = [sys.executable, "-c", "from discreet.cli.main import run; run()", *map(str, words)]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


def _is_alive(pid):
    try:
        return not re.search(r"^State:\s+Z", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False
