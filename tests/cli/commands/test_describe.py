"""`discreet describe`: a draft for people to check."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import pytest


def test_a_draft_overwrites_nothing(run_here, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "dataset.toml").write_text("hours of work")
    done = run_here("describe", tmp_path / "people.parquet", "--out", tmp_path / "dataset.toml")
    assert done.returncode == 2
    assert (tmp_path / "dataset.toml").read_text() == "hours of work"


def test_a_sound_file_is_told_so_and_nothing_is_written(run_here, town, tmp_path):
    pq.write_table(town.records, tmp_path / "town.parquet")
    (tmp_path / "town.toml").write_text(
        town.description, "utf-8-sig"
    )  # with a mark, as some editors write it
    before = sorted(tmp_path.rglob("*"))
    done = run_here("check", tmp_path / "town.parquet", tmp_path / "town.toml", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["records"] == 3000
    assert any("no [[rule]]" in caution for caution in found["cautions"])
    assert sorted(tmp_path.rglob("*")) == before


def test_what_disappears_is_told_against_a_workspace(run_here, town, town_workspace, tmp_path):
    pq.write_table(town.records, tmp_path / "town.parquet")
    (tmp_path / "town.toml").write_text(
        town.description.replace('name = "sex"', 'name = "gender"\ncolumn = "sex"')
    )
    given = ("check", tmp_path / "town.parquet", tmp_path / "town.toml")
    done = run_here(*given, "-w", town_workspace.folder)
    assert done.returncode == 0
    assert "Readers lose 1 variable: sex." in done.stderr
    assert "Readers lose" not in run_here(*given).stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])  # SIGHUP: tests/cli/test_console.py
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
    assert "Unchecked draft on this computer: not for publication" in page
    assert "workspace was removed" in told
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_file_with_nothing_to_tabulate_is_refused(run_here, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "people.csv").write_text("id,sex\n1,m\n2,f\n")
    done = run_here("try", tmp_path / "people.csv", "--no-browser")
    assert done.returncode == 2
    assert "no column with at least 20 records per category" in done.stderr
    assert list(Path(tmp_path / "tmp").iterdir()) == []
