"""The custodian's report of exact standard errors."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet
from discreet.assess.survey_errors import survey_errors
from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet.model.request import TableRequest

TOML = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"

[[variable]]
name = "sex"
categories = ["1", "2"]

[[variable]]
name = "job"
categories = ["a", "b", "c"]

[survey]
form = "public-strata"
stratum = "sex"
stratum_weights = { 1 = 10, 2 = 20 }
sample_size = 400
population_size = 6000
largest_weight = 20
relative_variance = 0.1111
strata = "sex"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import pandas as pd

    folder = tmp_path_factory.mktemp("errors")
    (folder / "dataset.toml").write_text(TOML)
    sex = np.arange(400) % 2
    job = np.where(np.arange(400) < 300, "a", "b")
    frame = pd.DataFrame({"id": range(400), "sex": sex + 1, "job": job, "w": np.where(sex, 20, 10)})
    discreet.load(folder / "w", folder / "dataset.toml", frame)
    return folder / "w"


@pytest.fixture(scope="module")
def service(folder):
    with discreet.open(folder) as opened:
        yield opened._registry.open("s")


def test_every_cell_has_its_exact_error_and_what_is_printed(service):
    report = survey_errors(service, TableRequest("s", ("job",)))
    first, _, empty, everybody = report.cells
    assert (first.cell, first.people, first.total) == (("a",), 300, 4500.0)
    # 150 of 200 in either stratum, by hand.
    variance = sum(w**2 * 200 / 199 * (150 - 150**2 / 200) for w in (10, 20))
    assert first.standard_error == pytest.approx(variance**0.5)
    assert first.relative_standard_error == pytest.approx(variance**0.5 / 4500)
    assert first.design_effect == pytest.approx(300 * variance / 4500**2)
    assert first.share == pytest.approx(0.75)
    assert first.share_standard_error == pytest.approx(variance**0.5 / 6000)
    assert first.printed_error >= first.relative_standard_error
    assert (empty.people, empty.relative_standard_error, empty.design_effect) == (0, None, None)
    assert (everybody.standard_error, everybody.share_standard_error) == pytest.approx((0, 0), abs=1e-6)
    # Readers divide by the declared population, so a share's relative error is that of its total.
    assert first.share_printed_error == first.printed_error
    quotients = [c.printed_error / c.relative_standard_error for c in report.cells[:2]]
    assert report.printed_over_exact["totals"] == pytest.approx(np.mean(quotients))


def test_estimates_are_asked_for_in_words(service):
    words = ["1,a", "1,a / 1,_T", "1,a - 2,a", "1,a / 1,_T - 2,a / 2,_T"]
    found = survey_errors(service, TableRequest("s", ("sex",), ("job",)), words).estimates
    assert [each.value for each in found] == pytest.approx([1500, 0.75, -1500, 0])
    one = (0.75 * 0.25 / 199) ** 0.5
    assert found[1].standard_error == pytest.approx(one)
    assert found[3].standard_error == pytest.approx(2**0.5 * one)


def test_estimates_stand_beside_what_readers_are_told_of_them(service):
    words = ["_T,a", "_T,a / _T,_T", "_T,a / _T,b", "_T,a - _T,b", "_T,b / _T,a - 2,b / 2,a"]
    found = survey_errors(service, TableRequest("s", ("sex",), ("job",)), words).estimates
    for each in found[:4]:
        assert each.printed_value == pytest.approx(each.value, rel=0.1)
        assert each.printed_error * abs(each.printed_value) >= each.standard_error
    assert found[4].printed_error is None, "readers are told no difference of ratios that are no shares"


@pytest.mark.parametrize("text", ["1", "1,x", "1,a / 1,c", "1,a / 1,a / 1,a", "1,a - 1,a - 1,a", ""])
def test_estimates_that_cannot_be_read_are_refused(service, text):
    with pytest.raises(BadRequest, match="cannot be read") as caught:
        survey_errors(service, TableRequest("s", ("sex",), ("job",)), [text])
    assert "order of the variables" in caught.value.advice


def test_a_dataset_without_a_survey_has_none(town_workspace):
    with discreet.open(town_workspace.folder) as opened, pytest.raises(BadRequest, match="no exact sampling"):
        survey_errors(opened._registry.open("town"), TableRequest("town", ("sex",)))


def test_the_command_line_shows_it_as_confidential(folder, tmp_path):
    asked = ["assess", "s", "--rows", "sex", "--columns", "job", "--measure", "weighted", "-w", str(folder)]
    shown = CliRunner().invoke(app, [*asked, "--estimate", "1,a / 1,_T"]).stdout
    assert shown.startswith("CONFIDENTIAL")
    assert "1,a / 1,_T: 0.75 (SE 0.03" in shown
    document = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert document["confidential"] is True
    assert len(document["cells"]) == 12
    for wrong in (["--out", str(tmp_path / "x.html")], ["--measure", "mean"]):
        result = CliRunner().invoke(app, [*asked, *wrong])
        assert isinstance(result.exception, BadRequest)
        assert "--measure weighted" in result.exception.advice
