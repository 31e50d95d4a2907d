"""The list of mutants stays true: `make mutants` runs it, and here only its texts are looked up."""

import runpy
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


def test_the_page_counts_mutants_by_file_and_what_survived():
    page = runpy.run_path(str(ROOT / "scripts/mutants"))["page"]
    text = page({"a.py: one": ("t1",), "a.py: two": ("t1", "t2"), "b.py: slow": ("timeout",)}, 1)
    assert "3 mutants: 2 were killed, 1 of them by the time limit alone; 1 survived" in text
    assert "| `a.py` | 2 | 1 |" in text
