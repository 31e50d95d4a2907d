"""Weights give counts away under the forms that are not served, and nothing under those that are."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.attacks.survey_weights import attack
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.workspace.demo import spudlandia
from discreet_studies.attacks import weights_trial as weights_study
from discreet_studies.attacks.surveys import CELL_AVERAGE, OPEN, OpenForm, cell_at, reader_of, sample, served
from discreet_studies.attacks.weights_trial import FALSE_ALARM, TABLES, WeightsTrial


def last_points(study):
    return {each["protection"]: each["curve"][-1] for each in study["results"]}


def test_what_cannot_be_tried_is_refused():
    for wrong in ({"surveys": 1}, {"tables": 7}, {"against": ("magic",)}, {"against": ("unprotected",)}):
        with pytest.raises(BadRequest):
            WeightsTrial(**wrong)


@pytest.mark.slow
def test_eight_requests_open_the_shipped_survey_under_cell_averages():
    people = sample(spudlandia.SEED)
    tables = [TableRequest("spudlandia", table[:1], table[1:]) for table in TABLES[:4]]
    with served(people, "average-weight") as service:
        outside = replace(people.outside(weights=False), totals={}, counts={frozenset(): 1500})
        reader = reader_of(service, CELL_AVERAGE)
        found = attack(OpenForm(service, people, CELL_AVERAGE), reader, tables, outside)
        alone = attack(service, reader_of(service, "average-weight"), tables, outside, ("count",))
    truth = np.array([people.count(cell) for cell in found.cells])
    assert found.queries == 8
    assert (found.guesses == truth).mean() > 0.95
    assert (alone.guesses == truth).mean() < 0.6
    assert found.certain.sum() > 110
    assert (found.guesses == truth)[found.certain].all()
    assert alone.certain.sum() == 1  # the sample size, which is public


@pytest.mark.slow
def test_open_forms_are_found_open_and_served_ones_stay_at_counts_alone():
    """The named wrong alternatives are the open forms; a sound form is called open with FALSE_ALARM."""
    study = WeightsTrial(surveys=2, tables=1, seed=1).run()
    assert study["false_alarm"] == FALSE_ALARM
    assert study["baseline"]["curve"][-1]["exact"] == 1
    for form, point in last_points(study).items():
        assert point["certain_true"] == point["certain"], form
        if form in OPEN:
            assert point["gain_low"] > 0.1, form
            assert point["certain"] > 50, form
            assert not point["within_bar"], form
        else:
            assert point["within_bar"], form
            assert point["certain"] == 0, form
            assert point["gain"] < 0.03, form


class TellingErrors:
    """The wrong alternative: a server whose errors come from the true counts."""

    def __init__(self, service, people):
        self.service, self.people = service, people

    def ask(self, request):
        answer = self.service.ask(request)
        if request.measure == "count":
            return answer
        counts = [
            self.people.count(cell_at(request, answer.codes, p)) for p in np.ndindex(*answer.values.shape)
        ]
        errors = np.ceil(1000 / np.sqrt(np.maximum(counts, 1))).astype(np.int64)
        return replace(answer, errors=errors.reshape(answer.values.shape))


@pytest.mark.slow
def test_errors_made_from_true_counts_are_found_out(monkeypatch):
    monkeypatch.setattr(
        weights_study, "interface_of", lambda service, people, _form: TellingErrors(service, people)
    )
    study = WeightsTrial(surveys=12, tables=1, seed=1, against=("average-weight",)).run()
    point = last_points(study)["average-weight"]
    assert not point["within_bar"]
    assert point["gain"] > 0.05
