import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest

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
    picture, document = tmp_path / "p.svg", tmp_path / "study.json"
    assert invoke(*words, "--plot", str(picture), "--out", str(document)).exit_code == 0
    assert picture.read_bytes().startswith(b"<svg")
    study = json.loads(document.read_text())
    keys = "attack source surveys people tables seed confidence false_alarm knows results baseline"
    assert set(study) == set(keys.split())
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
