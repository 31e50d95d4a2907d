"""The README's first screen: a newcomer makes a table of their own data with the commands that it prints."""

import re
import shlex
from pathlib import Path

import pyarrow.csv as pc
import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def own_data_commands():
    block = next(
        block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "discreet describe" in block
    )
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("discreet ")]


def test_own_data_come_within_the_first_screen():
    assert README[: README.index("discreet describe")].count("\n") < 30
    assert ".venv/bin" in README[: README.index("discreet describe")]


@pytest.mark.slow
def test_the_commands_for_own_data_run_as_they_are_printed(town, tmp_path, monkeypatch, run_here):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(
        town.records.drop_columns(["weight"]) if "weight" in town.records.column_names else town.records,
        "people.csv",
    )
    commands = own_data_commands()
    assert [words[0] for words in commands] == ["describe", "load", "table", "serve"]
    for words in commands[:-1]:
        done = run_here(*words)
        assert done.returncode == 0, done
    assert "Total" in done.stdout
    assert (tmp_path / "dataset.toml").read_text("utf-8").count("id = ") >= 1
