from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.margins.margin_set import MarginSet, overall_error, parse_margins
from discreet.margins.study import METHODS, advise, plan_of, study

KEYS = [
    "method",
    "epsilon",
    "delta",
    "neighbours",
    "cells",
    "coefficients",
    "sensitivity",
    "scale",
    "expected_error",
    "recommended",
    "runs",
]


@pytest.mark.parametrize(
    "method", ["fourier", "efron-stein", "independent", "independent-consistent", "optimum"]
)
def test_the_json_has_its_documented_keys_and_one_run_shows_its_margins(papers, method):
    table, wanted = papers["edwards"]
    done = study(table.counts, wanted, method, 1.0, 1e-6, seed=1).as_json()
    assert list(done) == KEYS
    json.dumps(done, allow_nan=False)
    (run,) = done["runs"]
    assert list(run) == ["sample_size", "max_l1", "lp_b", "margins"]
    assert list(run["margins"]) == ["AD", "AB", "BE", "CE", "CF"]
    assert np.shape(run["margins"]["AD"]) == (2, 2)
    assert (run["lp_b"] is None) == (method not in ("fourier", "efron-stein"))


def test_runs_repeat_with_their_seed_and_differ_between_themselves(papers):
    table, wanted = papers["czech"]
    first = study(table.counts, wanted, "fourier", 1.0, reps=3, seed=5).as_json()
    assert first == study(table.counts, wanted, "fourier", 1.0, reps=3, seed=5).as_json()
    assert len({run["max_l1"] for run in first["runs"]}) > 1
    assert "margins" not in first["runs"][0]


def test_distances_are_those_of_the_released_margins(papers):
    table, wanted = papers["czech"]
    done = study(table.counts, wanted, "optimum", 1.0, seed=2)
    run = done.runs[0]
    slow = max(
        np.abs(released - table.counts.sum(axis=tuple(j for j in range(6) if j not in margin))).sum()
        for margin, released in run.margins.items()
    )
    assert run.max_l1 == pytest.approx(slow)


def test_the_published_scale_is_reported_with_what_it_means(papers):
    table, wanted = papers["journey"]
    published = study(table.counts, wanted, "efron-stein", 1.0, as_published=True, seed=1)
    honest = study(table.counts, wanted, "efron-stein", 1.0, seed=1)
    assert "not 1-DP" in published.notes()[0]
    assert "1.299-DP" in published.notes()[0]
    assert honest.notes()[0].startswith("1-DP for add-remove")
    assert (
        published.as_json()["expected_error"]["efron-stein"]
        < honest.as_json()["expected_error"]["efron-stein"]
    )
    czech, model = papers["czech"]
    loose = study(czech.counts, model, "fourier", 1.0, as_published=True, seed=1)
    assert "0.5-DP" in loose.notes()[0]


def test_scales_are_one_number_or_one_for_each_margin(papers):
    table, wanted = papers["journey"]
    assert study(table.counts, wanted, "independent", 1.0, seed=1).as_json()["scale"] == 3.0
    several = study(table.counts, wanted, "optimum", 1.0, seed=1).as_json()["scale"]
    assert set(several) == {"AB", "AC", "BC"}
    assert sum(1 / scale for scale in several.values()) == pytest.approx(1.0)


def test_no_runs_are_refused(papers):
    table, wanted = papers["czech"]
    with pytest.raises(BadRequest, match="at least 1"):
        study(table.counts, wanted, "fourier", 1.0, reps=0)


TWO_WAY = MarginSet(tuple("ABCDEFG"), (11, 2, 21, 5, 12, 9, 5), tuple(combinations(range(7), 2)))


def test_every_method_that_fits_is_compared_and_the_least_error_recommended():
    binary = advise(parse_margins("AB,BC,CD", "ABCD", (2, 2, 2, 2)), 1.0)
    assert set(binary.overall) == set(METHODS)
    assert binary.overall[binary.recommended] == min(binary.overall.values())
    other = advise(parse_margins("AB,BC", "ABC", (2, 3, 4)), 1.0)
    assert "fourier" not in other.overall


def test_overall_errors_are_weighted_means_of_the_margins():
    wanted = parse_margins("AB,BC", "ABC", (2, 3, 5))
    advice = advise(wanted, 1.0, weights="tables")
    for method, errors in advice.by_margin.items():
        assert advice.overall[method] == pytest.approx(sum(errors.values()) / 2)
        assert set(errors) == set(wanted.margins)


def test_the_reason_names_what_is_gained():
    assert "Gaussian" in advise(TWO_WAY, 1.0, 1e-6).why
    assert "least squares" in advise(TWO_WAY, 1.0).why
    small = advise(parse_margins("AB,BC", "ABC", (4, 4, 4)), 12.0)
    assert "below one count" in small.why


def test_the_papers_noise_is_worse_than_independent_noise_on_the_papers_tables(papers):
    for _, wanted in papers.values():
        advice = advise(wanted, 1.0)
        assert advice.overall["efron-stein"] > advice.overall["independent"]
        assert advice.recommended == "optimum"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_plan_with_its_promise(method, papers):
    _, wanted = papers["czech"]
    plan = plan_of(method, wanted, 0.7, 1e-6, neighbours="replace-one")
    assert plan.epsilon == 0.7
    assert plan.neighbours == "replace-one"
    assert plan.coefficients > 0
    assert plan.sensitivity > 0
    assert overall_error(plan) > 0


def test_unknown_methods_and_published_scales_of_unpublished_ones_are_refused(papers):
    _, wanted = papers["czech"]
    with pytest.raises(BadRequest, match='"fourier"'):
        plan_of("furier", wanted, 1.0)
    with pytest.raises(BadRequest, match="as-published"):
        plan_of("optimum", wanted, 1.0, as_published=True)
