"""The pages of the attacks: their examples run, and their figures are those of the command.

The pages on assessment: their commands run, their code runs, and they name every measure, family and picture.

The page of what was scanned, compared and timed has the times of its run, and names the faults that the scan finds.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest
from tests.drills.test_leaks import LEAKS
from typer.testing import CliRunner

from discreet import privacy
from discreet.assess.figures import FIGURES
from discreet.assess.subject import case_names
from discreet.cli.main import app
from discreet.noise import laplace
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.timing import LIMIT, PAIRS, POINTS

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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page_runs(name):
    found = blocks(name, "python")
    assert found
    for code in found:
        exec(compile(code, f"{name}.md", "exec"), {"__name__": name})  # noqa: S102 - our own pages


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_a_page_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(name, "sh"):
        for line in block.strip().splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exception is None, (line, result.exception)


@pytest.mark.slow
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


DOCS = Path(__file__).parents[2] / "docs"
METHOD = "methods/assessment.md"
CHOICE = "how-to/choose-epsilon.md"
PAGES_ASSESS_PAGES = [METHOD, CHOICE, "how-to/five-safes.md"]


def text_of_assess_pages(name):
    return (DOCS / name).read_text("utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    load_dataset(folder, census_description(20_000), census_batches(20_000))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "line"),
    [
        (name, line)
        for name in PAGES_ASSESS_PAGES
        for block in re.findall(r"```sh\n(.*?)```", text_of_assess_pages(name), re.DOTALL)
        for line in block.strip().splitlines()
    ],
)
def test_the_commands_of_a_page_run_assess_pages(name, line, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exception is None, (name, result.exception)


@pytest.mark.slow
def test_the_python_of_the_method_s_page_runs():
    found = re.findall(r"```python\n(.*?)```", text_of_assess_pages(METHOD), re.DOTALL)
    assert found
    for code in found:
        exec(compile(code, METHOD, "exec"), {"__name__": "assessment"})  # noqa: S102 - our own page


@pytest.mark.slow
def test_the_method_s_page_has_its_parts_and_every_measure():
    text = text_of_assess_pages(METHOD)
    for part in ("**Claim.**", "## Formula", "## Use", "## Source", "Tests: `tests/"):
        assert part in text
    for measure in (
        "ε and δ", "percent perturbed", "RM", "probability of an exact value", "small-count confirmation",
        "averaging factor", "l1, l2, l3", "Hellinger", "Cramér's V", "chi-square, p-value",
        "total variation of MLEs", "likelihood-ratio shift", "false zeros",
    ):  # fmt: skip
        assert f"| {measure} |" in text, measure


@pytest.mark.slow
def test_every_family_and_every_picture_is_documented():
    section = text_of_assess_pages("reference/cli.md").split("## discreet assess")[1].split("\n## ")[0]
    for word in (*case_names(), *FIGURES):
        assert f"`{word}`" in section, word
        assert word in FIGURES or f"`{word}`" in text_of_assess_pages(METHOD), word


@pytest.mark.slow
def test_what_an_epsilon_means_is_computed_right():
    lines = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) \| (\d+) % sure \|$", text_of_assess_pages(CHOICE), re.MULTILINE
    )
    assert len(lines) == 5
    for epsilon, ratio, sure in lines:
        odds = math.exp(float(epsilon))
        assert float(ratio) == pytest.approx(odds, rel=0.05)
        assert float(sure) == pytest.approx(100 * odds / (1 + odds), abs=0.51)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "mean", "largest"), [(1.0, 0.85, 9), (0.5, 1.9, 16), (0.1, 9.9, 63)])
def test_the_errors_that_the_page_names_are_those_of_the_noise(epsilon, mean, largest):
    noise = laplace(epsilon=epsilon, delta=1e-4)
    law = noise.rows[0].probabilities()
    assert noise.largest == largest
    assert float(sum(abs(v) * p for v, p in law.items())) == pytest.approx(mean, abs=0.05)
    text = text_of_assess_pages(CHOICE)
    assert f"{mean}" in text
    assert f"{largest}" in text


@pytest.mark.slow
def test_the_worked_line_of_the_checklist_is_that_of_the_demo(demo):
    noise = Workspace(demo).stored("census").protector.noise
    found = privacy.audit(noise, epsilon=1.0)
    assert f"delta {float(found.delta):.3g} for the worst count" in text_of_assess_pages(
        "how-to/five-safes.md"
    )
    assert f"{float(found.above_D.delta):.3g} for\ncounts above 5" in text_of_assess_pages(
        "how-to/five-safes.md"
    )


REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def page():
    return (REFERENCE / "confidentiality.md").read_text("utf-8")


@pytest.fixture(scope="module")
def figures():
    return json.loads((REFERENCE / "confidentiality.json").read_text("utf-8"))


def test_every_point_was_timed_and_stays_below_the_limit(page, figures):
    assert [each["point"] for each in figures["timing"]] == list(POINTS)
    for each in figures["timing"]:
        assert each["pairs"] == PAIRS
        assert each["t"] < LIMIT
        row = next(line for line in page.splitlines() if line.startswith(f"| {each['point']} |"))
        assert f" {each['t']:.1f} |" in row
        assert f"`{each['point']}`" in page


def test_every_fault_that_is_made_on_purpose_is_named(page):
    words = (
        "count without noise",
        "cell key in a log line",
        "secret in a header",
        "log of requests",
        "metric",
        "trace",
    )
    assert len(words) == len(LEAKS)
    assert all(word in page for word in words)
