"""The machine behind the methods book: markers read, commands run, parts written."""

import json
from pathlib import Path

import pytest

from discreet.errors import BadRequest
from discreet_studies.book import Part, make, parts, read_part, rebuilt

PAGE = """# A chapter

Before.

<!-- made by:
discreet design laplace --epsilon 0.5
table: epsilons
-->
old
<!-- end -->

After.
"""
DESIGN = {
    "parameters": {"epsilon": 0.5},
    "modulus": 4,
    "repeats": 1,
    "rows": [{"values": [-1, 0, 1], "thresholds": [1, 3, 4]}],
}


def fake(words, folder):
    assert words[-1] == "--json"
    if "--plot" in words:
        (folder / words[words.index("--plot") + 1]).write_text("<svg/>")
    return json.dumps(DESIGN)


def test_a_page_keeps_its_prose_and_its_markers_and_gets_new_parts():
    text, pictures = rebuilt(PAGE, Path(), fake)
    assert text.startswith(PAGE.split("old", maxsplit=1)[0])
    assert text.endswith("<!-- end -->\n\nAfter.\n")
    assert "old" not in text
    assert "| 0.5 | 1.65 |" in text
    assert "```sh\ndiscreet design laplace --epsilon 0.5\n```" in text
    assert pictures == {}
    assert rebuilt(text, Path(), fake)[0] == text


def test_a_picture_is_shown_with_its_words():
    made = make(Part(("discreet design laplace --plot law.svg",), picture="The law"), Path(), fake)
    assert made.text.startswith("\n![The law](law.svg)\n")
    assert made.pictures == {"law.svg": b"<svg/>"}


@pytest.mark.parametrize(
    "part",
    [
        Part(("discreet design laplace --plot law.svg",)),
        Part(("discreet design laplace",), picture="Nothing was drawn"),
        Part(("discreet design laplace",), table="epsilon"),
    ],
)
def test_words_without_a_picture_a_picture_without_words_and_an_unknown_table_are_refused(part):
    with pytest.raises(BadRequest):
        make(part, Path(), fake)


def test_only_documents_of_the_last_command_make_the_table():
    def run(words, folder):
        return json.dumps({"rows": "not a design"} if words[0] == "audit" else DESIGN)

    part = Part(("discreet audit N.json", "discreet design laplace"), table="epsilons")
    assert make(part, Path(), run).text.count("| 0.5 |") == 1


def test_a_marker_names_commands_table_picture_and_whether_it_is_slow():
    found = read_part("discreet a\ndiscreet b\ntable: bob\npicture: two words: three\nslow\n")
    assert found == Part(("discreet a", "discreet b"), "bob", "two words: three", slow=True)
    assert [part.slow for part, _ in parts(PAGE)] == [False]


@pytest.mark.parametrize("recipe", ["rm -rf x\n", "table: bob\n", "discreet a\ntabel: bob\n"])
def test_a_marker_with_anything_else_is_refused(recipe):
    with pytest.raises(BadRequest):
        read_part(recipe)
