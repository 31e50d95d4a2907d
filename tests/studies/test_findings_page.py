"""The Markdown page and the JSON of a paper."""

import json

from discreet_studies.compute import Done
from discreet_studies.exhibit import Effort, Exhibit, Finding, Reading
from discreet_studies.findings_page import document, markdown, reasons, write
from discreet_studies.papers import PAPERS

PAPER = PAPERS["bailie2020"]
EXHIBIT = Exhibit(
    "table 9",
    "Nine",
    (
        Finding("E|b - a|", 0.5, 1.0, 0.01, why="A factor 2."),
        Finding("other", 0.25, 0.5, 0.01, why="A factor 2."),
        Finding("same", 1500.0, 1500.0),
        Finding("bound", 0.005, 0.003, relation="<="),
        Finding("ours only", None, 6.33e-7),
    ),
    note="Look here.",
    readings=(Reading("twice the noise", "The text says otherwise.", (Finding("other", 0.25, 0.25),)),),
)
DONE = [Done("bailie2020", EXHIBIT, {"svg": b"<svg/>", "png": b"png"}, 0.1)]


def test_a_page_has_the_picture_the_note_the_numbers_and_each_reason_once():
    text = markdown(PAPER, DONE, Effort(quick=True))
    assert "4 printed numbers, 2 agree and 2 do not" in text
    assert "(quick run, seed 20261115)" in text
    assert "![Nine](bailie2020-table-9.svg)" in text
    assert "Look here." in text
    assert "| E\\|b - a\\| | 0.5 | 1 | 0.01 | **no** |" in text
    assert "| bound | ≤ 0.005 | 0.003 |  | yes |" in text
    assert "| ours only |  | 6.33e-07 |  |  |" in text
    assert "### Read with twice the noise: 1 of 1 agree\n\nThe text says otherwise.\n\n| number" in text
    assert "| other | 0.25 | 0.25 |  | yes |" in text
    assert text.count("A factor 2.") == 1
    assert reasons(EXHIBIT) == ["- **2 numbers**: A factor 2."]


def test_writing_leaves_the_page_the_json_and_the_pictures(tmp_path):
    paths = write(PAPER, DONE, Effort(), tmp_path / "new")
    assert sorted(path.name for path in paths) == [
        "bailie2020-table-9.png",
        "bailie2020-table-9.svg",
        "bailie2020.json",
        "bailie2020.md",
    ]
    read = json.loads((tmp_path / "new" / "bailie2020.json").read_text("utf-8"))
    assert read == document(PAPER, DONE, Effort())
    assert list(read) == ["paper", "title", "reference", "quick", "seed", "exhibits"]
    assert read["exhibits"][0]["findings"][0]["agrees"] is False
