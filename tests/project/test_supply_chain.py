"""Locks hold names, versions and hashes only and fit pyproject.toml; the bill of materials and workflows fit them."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NPM = sorted(
    path for path in ROOT.rglob("package-lock.json") if not {"node_modules", ".venv"} & set(path.parts)
)
PIN = re.compile(r"[a-z0-9-]+(?:\[[a-z0-9,-]+\])?==[\w.+!-]+(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
OPTIONS = "-i|-f|-e|--index|--extra-index|--find-links|--trusted-host"
ADDRESS = re.compile(rf"://|^\s*(?:{OPTIONS})|@\s*(?:file|git|http)")
EXTRAS = {"serve.txt": ["excel", "postgresql"], "dev.txt": ["test", "bench", "lint", "lock"]}


def pins(path):
    """The pinned requirements of a lock file, each with its hashes."""
    blocks = re.split(r"\n(?=[a-z0-9])", path.read_text("utf-8").strip())
    return {Requirement(block.split(" \\\n")[0]): block.split("\n")[1:] for block in blocks}


def declared(extras):
    """What pyproject.toml asks for, with the extras that our own extras name."""
    for line in PROJECT["dependencies"] + [each for extra in extras for each in optional(extra)]:
        asked = Requirement(line)
        if asked.name == PROJECT["name"]:
            yield from declared(sorted(asked.extras))
        else:
            yield asked


def optional(extra):
    return PROJECT["optional-dependencies"][extra]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_line_is_a_pin_or_a_hash_and_every_pin_has_a_hash(path):
    for line in path.read_text("utf-8").splitlines():
        assert PIN.fullmatch(line) or HASH.fullmatch(line), line
        assert not ADDRESS.search(line), line
    for pin, hashes in pins(path).items():
        assert len(str(pin.specifier).split(",")) == 1
        assert hashes, pin


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_the_lock_gives_what_pyproject_asks_for(path):
    locked = pins(path)
    for asked in declared(EXTRAS[path.name]):
        found = [pin for pin in locked if canonicalize_name(pin.name) == canonicalize_name(asked.name)]
        assert found, f"{asked.name} is not in {path.name}: make lock"
        for pin in found:
            assert asked.specifier.contains(next(iter(pin.specifier)).version), f"{pin}: make lock"


def test_the_two_lock_files_serve_and_develop_with_the_same_versions():
    assert [path.name for path in LOCKS] == sorted(EXTRAS)
    serve, development = (
        {f"{pin.name}{pin.specifier}" for pin in pins(ROOT / "requirements" / name)}
        for name in sorted(EXTRAS)[::-1]
    )
    assert serve <= development


def test_our_own_tools_are_pinned_exactly():
    assert {Requirement(line).name for line in optional("lint")} == {"mypy", "ruff"}
    for line in optional("lint") + optional("lock"):
        assert re.fullmatch(r"[a-z-]+==[\d.]+", line), line


@pytest.mark.parametrize("path", NPM, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_npm_lock_holds_hashes_and_no_address_of_a_registry(path):
    assert ROOT / "scripts" / "node" / "package-lock.json" in NPM
    packages = json.loads(path.read_text("utf-8"))["packages"]
    for name, entry in packages.items():
        assert "resolved" not in entry, name
        assert not name or entry["integrity"].startswith("sha512-"), name
    for version in packages[""]["devDependencies"].values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "--extra-index-url file:wheels",
        "    --find-links wheels",
        "--trusted-host example.org",
        "numpy @ https://example.org/numpy.whl",
        "numpy>=2.1",
        "numpy==2.4.6",
    ],
)
def test_a_line_with_an_address_or_without_a_hash_would_be_found(line):
    assert not PIN.fullmatch(line)
    assert not HASH.fullmatch(line)


LOCK = ROOT / "requirements" / "serve.txt"


@pytest.mark.slow
def test_the_bill_of_materials_holds_the_lock(tmp_path):
    out = tmp_path / "sbom.json"
    subprocess.run([sys.executable, "scripts/sbom", out], cwd=ROOT, check=True, capture_output=True)
    found = json.loads(out.read_text("utf-8"))
    assert (found["bomFormat"], found["metadata"]["component"]["name"]) == ("CycloneDX", "discreet")
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)", LOCK.read_text("utf-8"), re.MULTILINE))
    assert {each["name"]: each["version"] for each in found["components"]} == locked
    files = [ref for each in found["components"] for ref in each["externalReferences"]]
    hashes = {each["content"] for ref in files for each in ref["hashes"]}
    assert hashes == set(re.findall(r"sha256:([0-9a-f]{64})", LOCK.read_text("utf-8")))
    here = {canonicalize_name(each.name) for each in distributions()}
    installed = [each for each in found["components"] if canonicalize_name(each["name"]) in here]
    assert len(installed) > 40
    assert all(each["licenses"] for each in installed)


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CI = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
JOBS = CI["jobs"]
MAKE = (ROOT / "Makefile").read_text("utf-8")


def commands(job):
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_every_python_and_system_is_tested_and_lint_and_all_tests_run_once():
    assert JOBS["fast"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert commands("fast") == ["make setup", "make test-fast"]
    matrix = JOBS["wheel"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert commands("wheel")[-1] == "python scripts/test-wheel"
    assert (commands("lint"), commands("full")) == (["make lint"], ["make test"])


@pytest.mark.parametrize("job", JOBS)
def test_every_make_target_and_script_of_a_job_exists(job):
    for command in commands(job):
        for target in re.findall(r"^make ([\w-]+)$", command):
            assert re.search(rf"^{target}:", MAKE, re.MULTILINE), target
        for script in re.findall(r"scripts/[\w-]+", command):
            assert (ROOT / script).is_file(), script


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_may_only_read(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step.get("uses", f"actions/none@{'0' * 40}"))


def test_what_runs_here_is_what_runs_there():
    ours = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert ours == ["lint", "test", "wheel-test"]
