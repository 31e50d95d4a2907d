"""Running the server: worker processes, the socket, signals and what is said."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from discreet.errors import BadOption
from discreet.release.dataset_registry import open_registry
from discreet.web.audit.chain import read_log_file, verify_log
from discreet.web.detectors.monitor import read_alerts
from discreet.web.run import _drop_traceback, listen, serve
from discreet.workspace.folder_layout import log_key
from discreet.workspace.options import read_options
from discreet_studies.bench.serve import free_port

TABLE = "/api/datasets/people/table?rows=sex&columns=age&format=csv"
DISCREET = [sys.executable, "-c", "from discreet.cli.main import run; run()"]
LOG = "server/log"
#: Calls in ten seconds.
CALLS = 40
#: Groups of districts, which the rules do not allow.
REFUSED = [
    f"/api/datasets/people/table?rows=district&group=district=D01%2BD{other:02}" for other in range(2, 32)
]


@contextmanager
def serving(folder, workers=2, stop=signal.SIGTERM, patch=""):
    """A server of its own: the process and the port; `patch` is code that it runs first."""
    port, (python, _, code) = free_port(), DISCREET
    words = ["serve", "-w", str(folder), "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen([python, "-c", patch + code, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == f"Discreet is serving http://127.0.0.1:{port}\n"
    yield process, port
    process.send_signal(stop)
    assert process.wait(30) == 0


def http(port):
    return HTTPConnection("127.0.0.1", port, timeout=30)


def ask(port, address):
    """The answer to a reader elsewhere, as a proxy tells it, on a connection of its own."""
    with closing(http(port)) as connection:
        connection.request("GET", address, headers={"X-Forwarded-For": "198.51.100.7"})
        answer = connection.getresponse()
        return answer.status, answer.read()


def workers(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes")
def test_a_process_that_is_killed_is_replaced_and_all_end_with_the_one_that_watches_over_them(
    small_folder, client
):
    expected = (200, client.get(TABLE).content)
    with serving(small_folder) as (process, port):
        before = workers(process)
        assert len(before) == 2
        for _ in range(20):  # each on a new connection, so both of them answer
            assert ask(port, TABLE) == expected
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: not _is_alive(before[0]))
        assert ask(port, TABLE) == expected  # by the other one
        wait_until(lambda: len(set(workers(process)) - set(before)) == 1)
        assert all(ask(port, TABLE) == expected for _ in range(20))
        team = workers(process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(_is_alive(pid) for pid in team), 120)  # one may be starting
        process.send_signal, process.wait = print, lambda _seconds: 0  # it was killed here


@pytest.mark.slow
def test_one_watch_one_log_and_one_quota_whichever_process_answers(small_copy):
    """Each process by itself would see half of the recodes, too few for an alert, and let twice the calls through.

    The last lines are queued when SIGINT arrives, and none is lost.
    """
    options = f"address_calls = {CALLS}\n[watch]\nrecodes = [{len(REFUSED)}, 0, 0]\n"
    (small_copy / "workspace.toml").write_text(options)
    with serving(small_copy, stop=signal.SIGINT) as (_, port):
        begin = time.monotonic()
        assert {ask(port, address)[0] for address in REFUSED} == {403}
        told = [ask(port, TABLE)[0] for _ in range(80)]
        seconds = time.monotonic() - begin
        wait_until(lambda: "recodes" in {alert.detector for alert in read_alerts(small_copy / "server")})
        told += [ask(port, TABLE)[0] for _ in range(5)]
    assert len([line for line in lines_of(small_copy) if "status" in line]) == len(REFUSED) + len(told)
    assert set(told) <= {200, 429}
    assert len(REFUSED) + told[:80].count(200) <= CALLS * (1 + seconds / 10) + 1
    chains = verify_log(small_copy / LOG, log_key(small_copy))
    assert [(each.process, each.faults) for each in chains] == [("00", ())], "one chain of all processes"


def lines_of(folder):
    return [each for path in (folder / LOG).glob("*.jsonl") for each in read_log_file(path)]


def _is_alive(pid):
    try:
        return not re.search(r"^State:\s+Z", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return False


@pytest.mark.slow
def test_it_says_one_line_and_a_signal_to_stop_loses_no_line_of_the_audit_log(small_copy):
    """Wrong alternative: what uvicorn does by itself; it raises SIGTERM again, and 0 of 200 lines were written."""
    with serving(small_copy, workers=1) as (process, port), closing(http(port)) as connection:
        for _ in range(200):
            connection.request("GET", TABLE)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["server"], len(answer.read()) > 0) == (200, None, True)
        status, body = ask(port, f"{TABLE}&{'x' * 40_000}")
        assert (status, b"request-too-long" in body) == (414, True)
    assert process.stderr.read() == ""
    assert sum(each.get("status") == 200 for each in lines_of(small_copy)) == 200
    assert [found.faults for found in verify_log(small_copy / LOG, log_key(small_copy))] == [()]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="has no such signal")
def test_a_terminal_that_is_closed_ends_a_server_with_all_lines_of_its_log(small_copy):
    with serving(small_copy, workers=1, stop=signal.SIGHUP) as (_, port):
        assert [ask(port, TABLE)[0] for _ in range(30)] == [200] * 30
    assert sum("status" in each for each in lines_of(small_copy)) == 30


@pytest.mark.slow
def test_lines_that_a_killed_server_had_not_written_are_counted(small_copy):
    """Wrong alternative: a chain alone, which ends soundly wherever the server was killed."""
    with serving(small_copy, workers=1) as (process, port):
        assert [ask(port, TABLE)[0] for _ in range(30)] == [200] * 30
        process.kill()
        process.wait()
        process.send_signal, process.wait = print, lambda _seconds: 0  # it was killed here
    (found,) = verify_log(small_copy / LOG, log_key(small_copy))
    written = sum("status" in each for each in lines_of(small_copy))
    assert written + found.lost == 30
    assert bool(found.faults) == bool(found.lost)
    with serving(small_copy, workers=2) as (_, port):
        assert ask(port, TABLE)[0] == 200
    (after,) = verify_log(small_copy / LOG, log_key(small_copy))
    assert (after.faults, after.lost) == ((), found.lost)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes")
@pytest.mark.parametrize("early", [True, False])
def test_ctrl_c_in_a_terminal_ends_all_processes_without_a_word(small_folder, early):
    """A terminal sends it to every process: workers that are starting printed their tracebacks."""
    words = ["serve", "-w", str(small_folder), "--port", str(free_port()), "--workers", "2"]
    process = subprocess.Popen([*DISCREET, *words], stderr=subprocess.PIPE, text=True, start_new_session=True)
    if early:
        wait_until(lambda: workers(process))
    else:
        assert process.stderr.readline().startswith("Discreet is serving")
    os.killpg(process.pid, signal.SIGINT)
    assert (process.wait(60), process.stderr.read()) == (0, "")


def test_a_port_in_use_is_named_with_how_to_change_it():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadOption, match=f"The port {port} is in use") as caught:
            listen("127.0.0.1", port)
    assert "--port" in caught.value.advice
    assert "DISCREET_PORT" in caught.value.advice


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host"])
def test_an_address_that_is_not_ours_is_named(host):
    with pytest.raises(BadOption, match=f"cannot listen on '{host}"):
        listen(host, 8000)


def test_an_option_whose_machinery_is_gone_is_accepted_with_a_warning(small_folder, monkeypatch, caplog):
    def stop(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.web.run.listen", stop)
    for given, warned in (({"cache_folder": "/nowhere"}, True), ({}, False)):
        caplog.clear()
        with pytest.raises(KeyboardInterrupt):
            serve(open_registry(small_folder), read_options(small_folder, **given))
        assert ("cache_folder is ignored" in caplog.text) is warned


def test_arrow_does_not_import_pandas_in_a_server_and_a_program_still_can():
    """The wrong alternative is what Arrow does by itself."""
    arrow = "import sys; import pyarrow as pa; pa.array(['a']); print('pandas' in sys.modules); import pandas"
    hide = "from discreet.web.run import hide_pandas_from_arrow; hide_pandas_from_arrow()"
    for code, imported in ((f"{hide}; {arrow}", "False\n"), (arrow, "True\n")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == imported


def test_an_exception_in_a_middleware_is_logged_without_its_text(caplog):
    """uvicorn logs the traceback of an exception that no handler caught."""
    log = logging.getLogger("uvicorn.error")
    log.addFilter(_drop_traceback)
    error = ValueError("a canary")
    log.error("Exception in ASGI application\n", exc_info=error)
    log.removeFilter(_drop_traceback)
    assert "ValueError" in caplog.text
    assert "canary" not in caplog.text
