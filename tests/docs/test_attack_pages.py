"""The pages of the attacks: their examples run, and their figures are those of the command."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[2] / "docs" / "methods"
NAMES = ("attack-bob", "attack-averaging", "attack-versions")


def text_of(name):
    return (PAGES / f"{name}.md").read_text("utf-8")


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(name), re.DOTALL)


def table_after(name, heading):
    """The rows of the first table after a heading, as lists of words."""
    lines = text_of(name).split(heading)[1].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|---"))
    rows = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_claim_idea_formula_use_measurement_meaning_and_source(name):
    for part in (
        "**Claim.**",
        "## The idea",
        "## Formula",
        "## Use",
        "## What was measured",
        "## What it means for the custodian",
        "## Tests",
        "## Source",
    ):
        assert part in text_of(name), part


@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page_runs(name):
    found = blocks(name, "python")
    assert found
    for code in found:
        exec(compile(code, f"{name}.md", "exec"), {"__name__": name})  # noqa: S102 - our own pages


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_a_page_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(name, "sh"):
        for line in block.strip().splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exception is None, (line, result.exception)


@pytest.mark.slow
def test_the_figures_on_bobs_page_are_those_of_the_command():
    result = CliRunner().invoke(app, ["attack", "bob", "--json"])
    study = json.loads(result.stdout)
    curves = {
        each["protection"]: {point["pairs"]: point for point in each["curve"]}
        for each in (study["baseline"], *study["results"])
    }
    rows = table_after("attack-bob", "## What was measured")
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16, 32]
    for row in rows:
        cellkey, dp = (curves[name][int(row[0])] for name in ("cellkey", "dp"))
        described = curves["participants-and-description"][int(row[0])]
        assert cellkey["certain"] == cellkey["certain_true"] == int(row[3].replace(",", ""))
        shares = (
            curves["unprotected"][int(row[0])]["success"],
            cellkey["success"],
            described["success"],
            dp["success"],
            dp["optimum"],
            dp["bound"],
        )
        assert [row[1], row[2], *row[4:]] == [f"{100 * share:.1f} %" for share in shares]
        assert dp["within_bound"]


@pytest.mark.slow
def test_the_figures_on_the_averaging_page_are_those_of_the_command():
    result = CliRunner().invoke(app, ["attack", "averaging", "--json"])
    study = json.loads(result.stdout)
    rows = table_after("attack-averaging", "## What was measured")
    assert [int(row[0]) for row in rows] == [1, 4, 16, 64]
    for row in rows:
        expected = []
        for each in study["results"]:
            for curve in each["curves"].values():
                (point,) = [point for point in curve if point["ways"] == int(row[0])]
                expected.append(f"{point['error']:.2f} ({100 * point['exact']['share']:.0f} %)")
        assert row[1:] == expected
    bound = study["results"][-1]["bound"]
    assert (round(bound["error"], 2), round(bound["exact"], 2)) == (1.36, 0.46)


@pytest.mark.slow
def test_the_figures_on_the_page_of_versions_are_those_of_the_command():
    result = CliRunner().invoke(app, ["attack", "versions", "--json"])
    study = json.loads(result.stdout)
    curves = {
        each["protection"]: {point["tables"]: point for point in each["curve"]}
        for each in (study["baseline"], *study["results"])
    }
    rows = table_after("attack-versions", "## What was measured")
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16, 21]
    for row in rows:
        points = [curves[name][int(row[0])] for name in ("unprotected", "keep-keys", "new-lineage", "dp")]
        assert [row[1], row[2], *row[4:]] == [f"{100 * point['success']:.1f} %" for point in points]
        assert points[1]["certain"] == points[1]["certain_true"] == int(row[3].replace(",", ""))
    for row, each in zip(
        table_after("attack-versions", "Corrections collected"), study["collected"], strict=True
    ):
        assert row == [str(each["removed"]), f"{100 * each['success']:.1f} %", f"{each['certain']:,}"]
    error = study["results"][1]["error"]
    assert (round(error["one_version"], 2), round(error["both_versions"], 2)) == (1.73, 1.22)
