from __future__ import annotations

from itertools import combinations

import pytest

from discreet.errors import BadRequest
from discreet.margins.advice import METHODS, advise, plan_of
from discreet.margins.closure import MarginSet, parse_margins
from discreet.margins.importance import overall_error

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
