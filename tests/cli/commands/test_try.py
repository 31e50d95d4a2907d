"""`discreet try`: from a file to the table builder, and nothing left afterwards."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_file_is_served_until_it_is_ended_and_nothing_stays(town, tmp_path, end):
    frame = town.records.to_pandas()
    frame["household"] = frame.index // 2
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    program = (  # whatever started the tests may ignore signals: `nohup` does, and a shell's background
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from discreet.cli.main import run; run()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, "try", str(tmp_path / "people.csv"), "--no-browser"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as running:
        try:
            told = ""
            while "The table builder:" not in told:
                line = running.stderr.readline()
                assert line, told
                told += line
            address = re.search(r"The table builder: (\S+)", told)[1]
            page = urllib.request.urlopen(address, timeout=60).read().decode()  # noqa: S310 - loopback
            running.send_signal(end)
            told += running.communicate(timeout=60)[1]
            assert running.returncode == 0, told
        finally:
            running.kill()
    assert "The id is person" in told
    assert "household: 1,500 different values" in told
    assert "household" not in page
    assert "workspace was removed" in told
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_file_with_nothing_to_tabulate_is_refused(run_here, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "people.csv").write_text("id,sex\n1,m\n2,f\n")
    done = run_here("try", tmp_path / "people.csv", "--no-browser")
    assert done.returncode == 2
    assert "no column with 20 records a category" in done.stderr
    assert list(Path(tmp_path / "tmp").iterdir()) == []
