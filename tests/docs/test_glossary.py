"""The glossary is sorted and used, and docstrings name files that exist."""

import re
from pathlib import Path

import pytest
from tests.architecture.source import read_source

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/discreet"
GLOSSARY = (ROOT / "docs/concepts/glossary.md").read_text("utf-8")
WORDS = [
    word for bold in re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE) for word in bold.split(", ")
]
MODULES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
PAGES = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md"]
EVERYTHING = "\n".join((*MODULES.values(), *(page.read_text("utf-8") for page in PAGES))).lower()


def strange_paths(module, text):
    said = set(re.findall(r"`([\w./]+)`", read_source(text).docstring))
    places = (SOURCE, (SOURCE / module).parent, SOURCE / "cli", ROOT)
    files = {path for path in said if path.endswith(".py")}
    return {path for path in files if not any((place / path).is_file() for place in places)}


def test_a_docstring_names_folders_and_files_that_exist():
    assert {module: found for module, text in MODULES.items() if (found := strange_paths(module, text))} == {}


def test_a_file_that_is_not_there_would_be_found():
    text = '"""A module: `protect/plan.py`, `keys/nowhere.py`."""'
    assert strange_paths("release/pipeline.py", text) == {"keys/nowhere.py"}


def test_the_glossary_has_every_word_once_in_the_order_of_the_alphabet():
    bold = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE)
    assert len(bold) == GLOSSARY.count("\n| **")
    assert bold == sorted(bold, key=str.lower)
    assert len(WORDS) == len(set(WORDS))


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_glossary_is_used(word):
    stem = re.escape(word.lower()).replace(r"\ ", r"[\s_-]+")
    assert re.search(rf"\b{stem}", EVERYTHING)
