"""The picture of a budget: every table with its epsilon and error; of too many the dearest."""

import pytest

from discreet.margins.margin_set import parse_margins
from discreet.margins.sensitivity import paper_table
from discreet.margins.study import METHODS, advise, study
from discreet.pictures.budget_charts import MOST_LINES, budget_over_tables, error_by_epsilon, runs_by_epsilon
from discreet.pictures.drawing import render

EDWARDS = paper_table("edwards")
WANTED = parse_margins("AD,AB,BE", EDWARDS.names, EDWARDS.shape)


def records_of(specification, chart):
    """The records of one chart within a specification."""
    return specification["datasets"][chart["data"]["name"]]


@pytest.mark.slow
def test_expected_errors_are_those_of_the_advice():
    chart = error_by_epsilon(WANTED, epsilons=(0.5, 1.0))
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


def found(tables):
    entries = [
        {"variables": [f"v{n}"] if n else [], "epsilon": 0.01 * n + 0.01, "expected_abs_error": 5.0}
        for n in range(tables)
    ]
    cap, spent = {"epsilon": 2.0, "delta": 1e-9}, {"epsilon": 0.5, "delta": 0.0}
    return {"tables": entries, "cap": cap, "spent": spent, "family": "census", "neighbours": "add-remove"}


def drawn(part):
    """The names of the tables in a picture, wherever its data stand."""
    if isinstance(part, dict):
        own = {part["table"]} if "epsilon" in part and "table" in part else set()
        return own.union(*map(drawn, part.values()))
    return set().union(*map(drawn, part)) if isinstance(part, list) else set()


def test_the_grand_total_has_a_name_and_the_cap_is_told():
    picture = budget_over_tables(found(3)).to_dict()
    assert drawn(picture) == {"(grand total)", "v1", "v2"}
    assert "3 tables" in picture["title"]["text"]
    assert "lifetime epsilon 2, spent 0.5" in picture["title"]["subtitle"]


def test_of_many_tables_the_dearest_are_shown_and_that_is_said():
    picture = budget_over_tables(found(MOST_LINES + 5)).to_dict()
    assert len(drawn(picture)) == MOST_LINES
    assert "v1" not in drawn(picture)
    assert f"the {MOST_LINES} dearest are shown" in picture["title"]["text"]
