"""Ctrl-C and SIGTERM end a command and remove its temporary files, whatever library is running."""

import os
import signal
import subprocess
import sys
import time

import pytest

from discreet.cli.main import INTERRUPTED
from discreet.cli.signals import KILLED, clean_up_on_signal


@pytest.fixture
def as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_is_that_of_ctrl_c(number):
    signal.signal(number, signal.SIG_DFL)
    clean_up_on_signal()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


@pytest.mark.usefixtures("as_before")
def test_a_signal_that_is_ignored_stays_so():
    """`nohup` ignores the closing of the terminal; the wrong alternative ends all the same."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    clean_up_on_signal()
    signal.raise_signal(signal.SIGHUP)


#: A command in place of `discreet`: it has a temporary file, and runs one line for ten minutes.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests may ignore it
import typer
from discreet.cli import main, signals
main.app = typer.Typer(pretty_exceptions_enable=False)
@main.app.command()
def compute():
    signals.clean_up_on_signal()
    import duckdb, tempfile, time
    open(tempfile.mkstemp()[0], "w").write("records")
    print("begun", flush=True)
    {line}
main.run()
"""
FOREVER = "SELECT sum(hash(a.x + b.x)) FROM range(10_000_000) a(x), range(1_000_000) b(x)"
#: One holds the interpreter, one may hear no signal, one raises an error that is not KeyboardInterrupt, one sleeps, and one
#: ends with the process only.
LINES = {
    "deaf": "sum(range(10**13))",
    "duckdb": f"duckdb.connect().execute({FOREVER!r})",
    "renames": f"duckdb.sql({FOREVER!r}).fetchall()",
    "asleep": "time.sleep(600)",
    "lingers": "import atexit; atexit.register(sum, range(10**13)); time.sleep(600)",
}


@pytest.fixture
def start(tmp_path):
    running = []

    def one(line):
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        program = [sys.executable, "-c", COMMAND.format(line=LINES[line])]
        running.append(
            subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        )
        assert running[0].stdout.readline() == b"begun\n"
        return running[0]

    yield one
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is a guard only where processes can be forked")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("line", LINES)
def test_a_signal_ends_a_command_in_any_library_and_nothing_stays(start, tmp_path, line, end):
    process = start(line)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.iterdir())
    time.sleep(0.5)  # let the line begin
    process.send_signal(end)
    said = process.communicate(timeout=60)[1]  # until the guard, too, has closed it
    exits = {"deaf": {-signal.SIGKILL}, "lingers": {-signal.SIGKILL}, "asleep": {INTERRUPTED}}.get(
        line, {-signal.SIGKILL, INTERRUPTED}
    )
    assert process.returncode in exits
    assert said == (b"" if process.returncode == INTERRUPTED else KILLED)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is a guard only where processes can be forked")
def test_no_records_stay_of_a_command_that_is_killed(start, tmp_path):
    process = start("asleep")
    process.kill()
    process.communicate(timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_the_guard_of_a_server_ends():
    """It would kill a server that finishes its responses."""
    program = (
        "import signal\n"
        "from discreet.cli.signals import guarded, leave_signals_to_server\n"
        "with guarded() as guard:\n"
        "    before = guard.pipe\n"
        "    leave_signals_to_server()\n"
        "    print(before is not None, guard.pipe, signal.set_wakeup_fd(-1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("True None -1\n", "")
