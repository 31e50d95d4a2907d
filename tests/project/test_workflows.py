"""The workflows say what the documents say. `make lint` checks their grammar with actionlint."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CI = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
JOBS = CI["jobs"]
MAKE = (ROOT / "Makefile").read_text("utf-8")


def steps(job):
    return JOBS[job]["steps"]


def commands(job):
    return [step["run"] for step in steps(job) if "run" in step]


def test_the_fast_tests_run_on_every_python_from_the_oldest_on():
    assert JOBS["fast"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert commands("fast") == ["make setup", "make test-fast"]


def test_the_wheel_is_tested_on_three_systems():
    matrix = JOBS["wheel"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert commands("wheel")[-1] == "python scripts/test-wheel"


def test_lint_and_all_tests_run_once():
    assert commands("lint") == ["make lint"]
    assert commands("full") == ["make test"]


@pytest.mark.parametrize("job", JOBS)
def test_every_make_target_and_script_of_a_job_exists(job):
    for command in commands(job):
        for target in re.findall(r"^make ([\w-]+)$", command):
            assert re.search(rf"^{target}:", MAKE, re.MULTILINE), target
        for script in re.findall(r"scripts/[\w-]+", command):
            assert (ROOT / script).is_file(), script


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_version_and_may_only_read(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@v\d+(\.\d+)*", step.get("uses", "actions/none@v1"))


def test_what_runs_here_is_what_runs_there():
    ours = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert ours == ["lint", "test", "wheel-test"]
