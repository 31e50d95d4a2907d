"""The repository names no registry and no machine, and its documents are complete and agree with pyproject.toml."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import discreet

ROOT = Path(__file__).parents[2]

# The names are put together here, so that this file does not hold them.
REGISTRIES = {
    "org": ("pypi", "pythonhosted", "npmjs", "debian"),
    "com": ("npmjs", "yarnpkg", "archive.ubuntu", "unpkg"),
    "net": ("jsdelivr",),
}
HOSTS = tuple(f"{name}.{end}" for end, names in REGISTRIES.items() for name in names)
FOLDERS = ("work", "root", "tmp", "home", "Users", "opt", "private/var")
MACHINE = re.compile(rf"(?<![\w.$/}}*~-])/(?:{'|'.join(FOLDERS)})/\w")
HOST = re.compile("|".join(map(re.escape, HOSTS)))


def tracked():
    """Every file that git tracks or would add; without git, nothing can be said."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    names = done.stdout.decode("utf-8").split("\0")
    return [path for path in (ROOT / name for name in names if name) if path.is_file()]


def faults(pattern):
    """Where it is found, as file:line, and what."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {found.group()}"
        for path in tracked()
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if (found := pattern.search(line))
    ]


@pytest.mark.parametrize("pattern", [HOST, MACHINE], ids=["registry", "folder"])
def test_no_file_names_a_registry_or_a_folder_of_a_machine(pattern):
    assert faults(pattern) == []


def test_such_a_folder_and_such_a_host_would_be_found():
    for word in FOLDERS:
        assert MACHINE.search(f'path = "/{word}/somebody/file.py"')
        assert not MACHINE.search(f"see src/{word}/file.py and https://example.org/{word}/x")
    assert all(HOST.search(f"https://files.{host}/packages/x.whl") for host in HOSTS)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def text(name):
    return (ROOT / name).read_text("utf-8")


def test_the_citation_is_valid_and_says_what_pyproject_says():
    ours = {key: PROJECT[key] for key in ("license", "keywords")} | {"version": discreet.__version__}
    ours |= {"cff-version": "1.2.0", "type": "software", "authors": [{"name": "The Discreet contributors"}]}
    assert {key: CITATION[key] for key in ours} == ours
    assert set(CITATION) - set(ours) - {"abstract", "date-released"} == {"message", "title"}


def test_security_says_how_to_report_what_counts_and_what_is_not_promised():
    page = text("SECURITY.md")
    for part in ("How to report", "What is a vulnerability", "What is not promised", "Supported versions"):
        assert f"## {part}" in page
    for fault in ("exact count", "charge is forgotten", "published number changes", "true count"):
        assert fault in page
    assert "(KNOWN_LIMITS.md)" in page
    assert "(SECURITY.md)" in text("CODE_OF_CONDUCT.md")


def test_there_is_a_sound_form_for_a_fault_a_number_and_a_question():
    assert [path.stem for path in FORMS] == ["bug", "number", "question"]
    assert all("SECURITY.md" in path.read_text("utf-8") for path in FORMS[:2])
    for path in FORMS:
        form = yaml.safe_load(path.read_text("utf-8"))
        assert set(form) == {"name", "description", "labels", "body"}
        asked = [part for part in form["body"] if part["type"] != "markdown"]
        assert len({part["id"] for part in asked}) == len(asked) > 0
        assert all(part["type"] in {"textarea", "input"} and part["attributes"]["label"] for part in asked)


def test_addresses_have_one_beginning_and_classifiers_name_the_pythons_that_were_tested():
    assert set(PROJECT["urls"]) == {"Documentation", "Source", "Changelog", "Issues"}
    assert all(address.startswith(PROJECT["urls"]["Source"]) for address in PROJECT["urls"].values())
    named = [each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if ":: Python :: 3." in each]
    (line,) = [line for line in text("CONTRIBUTING.md").splitlines() if "Classifiers name only" in line]
    assert named == re.findall(r"3\.\d+", line)
    for target in ("setup", "test-fast", "test", "lint", "lock", "wheel-test"):
        assert re.search(rf"make {target}\b(?!-)", text("CONTRIBUTING.md")), target
