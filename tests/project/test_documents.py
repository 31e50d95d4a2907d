"""The documents around the code are complete, valid and say the same as pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import discreet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def text(name):
    return (ROOT / name).read_text("utf-8")


def test_the_citation_has_the_keys_that_cff_requires_and_only_known_ones():
    required = {"cff-version", "message", "title", "authors"}
    known = {"type", "abstract", "version", "date-released", "license", "keywords"}
    assert required <= set(CITATION) <= required | known
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] == "software"
    assert CITATION["authors"] == [{"name": "The Discreet contributors"}]


def test_the_citation_says_what_pyproject_says():
    assert CITATION["version"] == discreet.__version__
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["keywords"] == PROJECT["keywords"]


def test_security_says_how_to_report_what_counts_and_what_is_not_promised():
    page = text("SECURITY.md")
    for part in ("How to report", "What is a vulnerability", "What is not promised", "Supported versions"):
        assert f"## {part}" in page
    for fault in ("exact count", "charge is forgotten", "published number changes", "true count"):
        assert fault in page
    assert "(KNOWN_LIMITS.md)" in page


def test_the_code_of_conduct_says_whom_to_tell():
    assert "(SECURITY.md)" in text("CODE_OF_CONDUCT.md")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_what_a_form_needs(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert set(form) == {"name", "description", "labels", "body"}
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked) > 0
    assert all(part["type"] in {"textarea", "input"} and part["attributes"]["label"] for part in asked)


def test_there_is_a_form_for_a_fault_a_number_and_a_question():
    assert [path.stem for path in FORMS] == ["bug", "number", "question"]
    for path in FORMS[:2]:
        assert "SECURITY.md" in path.read_text("utf-8")


def test_addresses_of_the_project_have_one_beginning():
    assert set(PROJECT["urls"]) == {"Documentation", "Source", "Changelog", "Issues"}
    assert all(address.startswith(PROJECT["urls"]["Source"]) for address in PROJECT["urls"].values())


def test_classifiers_name_the_pythons_that_were_tested():
    named = [each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if ":: Python :: 3." in each]
    (line,) = [line for line in text("CONTRIBUTING.md").splitlines() if "Classifiers name only" in line]
    assert named == re.findall(r"3\.\d+", line)


def test_contributing_names_every_make_target_a_contributor_needs():
    for target in ("setup", "test-fast", "test", "lint", "lock", "wheel-test"):
        assert f"make {target} " in text("CONTRIBUTING.md"), target
