import json

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.margins.margin_set import parse_margins
from discreet.margins.study import METHODS, advise, plan_of, study

KEYS = "method epsilon delta neighbours cells coefficients sensitivity scale expected_error recommended runs"


@pytest.mark.parametrize("method", METHODS)
def test_the_json_has_its_documented_keys_and_one_run_shows_its_margins(papers, method):
    table, wanted = papers["edwards"]
    done = study(table.counts, wanted, method, 1.0, 1e-6, seed=1).as_json()
    assert " ".join(done) == KEYS
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


def test_every_method_that_fits_is_compared_and_the_least_error_recommended():
    binary = advise(parse_margins("AB,BC,CD", "ABCD", (2, 2, 2, 2)), 1.0)
    assert set(binary.overall) == set(METHODS)
    assert binary.overall[binary.recommended] == min(binary.overall.values())
    other = advise(parse_margins("AB,BC", "ABC", (2, 3, 4)), 1.0)
    assert "fourier" not in other.overall


def test_the_papers_noise_is_worse_than_independent_noise_on_the_papers_tables(papers):
    for _, wanted in papers.values():
        advice = advise(wanted, 1.0)
        assert advice.overall["efron-stein"] > advice.overall["independent"]
        assert advice.recommended == "optimum"


def test_unknown_methods_and_published_scales_of_unpublished_ones_are_refused(papers):
    _, wanted = papers["czech"]
    with pytest.raises(BadRequest, match='"fourier"'):
        plan_of("furier", wanted, 1.0)
    with pytest.raises(BadRequest, match="as-published"):
        plan_of("optimum", wanted, 1.0, as_published=True)
