"""`discreet reproduce`: numbers for people, JSON alone on standard output, pictures in a folder."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet_studies import papers

runner = CliRunner()


def invoke(*words):
    return runner.invoke(app, ["reproduce", *words])


def test_people_see_printed_beside_ours_and_the_verdict():
    result = invoke("rinott2018", "--section", "5")
    assert result.exit_code == 0
    assert "Section 5: 3 agree, 3 do not." in result.stdout
    assert "lacks the factor 2" in result.stdout
    assert "rinott2018 section 5: 3 agree, 3 do not" in result.stderr


def test_json_stands_alone_on_standard_output_and_a_folder_gets_page_and_pictures(tmp_path):
    words = ("bailie2020", "--table", "2", "--quick", "--seed", "7")
    document = json.loads(invoke(*words, "--json").stdout)
    assert (document["paper"], document["quick"], document["seed"]) == ("bailie2020", True, 7)
    assert [exhibit["name"] for exhibit in document["exhibits"]] == ["table 2"]
    result = invoke(*words, "--processes", "1", "--out", str(tmp_path / "out"))
    names = {f"bailie2020{end}" for end in ("-table-2.png", "-table-2.svg", ".json", ".md")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert "![The number of potato lovers" in (tmp_path / "out" / "bailie2020.md").read_text("utf-8")
    assert "Written:" in result.stderr


def test_all_does_every_paper_and_prints_a_list(monkeypatch):
    own = {name: papers.PAPERS[name] for name in ("bailie2020", "shlomo2019")}
    monkeypatch.setattr(papers, "PAPERS", own)
    result = invoke("all", "--table", "2", "--processes", "1", "--quick", "--json")
    assert [document["paper"] for document in json.loads(result.stdout)] == ["bailie2020", "shlomo2019"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rinot"], 'Did you mean "rinott2018"?'),
        (
            ["rinott2018", "--figure", "9"],
            "It has: section 2, section 4, section 5, table 2, table 3, figure 1",
        ),
        (["bailie2020", "--example", "1"], "bailie2020 has no example 1 here"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(words, says):
    error = invoke(*words).exception
    assert isinstance(error, BadRequest)
    assert says in str(error)
