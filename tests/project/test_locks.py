"""Lock files hold names, versions and hashes; they hold no address, and they fit pyproject.toml."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NPM = sorted(
    path
    for path in ROOT.rglob("package-lock.json")
    if "node_modules" not in path.parts and ".venv" not in path.parts
)
PIN = re.compile(r"[a-z0-9-]+(?:\[[a-z0-9,-]+\])?==[\w.+!-]+(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
ADDRESS = re.compile(
    r"://|^\s*(?:-i|-f|-e|--index|--extra-index|--find-links|--trusted-host)|@\s*(?:file|git|http)"
)
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


def test_the_two_lock_files_are_those_of_serving_and_development():
    assert [path.name for path in LOCKS] == sorted(EXTRAS)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_line_is_a_pin_or_a_hash(path):
    for line in path.read_text("utf-8").splitlines():
        assert PIN.fullmatch(line) or HASH.fullmatch(line), line
        assert not ADDRESS.search(line), line


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_a_hash(path):
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


def test_serving_and_development_use_the_same_versions():
    serve, development = (
        {f"{pin.name}{pin.specifier}" for pin in pins(ROOT / "requirements" / name)}
        for name in sorted(EXTRAS)[::-1]
    )
    assert serve <= development


def test_our_own_tools_are_pinned_exactly():
    assert {Requirement(line).name for line in optional("lint")} == {"mypy", "ruff"}
    for line in optional("lint") + optional("lock"):
        assert re.fullmatch(r"[a-z-]+==[\d.]+", line), line


def test_there_is_an_npm_lock_for_what_the_tests_use():
    assert ROOT / "scripts" / "node" / "package-lock.json" in NPM


@pytest.mark.parametrize("path", NPM, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_npm_lock_holds_hashes_and_no_address_of_a_registry(path):
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
