"""The commands attack, bench and reproduce give numbers for people or JSON alone, and refuse what has no meaning."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet_studies import papers
from discreet_studies.bench import scale, startup, tests_size
from discreet_studies.bench.part import Part
from discreet_studies.commands import bench

runner = CliRunner()
SMALL = ["--people", "400", "--targets", "20", "--against", "cellkey,unprotected"]


def invoke(*words):
    return runner.invoke(app, ["attack", *words])


@pytest.mark.slow
def test_the_json_of_both_attacks_has_the_documented_keys():
    small = [
        "--people",
        "400",
        "--targets",
        "20",
        "--against",
        "dp,unprotected",
        "--epsilon",
        "0.5",
        "--json",
    ]
    bob = json.loads(invoke("bob", *small, "--pairs", "2").stdout)
    shared = {"attack", "source", "people", "targets", "seed", "confidence", "false_alarm", "knows"}
    assert set(bob) == shared | {"pairs", "prior", "results", "baseline"}
    point = {"pairs", "queries", "success", "low", "high", "certain", "certain_true", "by_difference"}
    assert set(bob["baseline"]["curve"][0]) == point
    assert {"epsilon", "bound", "optimum", "within_bound"} < set(bob["results"][0]["curve"][0])
    claim = bob["results"][0]["claim"]
    assert (claim["epsilon"], claim["neighbours"]) == (0.5, "replace-one")
    averaging = json.loads(invoke("averaging", *small, "--ways", "2").stdout)
    assert set(averaging) == shared | {"ways", "results", "baseline"}
    (words, parts) = averaging["baseline"]["curves"].values()
    assert set(words[0]) == set(parts[0]) == {"ways", "queries", "error", "low", "high", "expected", "exact"}
    assert averaging["results"][0]["bound"].keys() == {"error", "exact"}


@pytest.mark.slow
def test_the_attack_by_weights_tells_its_curve_its_gain_and_what_is_not_served(tmp_path):
    words = ["weights", "--surveys", "2", "--tables", "1", "--against", "cell-average,average-weight"]
    words += ["--outlying", "0", "--constants", "0"]
    picture, document = tmp_path / "p.svg", tmp_path / "study.json"
    assert invoke(*words, "--plot", str(picture), "--out", str(document)).exit_code == 0
    assert picture.read_bytes().startswith(b"<svg")
    study = json.loads(document.read_text())
    keys = "attack source surveys people tables seed errors confidence false_alarm knows results baseline"
    assert set(study) == {*keys.split(), "outlying", "constants"}
    opened, served = study["results"]
    assert (opened["served"], served["served"]) == (False, True)
    assert opened["measures"] == ["count", "weighted"]
    keys = "tables queries cells exact low high counts_alone gain gain_low gain_high"
    assert set(opened["curve"][0]) == {
        *keys.split(),
        "certain",
        "certain_true",
        "certain_by_counts",
        "within_bar",
    }


@pytest.mark.parametrize(
    "words",
    [
        ["bob", "--against", "magic"],
        ["bob", *SMALL, "--pairs", "35"],
        ["averaging", "--people", "10", "--targets", "20"],
        ["weights", "--against", "magic"],
        ["weights", "--surveys", "1"],
    ],
)
def test_what_cannot_be_done_is_refused(words):
    assert isinstance(invoke(*words).exception, BadRequest)


@pytest.mark.slow
def test_the_attack_on_versions_has_the_documented_keys_and_a_picture(tmp_path):
    words = ["versions", "--people", "400", "--targets", "20", "--plot", str(tmp_path / "v.svg"), "--json"]
    result = invoke(*words)
    assert result.exit_code == 0
    study = json.loads(result.stdout)
    assert [each["protection"] for each in study["results"]] == ["keep-keys", "new-lineage", "dp"]
    assert {"tables", "success", "low", "high", "all_right", "certain", "certain_true"} == set(
        study["baseline"]["curve"][0]
    )
    assert [each["removed"] for each in study["collected"]] == [1, 2, 4, 8]
    assert "Attributes named rightly" in (tmp_path / "v.svg").read_text()


@pytest.fixture
def _toy_part(monkeypatch):
    """A part that measures nothing."""
    results = [{"what": "nothing", "cpu_s": 0.25}]
    monkeypatch.setattr(startup, "PART", Part(lambda _wish: results, startup.PART.columns))


@pytest.mark.usefixtures("_toy_part")
def test_json_stands_alone_on_standard_output(run_here):
    done = run_here("bench", "startup", "--json")
    assert json.loads(done.stdout) == [{"what": "nothing", "cpu_s": 0.25}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "ten"], "whole numbers"),
        (["tabel"], 'Did you mean "tables"?'),
        (["startup", "--points", "maxent-10x10-10"], "mean nothing to startup"),
        (["startup", "--out", "x.md"], "means nothing to startup"),
        (["joint", "--rows", "1000"], "--rows means nothing to joint"),
        (["tests-size", "--points", "maxent-10x10-11"], 'Did you mean "maxent-10x10-1'),
    ],
)
def test_what_has_no_meaning_is_refused(run_here, words, said):
    done = run_here("bench", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_no_number_is_cut_at_80_columns(monkeypatch):
    results = json.loads(Path("docs/evidence/how-it-scales.json").read_text("utf-8"))
    console = Console(width=80, record=True, file=StringIO())
    monkeypatch.setattr(bench, "output", console)
    bench._show(scale.PART, results)
    said = console.export_text()
    texts = {text(each) for text in list(scale.PART.columns.values())[3:] for each in results}
    assert [text for text in texts if text not in said] == []
    plain = Table(*scale.PART.columns)  # the wrong way: all columns in one table
    for each in results:
        plain.add_row(*(text(each) for text in scale.PART.columns.values()))
    console.print(plain)
    assert "…" in console.export_text()
    assert "…" not in said


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    run_here, tmp_path, monkeypatch
):
    measured = []
    part = Part(lambda _wish: measured.append(1) or [], {"what": str}, lambda *_: "page")
    monkeypatch.setattr(scale, "PART", part)
    refused = run_here("bench", "scale", "--out", str(tmp_path))
    assert (refused.returncode, measured) == (2, [])
    assert run_here("bench", "scale", "--out", str(tmp_path / "new" / "page.md")).returncode == 0
    assert (tmp_path / "new" / "page.md").read_text() == "page"


def test_points_that_a_file_has_are_not_measured_again(run_here, tmp_path, monkeypatch):
    asked = []

    def measure(wish):
        asked.extend(wish.points)
        return [{"point": name, "tables": 7} for name in wish.points]

    columns = {"point": lambda r: r["point"], "tables": lambda r: str(r["tables"])}
    monkeypatch.setattr(tests_size, "PART", Part(measure, columns))
    keep = str(tmp_path / "sizes.json")
    names = "maxent-10x10-10,maxent-6x8-8"
    run_here("bench", "tests-size", "--points", "maxent-6x8-8", "--keep", keep)
    done = run_here("bench", "tests-size", "--points", names, "--keep", keep, "--markdown")
    assert asked == ["maxent-6x8-8", "maxent-10x10-10"]
    assert done.stdout.splitlines()[2:] == ["| maxent-10x10-10 | 7 |", "| maxent-6x8-8 | 7 |"]


def reproduce(*words):
    return runner.invoke(app, ["reproduce", *words])


def test_people_see_printed_beside_ours_and_the_verdict():
    result = reproduce("rinott2018", "--section", "5")
    assert result.exit_code == 0
    assert "Section 5: 3 agree, 3 do not." in result.stdout
    assert "lacks the factor 2" in result.stdout
    assert "rinott2018 section 5: 3 agree, 3 do not" in result.stderr


def test_json_stands_alone_on_standard_output_and_a_folder_gets_page_and_pictures(tmp_path):
    words = ("bailie2020", "--table", "2", "--quick", "--seed", "7")
    document = json.loads(reproduce(*words, "--json").stdout)
    assert (document["paper"], document["quick"], document["seed"]) == ("bailie2020", True, 7)
    assert [exhibit["name"] for exhibit in document["exhibits"]] == ["table 2"]
    result = reproduce(*words, "--processes", "1", "--out", str(tmp_path / "out"))
    names = {f"bailie2020{end}" for end in ("-table-2.png", "-table-2.svg", ".json", ".md")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert "![The number of potato lovers" in (tmp_path / "out" / "bailie2020.md").read_text("utf-8")
    assert "Written:" in result.stderr


def test_all_does_every_paper_and_prints_a_list(monkeypatch):
    own = {name: papers.PAPERS[name] for name in ("bailie2020", "shlomo2019")}
    monkeypatch.setattr(papers, "PAPERS", own)
    result = reproduce("all", "--table", "2", "--processes", "1", "--quick", "--json")
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
    error = reproduce(*words).exception
    assert isinstance(error, BadRequest)
    assert says in str(error)
