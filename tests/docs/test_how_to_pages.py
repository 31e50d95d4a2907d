"""How-to pages on operating, publishing, auditing and loading: every command runs as it stands, in order."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from discreet import privacy
from discreet.noise import maxent
from discreet.web import run as web_run
from discreet.web.audit.log import AuditLog, LogPolicy
from discreet.web.auth.rate_limit import STOP, Hold, RateLimitStore
from discreet.workspace.folder_layout import log_key

from .pages import command_lines, text_of

FILES = text_of("how-to/load-your-data.md")


def commands_of(page, count):
    found = [line.removeprefix("discreet ") for line in command_lines(page) if line.startswith("discreet ")]
    assert len(found) == count
    return found


@pytest.mark.slow
def test_the_page_on_operation_runs(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    description = town.description.replace('id = "town"', 'id = "census"')
    for version, records in (("2025", town.records.slice(200)), ("2026", town.records)):
        text = description.replace('version = "1"', f'version = "{version}"')
        town.load(Path("office"), text, records).close()
    Path("office").chmod(0o700)
    served = description.replace('version = "1"', 'version = "2025"')
    Path("census.toml").write_text(served.replace('label = "Male"', 'label = "Men"'), "utf-8")
    place = "office"
    commands = [words for words in commands_of("how-to/operate.md", 19) if not words.startswith("log ")]
    for words in commands:
        if words == "remove census --version 2025 --yes -w office":
            assert run_here("use", "census", "2026", "-w", "office").returncode == 0
        done = run_here(*words.replace("-w office", f"-w {place}").split())
        assert done.returncode == 0, (words, done.stderr)
        place = "elsewhere" if words.startswith("move") else place


def test_the_page_reads_a_log_and_lifts_a_hold(town_folder, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    state = town_folder / "server"
    with AuditLog(state / "log", log_key(town_folder), LogPolicy()) as log:
        log.add({"at": "2026-01-01T00:00:00+00:00", "asked": [], "decision": "answered"})
    RateLimitStore(state / "shared.sqlite").hold(Hold("account:anna", STOP, time.time() + 600, "areas"))
    commands = [words for words in commands_of("how-to/operate.md", 19) if words.startswith("log ")]
    assert len(commands) == 4
    for words in commands:
        done = run_here(*words.replace("-w office", f"-w {town_folder}").split())
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
def test_the_nightly_backup_runs_every_night(town_folder, tmp_path):
    """A folder for each weekday exists on the second Monday, and a backup needs a new folder."""
    (line,) = (each for each in command_lines("how-to/operate.md") if "date +" in each)
    program, copies = Path(sys.executable).parent, tmp_path / "copies"
    copies.mkdir()
    os.utime(town_folder, (0, 0))  # a copy of an old workspace is new, and is not removed with the old copies
    for old, new in (
        ("/usr/local/lib/discreet/bin", str(program)),
        ("/backup", str(copies)),
        ("/var/lib/discreet", str(town_folder)),
    ):
        line = line.replace(old, new)
    for day in ("2026-11-02", "2026-11-09"):
        command = ["sh", "-c", line.replace("date +", f"date -d {day} +")]
        done = subprocess.run(command, check=False, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in copies.iterdir()) == ["2026-11-02", "2026-11-09"]


@pytest.mark.slow
def test_the_commands_on_noise_run_in_order(demo, monkeypatch, tmp_path, run_here):
    monkeypatch.chdir(tmp_path)
    commands = command_lines("how-to/choose-noise.md")
    assert len(commands) == 3
    for line in commands:
        done = run_here(*shlex.split(line)[1:], DISCREET_WORKSPACE=str(demo))
        assert done.returncode == 0, (line, done.stderr)


NOISE_ROW = re.compile(
    r"^\| ([\d.]+) million.*?\| D = (\d+), V = (\d+), js = 2.*?\| ±(\d+) \| (\d+) % \| ([\d.]+) \| ([\d.]+) \| ([\d,]+) \|$",
    re.MULTILINE,
)


def test_the_figures_behind_the_advice_on_noise_are_those_of_the_tables():
    rows = NOISE_ROW.findall(text_of("how-to/choose-noise.md"))
    assert [row[0] for row in rows] == ["0.1", "1", "5", "50"]
    for people, largest, variance, within, exact, worst, above, cells in rows:
        noise = maxent(D=int(largest), V=float(variance), js=2)
        law = noise.rows[-1].probabilities()
        half = next(
            h for h in range(99) if sum(p for v, p in law.items() if abs(v) <= h) >= Fraction(95, 100)
        )
        found = privacy.audit(noise, epsilon=1.0)
        assert (half, round(100 * float(law[0]))) == (int(within), int(exact))
        assert [f"{float(found.delta):.3g}", f"{float(found.above_D.delta):.3g}"] == [worst, above]
        assert f"{round(float(people) * 1e6 / (10 * half)):,}" == cells


@pytest.mark.slow
def test_the_page_on_publishing_runs(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(web_run, "serve", lambda *_given: None)
    section = re.findall(r"```toml\n(.*?)```", text_of("how-to/publish.md"), re.DOTALL)[0]
    for ours, theirs in (("district", "area"), ("employment", "job"), ("up_to = 2", "up_to = 1")):
        section = section.replace(ours, theirs)
    description = town.description.replace('id = "town"', 'id = "census"')
    town.load(Path("office"), description).close()
    Path("census.toml").write_text(description + section, "utf-8")
    for words in commands_of("how-to/publish.md", 6):
        done = run_here(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    assert Path("public/publication.json").is_file()
    assert Path("site/census/index.html").is_file()


def test_the_page_on_audits_runs(private_town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    private_town.folder.rename("office")
    for words in commands_of("how-to/audit-a-ledger.md", 6):
        done = run_here(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    assert "add up to epsilon" in done.stdout
    assert "are still there, and no cap was raised" in done.stdout


N = 600


def section(title):
    text = FILES.split(f"## {title}")[1].split("\n## ")[0]
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("discreet ")]


def people():
    random = np.random.RandomState(11)
    district = random.randint(0, 6, N)
    return pd.DataFrame(
        {
            "person_id": np.arange(N) + 5000,
            "household": np.arange(N) // 2,
            "region": np.array(["Île", "Süd"])[district // 3],
            "district": [f"D{n}" for n in district],
            "sex": random.choice(["f", "m"], N),
            "age": random.randint(0, 95, N),
            "income": random.gamma(2, 900, N).round(2),
        }
    )


def csv(folder):
    people().to_csv(folder / "people.csv", index=False, sep=";", decimal=",", encoding="cp1252")


def spss(folder):
    random = np.random.RandomState(12)
    frame = people()[["person_id", "age"]].assign(
        sex=random.randint(1, 3, N), job=random.choice([1, 2, 9], N), weight=random.randint(200, 900, N) / 2
    )
    labels = {"sex": {1: "Male", 2: "Female"}, "job": {1: "Yes", 2: "No", 3: "Never", 9: "Refused"}}
    pyreadstat.write_sav(
        frame, folder / "survey.sav", variable_value_labels=labels, missing_ranges={"job": [9]}
    )


def parquet(folder):
    (folder / "register").mkdir()
    frame = people()
    frame[:250].to_parquet(folder / "register" / "1.parquet")
    frame[250:].to_parquet(folder / "register" / "2.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "make"),
    [("A CSV file", csv), ("An SPSS or Stata file", spss), ("Parquet files", parquet)],
)
def test_the_commands_run_as_they_are_printed(title, make, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    commands = section(title)
    assert [words[0] for words in commands][-2:] == ["load", "table"]
    for words in commands:
        done = run_here(*words)
        assert done.returncode == 0, done.stderr
    assert "Total" in done.stdout
    (draft,) = tmp_path.glob("*.toml")
    text = draft.read_text("utf-8")
    assert "\n[[rule]]" in text
    if make is not spss:
        assert "# Left out: household (" in text
        assert "# Left out: income (" in text
        assert "geography = true" in text


def test_json_of_a_wrong_file_has_the_keys_that_the_reference_names(tmp_path, run_here, town):
    page = text_of("reference/files.md")
    (tmp_path / "town.toml").write_text(town.description)
    town.records.to_pandas().assign(sex="x").to_csv(tmp_path / "town.csv", index=False)
    told = json.loads(run_here("check", tmp_path / "town.csv", tmp_path / "town.toml", "--json").stdout)
    shape = f"{{{', '.join(told)}}}".replace("problems", f"problems: [{{{', '.join(told['problems'][0])}}}]")
    assert shape.replace("counts", "counts: {variable: n}") in page
