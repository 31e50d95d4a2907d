from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest

runner = CliRunner()
SMALL = ["--people", "400", "--targets", "20", "--against", "cellkey,unprotected"]


def invoke(*words):
    return runner.invoke(app, ["attack", *words])


def test_json_stands_alone_on_standard_output_and_progress_on_standard_error():
    result = invoke("bob", *SMALL, "--pairs", "2", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["attack"], document["targets"], document["seed"]) == ("bob", 20, 1)
    assert document["baseline"]["protection"] == "unprotected"
    assert [each["protection"] for each in document["results"]] == ["cellkey"]
    assert "Attacking: cellkey" in result.stderr


@pytest.mark.slow
def test_the_json_of_both_attacks_has_the_documented_keys():
    bob = json.loads(invoke("bob", *SMALL, "--pairs", "2", "--json").stdout)
    shared = {"attack", "source", "people", "targets", "seed", "confidence", "false_alarm", "knows"}
    assert set(bob) == shared | {"pairs", "prior", "results", "baseline"}
    point = {"pairs", "queries", "success", "low", "high", "certain", "certain_true", "by_difference"}
    assert set(bob["results"][0]["curve"][0]) == point
    averaging = json.loads(invoke("averaging", *SMALL, "--ways", "2", "--json").stdout)
    assert set(averaging) == shared | {"ways", "results", "baseline"}
    (words, parts) = averaging["results"][0]["curves"].values()
    assert set(words[0]) == set(parts[0]) == {"ways", "queries", "error", "low", "high", "expected", "exact"}


@pytest.mark.slow
def test_the_attack_by_weights_tells_its_curve_its_gain_and_what_is_not_served(tmp_path):
    words = ["weights", "--surveys", "2", "--tables", "1", "--against", "cell-average,average-weight"]
    picture, document = tmp_path / "p.svg", tmp_path / "study.json"
    assert invoke(*words, "--plot", str(picture), "--out", str(document)).exit_code == 0
    assert picture.read_bytes().startswith(b"<svg")
    study = json.loads(document.read_text())
    assert set(study) == {
        *("attack", "source", "surveys", "people", "tables", "seed", "confidence", "false_alarm", "knows"),
        *("results", "baseline"),
    }
    opened, served = study["results"]
    assert (opened["served"], served["served"]) == (False, True)
    assert opened["measures"] == ["count", "weighted"]
    assert set(opened["curve"][0]) == {
        *(
            "tables",
            "queries",
            "cells",
            "exact",
            "low",
            "high",
            "counts_alone",
            "gain",
            "gain_low",
            "gain_high",
        ),
        *("certain", "certain_true", "certain_by_counts", "within_bar"),
    }
    shown = invoke(*words).stdout
    assert "cell-average (not served): +" in shown
    assert "within the bar" in shown


@pytest.mark.slow
def test_under_dp_the_bound_and_the_claim_are_told():
    words = ["--people", "400", "--targets", "20", "--against", "dp", "--epsilon", "0.5", "--json"]
    (bob,) = json.loads(invoke("bob", *words, "--pairs", "2").stdout)["results"]
    assert {"epsilon", "bound", "optimum", "within_bound"} < set(bob["curve"][0])
    assert (bob["claim"]["epsilon"], bob["claim"]["neighbours"]) == (0.5, "replace-one")
    (averaging,) = json.loads(invoke("averaging", *words, "--ways", "2").stdout)["results"]
    assert averaging["bound"].keys() == {"error", "exact"}
    assert "one person added or removed" in averaging["claim"]["sentence"]


@pytest.mark.slow
def test_people_see_the_curves_and_the_proofs():
    result = invoke("bob", *SMALL, "--pairs", "2")
    assert "Right about Bob's salary" in result.stdout
    assert "unprotected: 20 of 20 given away for certain, 20 of them rightly" in result.stdout
    result = invoke("averaging", *SMALL, "--ways", "2")
    assert "by ways of asking: regroupings" in result.stdout
    assert "unprotected: exactly right in the end: 100% by other words, 100% by regroupings." in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [["bob", "--pairs", "3"], ["averaging", "--ways", "3"]])
def test_a_picture_and_a_file_are_written(tmp_path, words):
    picture, document = tmp_path / "p.svg", tmp_path / "study.json"
    result = invoke(*words, *SMALL, "--plot", str(picture), "--out", str(document))
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"<svg")
    assert json.loads(document.read_text())["people"] == 400


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
