from __future__ import annotations

import pytest

from discreet.margins.advice import METHODS, advise
from discreet.margins.closure import parse_margins
from discreet.margins.study import study
from discreet.margins.tables import paper_table
from discreet.pictures.margins import expected_errors, runs_by_epsilon
from discreet.pictures.save import render

EDWARDS = paper_table("edwards")
WANTED = parse_margins("AD,AB,BE", EDWARDS.names, EDWARDS.shape)


def records_of(specification, chart):
    """The records of one chart within a specification."""
    return specification["datasets"][chart["data"]["name"]]


@pytest.mark.slow
def test_expected_errors_are_those_of_the_advice():
    chart = expected_errors(WANTED, epsilons=(0.5, 1.0))
    specification = chart.to_dict()
    records = records_of(specification, specification)
    assert {r["method"] for r in records} == set(METHODS)
    for record in records:
        assert record["error"] == advise(WANTED, record["epsilon"]).overall[record["method"]]
    assert render(chart, "svg").startswith(b"<svg")


def test_runs_are_drawn_with_the_mean_and_spread_of_the_study():
    chart = runs_by_epsilon(EDWARDS.counts, WANTED, "fourier", reps=3, seed=4, epsilons=(0.5, 1.0))
    specification = chart.to_dict()
    first = records_of(specification, specification["hconcat"][0]["layer"][0])[0]
    sizes = [run.sample_size for run in study(EDWARDS.counts, WANTED, "fourier", 0.5, reps=3, seed=4).runs]
    assert first["mean"] == pytest.approx(sum(sizes) / 3)
    assert first["low"] < first["mean"] < first["high"]
    assert "n = 70" in str(chart.to_dict()["title"])
