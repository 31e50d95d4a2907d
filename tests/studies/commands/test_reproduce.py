"""`discreet reproduce`: numbers for people, JSON alone on standard output, pictures in a folder."""

from __future__ import annotations

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


@pytest.mark.slow
def test_people_see_another_reading_with_its_count_below_the_literal_one():
    result = invoke("shlomo2019", "--table", "5", "--quick", "--processes", "1")
    literal, _, other = result.stdout.partition("Table 5: 11 agree, 61 do not.")
    assert "read with" not in literal
    assert "Table 5, read with effects uniform on ±1" in other
    assert "The text says otherwise" in other
    assert "Read with effects uniform on ±1: 63 of 72 agree." in other


def test_json_stands_alone_on_standard_output():
    result = invoke("bailie2020", "--table", "2", "--quick", "--seed", "7", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["paper"], document["quick"], document["seed"]) == ("bailie2020", True, 7)
    assert document["title"] == papers.PAPERS["bailie2020"].title
    (exhibit,) = document["exhibits"]
    assert exhibit["name"] == "table 2"
    assert all(f["agrees"] is not False for f in exhibit["findings"])


def test_exhibits_may_be_chosen_and_come_in_the_order_asked():
    result = invoke(
        "shlomo2019", "--table", "2", "--table", "1", "--section", "3", "--processes", "1", "--json"
    )
    assert [e["name"] for e in json.loads(result.stdout)["exhibits"]] == ["table 2", "table 1", "section 3"]


def test_a_folder_gets_the_page_the_json_and_pictures(tmp_path):
    folder = tmp_path / "out"
    result = invoke("bailie2020", "--processes", "1", "--out", str(folder))
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "bailie2020-table-2.png",
        "bailie2020-table-2.svg",
        "bailie2020.json",
        "bailie2020.md",
    ]
    assert "![The number of potato lovers" in (folder / "bailie2020.md").read_text("utf-8")
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
