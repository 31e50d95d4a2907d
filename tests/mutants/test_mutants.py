"""The list of mutants stays true: `make mutants` runs it, and here only its texts are looked up."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = tomllib.loads((ROOT / "tests/mutants/mutants.toml").read_text("utf-8"))["file"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["path"])
def test_every_mutant_changes_a_text_that_occurs_once(file):
    text = (ROOT / file["path"]).read_text("utf-8")
    for mutant in file["mutant"]:
        assert text.count(mutant["old"]) == 1, mutant["name"]
        assert mutant["new"] != mutant["old"]
        assert set(mutant) <= {"name", "old", "new", "tests", "equivalent"}
        compile(text.replace(mutant["old"], mutant["new"]), file["path"], "exec")


def test_every_mutant_has_tests_that_exist_and_a_name_of_its_own():
    named = [word for file in FILES for each in (file, *file["mutant"]) for word in each.get("tests", ())]
    paths = {word.partition("::")[0] for word in named if word.startswith("tests/")}
    assert not {path for path in paths if not (ROOT / path).is_file()}
    for file in FILES:
        names = [mutant["name"] for mutant in file["mutant"]]
        assert len(set(names)) == len(names), file["path"]
    assert sum(len(file["mutant"]) for file in FILES) >= 40
