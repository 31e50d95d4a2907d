"""The methods book: what stands between its markers is what the commands print today."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet_studies.book import make, parts

DOCS = Path(__file__).parents[2] / "docs"
BOOK = DOCS / "book"
CHAPTERS = sorted(BOOK.glob("[0-9]*.md"))
LARGEST_PICTURE = 200_000
#: How far a mark may lie from where it was drawn, in pixels: machines measure letters differently.
PIXELS = 3.0
#: The methods that a reader of the book must meet.
PROMISED = ("attack bob", "attack averaging", "audit", "budget", "design", "margins", "reproduce")


def every_part():
    for path in CHAPTERS:
        for number, (part, body) in enumerate(parts(path.read_text("utf-8")), start=1):
            marks = [pytest.mark.slow] if part.slow else []
            yield pytest.param(part, body, id=f"{path.stem} {number}", marks=marks)


@pytest.fixture
def run(monkeypatch):
    """Commands run here, in the folder where they are asked to."""

    def invoke(words, folder):
        monkeypatch.chdir(folder)
        result = CliRunner().invoke(app, list(words))
        monkeypatch.undo()
        assert result.exception is None, (words, result.exception)
        return result.stdout

    return invoke


def alike(first: bytes, second: bytes) -> bool:
    """Whether two pictures say the same words and have their marks in the same places."""
    ours, theirs = first.decode(), second.decode()
    words = [re.findall(r"<text[^>]*>(.*?)</text>", each) for each in (ours, theirs)]
    numbers = [[float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", each)] for each in (ours, theirs)]
    if words[0] != words[1] or len(numbers[0]) != len(numbers[1]):
        return False
    return all(abs(a - b) <= PIXELS for a, b in zip(*numbers, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "body"), list(every_part()))
def test_a_page_shows_what_its_commands_print(part, body, run):
    made = make(part, BOOK, run)
    assert body == made.text
    for name, picture in made.pictures.items():
        assert alike((BOOK / name).read_bytes(), picture), name


def test_a_picture_with_a_mark_elsewhere_or_another_word_is_not_alike():
    text = (BOOK / "budget.svg").read_text("utf-8")
    assert alike(text.encode(), text.encode())
    width = max(float(n) for n in re.findall(r"h(\d+\.?\d*)", text))
    for old, new in ((f"h{width:g}", f"h{width + 9:g}"), (">age x work<", ">age x ward<")):
        assert old in text
        assert not alike(text.encode(), text.replace(old, new).encode())


@cache
def recipes():
    return [part for path in CHAPTERS for part, _ in parts(path.read_text("utf-8"))]


def test_no_marker_is_overlooked():
    written = sum(path.read_text("utf-8").count("<!-- made by:") for path in CHAPTERS)
    closed = sum(path.read_text("utf-8").count("<!-- end -->") for path in CHAPTERS)
    assert len(recipes()) == written == closed > 15


@pytest.mark.parametrize("command", PROMISED)
def test_the_book_shows_every_method_at_work(command):
    commands = [line for part in recipes() for line in part.commands]
    assert any(line.startswith(f"discreet {command} ") for line in commands)


def test_every_picture_is_small_and_on_a_page():
    pages = "".join(path.read_text("utf-8") for path in CHAPTERS)
    pictures = sorted(BOOK.glob("*.svg"))
    assert pictures
    for picture in pictures:
        assert f"]({picture.name})" in pages, picture.name
        assert picture.stat().st_size < LARGEST_PICTURE, picture.name


def test_the_contents_list_every_chapter_and_each_leads_to_the_next():
    contents = (BOOK / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| \d+ \| \[[^\]]+\]\(([^)]+)\)", contents, re.MULTILINE)
    assert listed == [path.name for path in CHAPTERS]
    for path, following in pairwise(CHAPTERS):
        assert f"]({following.name})" in path.read_text("utf-8").splitlines()[-1]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_short(path):
    prose = re.sub(r"<!-- made by:.*?<!-- end -->", "", path.read_text("utf-8"), flags=re.DOTALL)
    assert 200 < len(prose.split()) < 900


def test_the_index_of_the_docs_leads_to_every_page():
    index = (DOCS / "README.md").read_text("utf-8")
    linked = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", index)}
    chapters = {path.resolve() for path in CHAPTERS}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - chapters - {(DOCS / "README.md").resolve()}
    assert pages <= linked, sorted(pages - linked)
