"""The pages on assessment: their commands run, their code runs, and they name every measure, family and picture."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import privacy
from discreet.assess.cases import case_names
from discreet.assess.figures import FIGURES
from discreet.cli.main import app
from discreet.noise import laplace
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
METHOD = "methods/assessment.md"
CHOICE = "how-to/choose-epsilon.md"
PAGES = [METHOD, CHOICE, "how-to/five-safes.md"]


def text_of(name):
    return (DOCS / name).read_text("utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    load_dataset(folder, census_description(20_000), census_batches(20_000))
    return folder


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (name, line)
        for name in PAGES
        for block in re.findall(r"```sh\n(.*?)```", text_of(name), re.DOTALL)
        for line in block.strip().splitlines()
    ],
)
def test_the_commands_of_a_page_run(name, line, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exception is None, (name, result.exception)


def test_the_python_of_the_method_s_page_runs():
    found = re.findall(r"```python\n(.*?)```", text_of(METHOD), re.DOTALL)
    assert found
    for code in found:
        exec(compile(code, METHOD, "exec"), {"__name__": "assessment"})  # noqa: S102 - our own page


def test_the_method_s_page_has_its_parts_and_every_measure():
    text = text_of(METHOD)
    for part in ("**Claim.**", "## Formula", "## Use", "## Source", "Tests: `tests/"):
        assert part in text
    for measure in (
        "ε and δ", "percent perturbed", "RM", "probability of an exact value", "small-count confirmation",
        "averaging factor", "l1, l2, l3", "Hellinger", "Cramér's V", "chi-square, p-value",
        "total variation of MLEs", "likelihood-ratio shift", "false zeros",
    ):  # fmt: skip
        assert f"| {measure} |" in text, measure


def test_every_family_and_every_picture_is_documented():
    section = text_of("reference/cli.md").split("## discreet assess")[1].split("\n## ")[0]
    for word in (*case_names(), *FIGURES):
        assert f"`{word}`" in section, word
        assert word in FIGURES or f"`{word}`" in text_of(METHOD), word


def test_what_an_epsilon_means_is_computed_right():
    lines = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (\d+) % sure \|$", text_of(CHOICE), re.MULTILINE)
    assert len(lines) == 5
    for epsilon, ratio, sure in lines:
        odds = math.exp(float(epsilon))
        assert float(ratio) == pytest.approx(odds, rel=0.05)
        assert float(sure) == pytest.approx(100 * odds / (1 + odds), abs=0.51)


@pytest.mark.parametrize(("epsilon", "mean", "largest"), [(1.0, 0.85, 9), (0.5, 1.9, 16), (0.1, 9.9, 63)])
def test_the_errors_that_the_page_names_are_those_of_the_noise(epsilon, mean, largest):
    noise = laplace(epsilon=epsilon, delta=1e-4)
    law = noise.rows[0].probabilities()
    assert noise.largest == largest
    assert float(sum(abs(v) * p for v, p in law.items())) == pytest.approx(mean, abs=0.05)
    text = text_of(CHOICE)
    assert f"{mean}" in text
    assert f"{largest}" in text


def test_the_worked_line_of_the_checklist_is_that_of_the_demo(demo):
    noise = Workspace(demo).stored("census").protector.noise
    found = privacy.audit(noise, epsilon=1.0)
    assert f"delta {float(found.delta):.3g} for the worst count" in text_of("how-to/five-safes.md")
    assert f"{float(found.above_D.delta):.3g} for\ncounts above 5" in text_of("how-to/five-safes.md")
