"""The examples of the README and of the first steps run: Python blocks as they stand, commands through the same code."""

import csv
import json
import re
import shlex
import shutil
import subprocess

import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli.main import app

from .pages import blocks, run_python, text_of

WITH_PYTHON = ["start/first-table.md", "reference/question-language.md"]


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_PYTHON)
def test_the_python_of_a_page_runs(path, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    found = blocks(path, "python")
    assert found
    for code in found:
        run_python(path, code)


@pytest.mark.slow
def test_r_reads_the_numbers_that_python_reads(demo_address, tmp_path):
    """The recipe as it stands, then the table as R has it, cell by cell; codes such as "01" stay text."""
    if not shutil.which("Rscript"):
        pytest.skip("R is not here (apt-get install r-base-core)")
    recipe = "\n".join(blocks("how-to/read-tables.md", "r")).replace("http://127.0.0.1:8000", demo_address)
    wanted = "rows=age&columns=sex&filter=region=R01"
    more = f"""
    other <- read_table("{demo_address}", "census", "{wanted}")
    write.csv(other, "{tmp_path}/r.csv", row.names = FALSE)
    cat(levels(other$age_label)[1:3], sep = "\\n", file = "{tmp_path}/levels")
    """
    (tmp_path / "recipe.R").write_text(recipe + more)
    done = subprocess.run(
        ["Rscript", str(tmp_path / "recipe.R")], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Employed" in done.stdout
    with discreet.open(demo_address) as catalogue:
        frame = catalogue.table("census", rows="age", columns="sex", filters={"region": ["R01"]}).to_pandas()
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["age"] for line in lines] == frame["age"].tolist()
    numbers = [None if line["value"] == "NA" else int(line["value"]) for line in lines]
    assert numbers == [
        None if missing else v for v, missing in zip(frame["value"], frame["value"].isna(), strict=True)
    ]
    assert (tmp_path / "levels").read_text("utf-8").split() == frame["age_label"].cat.categories[:3].tolist()


def command_lines(path):
    """The commands of a page that need nothing but the demo, in order."""
    for block in blocks(path, "sh"):
        for line in block.strip().splitlines():
            words = shlex.split(line, comments=True)
            if (
                words
                and words[0].split("/")[-1] == "discreet"
                and words[1] not in {"describe", "load", "serve", "try"}
                and "my-tables" not in words  # own data: test_readme.py runs those
            ):
                yield words[1:]


@pytest.mark.parametrize("path", [WITH_PYTHON[0], pytest.param(WITH_PYTHON[1], marks=pytest.mark.slow)])
def test_the_commands_of_a_page_run(path, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TABLE.csv").write_text("40,52\n61,30\n")
    CliRunner().invoke(app, ["design", "laplace", "--epsilon", "1", "--m", "7", "--out", "NOISE.json"])
    lines = list(command_lines(path))
    assert lines
    for words in lines:
        result = CliRunner().invoke(app, words)
        assert result.exception is None, (words, result.exception)
        assert result.exit_code == 0


README = text_of("README.md")


def own_data_commands():
    block = next(block for block in blocks("README.md", "sh") if "discreet describe" in block)
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("discreet ")]


def test_own_data_come_within_the_first_screen():
    assert README[: README.index("discreet describe")].count("\n") < 30
    assert len(README[: README.index("docs/start/reader.md")].split()) < 250
    assert ".venv/bin" in README[: README.index("discreet describe")]


def test_the_readme_states_the_guarantee_and_the_interval_of_its_table(demo, monkeypatch):
    """The interval and the worst cases are those of the demo's noise table, whatever the secret of a workspace is."""
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    methodology = CliRunner().invoke(app, ["methodology", "spudlandia"]).stdout
    promise = re.search(
        r"One count by itself is (\(.*?\))-differentially private .*?(\([^(]*\)) for counts", methodology
    )
    assert f"is {promise[1]}-differentially private" in README
    assert f"and {promise[2]} for counts above 5" in README
    low, value, high = 80, 83, 86
    assert (
        f"You see {value}; the true count is between {low} and {high} in at least 95 of 100 cases" in README
    )
    options = ["--rows", "age", "--columns", "gender", "--json"]
    intervals = json.loads(CliRunner().invoke(app, ["interval", "spudlandia", *options]).stdout)
    assert {
        (each["low"] - each["value"], each["high"] - each["value"])
        for each in intervals["cells"]
        if each["value"] > 20
    } == {(low - value, high - value)}


@pytest.mark.slow
def test_the_commands_for_own_data_run_as_they_are_printed(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(town.records, "people.csv")
    commands = own_data_commands()
    assert [words[0] for words in commands] == ["try", "describe", "load", "table", "serve"]
    for words in commands[1:-1]:  # the tests of `try` and of servers are elsewhere
        done = run_here(*words)
        assert done.returncode == 0, done
    assert "Total" in done.stdout
    assert (tmp_path / "dataset.toml").read_text("utf-8").count("id = ") >= 1
