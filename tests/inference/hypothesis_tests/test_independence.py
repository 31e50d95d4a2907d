"""Tests of independence and of log-linear models, Cramer's V, and what a reader of a dp dataset may conclude."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

import discreet
from discreet.errors import BadRequest
from discreet.inference.channel import NoiseByCell, observe
from discreet.inference.hypothesis_tests.cramers_v import _noise_part, cramers_v
from discreet.inference.hypothesis_tests.independence import (
    independence_test,
    independence_tests,
    log_linear_test,
)
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    LikelihoodRatio,
    NaiveTest,
    chi_square,
    read_likelihood_ratio,
)
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.model.request import request_from_text
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution
from discreet.release.pipeline import release_table

FITS = json.loads((Path(__file__).parents[2] / "oracles" / "log_linear_fits.json").read_text("utf-8"))[
    "tables"
]


def table_of(name):
    fit = FITS[name]
    counts = np.array(fit["counts"].split(), dtype=int).reshape(fit["shape"])
    return counts, [[ord(letter) - ord("A") for letter in word] for word in fit["model"]]


@pytest.mark.parametrize("name", sorted(FITS))
def test_without_noise_published_tables_have_their_statistic_and_freedom(name, no_noise):
    counts, generators = table_of(name)
    found = log_linear_test(counts, generators, no_noise, method="chi-square")
    assert found.converged
    assert found.statistic == pytest.approx(FITS[name]["G2"], abs=1e-6)
    assert found.naive.statistic == pytest.approx(FITS[name]["G2"], abs=1e-6)
    assert found.df == found.naive.df == FITS[name]["df"]


def test_a_release_is_tested_by_the_names_of_its_variables(town_workspace):
    request = request_from_text("town", rows=["sex", "region"], columns=["age"])
    release = release_table(town_workspace.stored("town"), request)
    found = log_linear_test(release, [["sex"], ["region"], ["age"]])
    inner = release.noisy[:-1, :-1, :-1]
    assert found.df == 7
    assert found.statistic == log_linear_test(inner, [[0], [1], [2]], release.distribution.table).statistic
    with pytest.raises(BadRequest, match='no variable "sexx"'):
        log_linear_test(release, [["sexx"]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "poison"}, 'Did you mean "poisson"'),
        ({"method": "boot"}, 'Did you mean "bootstrap"'),
        ({"model": "multinomial"}, "needs the true total"),
        ({"total": 100}, "only it takes one"),
        ({"replicates": 0}, "1 to 100,000"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(BadRequest) as error:
        log_linear_test([[30, 41], [52, 28]], [(0,), (1,)], laplace(epsilon=1.0, m=5), **options)
    assert words in str(error.value)


def test_small_means_ask_for_the_bootstrap_and_a_large_table_has_its_moments():
    noise = laplace(epsilon=1.0, m=5)
    small = [[3, 2], [1, 4]]
    drawn = log_linear_test(small, [(0,), (1,)], noise, replicates=49)
    assert drawn.method == "bootstrap"
    assert "49 tables drawn from the hypothesis" in drawn.notes[0]
    assert drawn == log_linear_test(small, [(0,), (1,)], noise, replicates=49), "everybody gets the same"
    by_distribution = log_linear_test(small, [(0,), (1,)], noise, method="chi-square")
    assert by_distribution.method == "chi-square"
    assert "does not hold" in by_distribution.notes[0]
    wide = log_linear_test(np.tile(small, (60, 60)), [(0,), (1,)], noise)
    assert wide.method == "moments"
    assert "multiple of a chi-square law" in wide.notes[0]


@pytest.mark.parametrize("form", ["table", "law", "by cell"])
def test_moments_are_moments_however_the_noise_is_given(form):
    """And not the chi-square distribution in silence, as they were for a noise table."""
    table = laplace(epsilon=0.5, m=10)
    one = SumDistribution(table.rows[0], 1)
    noise = {"table": table, "law": one, "by cell": NoiseByCell.of([one], np.zeros((6, 8), dtype=int))}[form]
    rng = np.random.default_rng(3)
    released = with_noise(rng.poisson(rng.uniform(4, 16, (6, 8))), table, rng)
    found = log_linear_test(released, [(0,), (1,)], noise, method="moments")
    wrong = log_linear_test(released, [(0,), (1,)], noise, method="chi-square")
    assert found.method == "moments"
    assert found.p_value > 1.5 * wrong.p_value
    assert found.p_value == pytest.approx(
        log_linear_test(released, [(0,), (1,)], table, method="moments").p_value, rel=1e-3
    )


def released(town_workspace, rows, columns, **options):
    request = request_from_text("town", rows=[rows], columns=[columns], **options)
    return release_table(town_workspace.stored("town"), request)


def test_without_noise_it_is_the_plain_test(no_noise):
    counts = np.array([[12, 30, 8], [22, 19, 31]])
    found = independence_test(counts, no_noise, method="chi-square")
    plain = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    assert found.statistic == pytest.approx(plain.statistic, abs=1e-9)
    assert found.naive.statistic == pytest.approx(plain.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(plain.pvalue, abs=1e-9)
    assert found.df == plain.dof
    assert "no noise" in found.why


def test_many_tables_are_tested_as_each_is():
    rng = np.random.default_rng(9)
    noise = laplace(epsilon=0.2, m=10)
    tables = with_noise(rng.poisson(40, (20, 3, 4)), noise, rng)
    many = independence_tests(tables, noise)
    for place, table in enumerate(tables):
        one = independence_test(table, noise, method="chi-square")
        assert many.statistic[place] == pytest.approx(one.statistic, abs=1e-8)
        by_distribution = independence_test(table, noise, method=str(many.method[place]))
        assert many.p_value[place] == pytest.approx(by_distribution.p_value, abs=1e-8)
        assert many.naive_statistic[place] == pytest.approx(one.naive.statistic, abs=1e-8)
        assert many.naive_p_value[place] == pytest.approx(one.naive.p_value, abs=1e-8)


def test_a_release_is_tested_on_its_unadjusted_inner_cells(town_workspace):
    release = released(town_workspace, "sex", "age")
    found = independence_test(release)
    assert found.hypothesis == "Sex and Age are independent"
    assert found.statistic == independence_test(release.noisy[:-1, :-1], release.distribution.table).statistic
    alone = released(town_workspace, "sex", "age", totals=False)
    assert found.statistic == independence_test(alone).statistic


def test_structural_zeros_are_no_part_of_the_model(town_workspace):
    release = released(town_workspace, "age", "job")
    found = independence_test(release)
    assert "where both can occur" in found.hypothesis
    # Children have no job but "None": the row child has one cell, which fits whatever its mean.
    assert found.df == (3 - 1) * (4 - 1) - 3
    adults = independence_test(release.noisy[1:-1, :-1], release.distribution.table)
    assert found.statistic == pytest.approx(adults.statistic, abs=1e-6)
    assert found.fitted[0, 1:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("table", [[1, 2, 3], [[1, 2, 3]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]])
def test_what_is_no_two_way_table_is_refused(table):
    with pytest.raises(BadRequest, match="two variables"):
        independence_test(table, laplace(epsilon=1.0, m=9))
    with pytest.raises(BadRequest, match="tables x rows x columns"):
        independence_tests([[1, 2], [3, 4]], laplace(epsilon=1.0, m=5))


FALSE_ALARM = 1e-4
Z = 3.9  # two-sided, for FALSE_ALARM
TRUE = np.array([[120, 60, 40], [70, 90, 50], [30, 45, 80]])


def test_without_noise_it_is_cramers_v(no_noise):
    found = cramers_v(TRUE, no_noise)
    assert found.estimate == pytest.approx(association(TRUE, method="cramer"), abs=1e-12)
    assert found.naive == pytest.approx(found.estimate)


def test_the_noise_part_is_the_expected_quadratic_form():
    """Against the plain sum over every cell's coefficient in every residual."""
    rng = np.random.default_rng(1)
    counts, variance = rng.uniform(20, 90, (3, 4)), rng.uniform(1, 5, (3, 4))
    p, q = counts.sum(axis=1) / counts.sum(), counts.sum(axis=0) / counts.sum()
    expected = 0.0
    for i, j in np.ndindex(3, 4):
        row, column = (np.arange(3) == i) - p[i], (np.arange(4) == j) - q[j]
        expected += (np.outer(row, column) ** 2 * variance).sum() / (counts.sum() * p[i] * q[j])
    assert _noise_part(counts, variance) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [laplace(epsilon=0.2, m=12), maxent(D=10, V=20, js=2)], ids=["laplace", "maxent"]
)
def test_the_corrected_square_is_unbiased_and_the_naive_is_not(noise):
    rng = np.random.default_rng(20)
    draws = [cramers_v(with_noise(TRUE, noise, rng), noise) for _ in range(1500)]
    truth = association(TRUE, method="cramer") ** 2
    corrected = np.array([draw.estimate**2 for draw in draws])
    naive = np.array([draw.naive**2 for draw in draws])
    error = corrected.std() / np.sqrt(len(draws))
    assert abs(corrected.mean() - truth) < Z * error
    assert naive.mean() - truth > Z * error


@pytest.mark.parametrize("table", [[1, 2], [[5, 4, 3]], [[5, 0], [4, 0]]])
def test_tables_without_a_v_are_refused(table, no_noise):
    with pytest.raises(BadRequest):
        cramers_v(table, no_noise)


def test_a_column_that_only_a_left_out_row_held_is_left_out_too():
    noise = laplace(epsilon=0.5, m=9)
    table = np.array([[-9, 4, 4], [60, -3, 30], [20, 1, 50]])
    assert 0 < cramers_v(table, noise).estimate < 1
    kept = cramers_v(table[1:][:, [0, 2]], noise)
    assert cramers_v(table, noise).estimate == pytest.approx(kept.estimate)


GROUPS = {"area": [["N1", "N2"], ["S1"], ["S2", "S3"]]}


@pytest.fixture
def catalogue(private_town):
    return discreet.open(private_town.folder)


def test_a_grouped_table_is_tested_with_the_distribution_of_each_cell(catalogue):
    table = catalogue.table("town", rows="area", columns="sex", groups=GROUPS)
    seen = observe(table.release)
    assert isinstance(seen.noise, NoiseByCell)
    assert seen.noise.moments()[1][:, 0].argmin() == 1
    found = table.test_independence()
    assert found.hypothesis == "Area and Sex are independent"
    assert (found.df, found.converged) == (2, True)
    assert 0 < found.p_value <= 1
    assert found.spread == pytest.approx(float(table.release.distribution.variance()[:3, :2].max()) ** 0.5)


def test_a_declared_table_is_tested_by_its_one_distribution(catalogue):
    table = catalogue.table("town", rows="sex", columns="age")
    _, noise = table.release.distribution.margins[int(table.release.distribution.margin[0, 0])]
    plain = independence_test(table.release.noisy[:-1, :-1], noise)
    assert table.test_independence().statistic == pytest.approx(plain.statistic, abs=1e-12)


@pytest.mark.slow
def test_impossible_cells_and_their_group_have_no_part_beyond_what_can_occur(catalogue):
    table = catalogue.table("town", rows="age", columns="job", groups={"job": [["1", "2"], ["0"], ["9"]]})
    seen = observe(table.release)
    assert seen.possible.tolist()[0] == [True, False, False]
    found = table.test_independence()
    assert "where both can occur" in found.hypothesis
    assert found.df == 2
    assert found.fitted[0].tolist()[1:] == [0, 0]


def test_an_outcome_is_read_back_from_its_document():
    for table in ([[52, 31], [30, 55]], [[0, 0], [30, 55]]):
        found = independence_test(table, laplace(epsilon=0.5, m=7))
        read = read_likelihood_ratio(json.loads(json.dumps(found.document())))
        assert read == found
        assert read.why == found.why


def outcome(p_value, naive, spread=2.0):
    return LikelihoodRatio(
        "nothing differs", 1.0, 1, p_value, NaiveTest(9.0, 1, naive), "poisson", "chi-square", True, spread
    )


@pytest.mark.parametrize(
    ("p_value", "naive", "words"),
    [
        (0.4, 0.01, "the naive test would reject"),
        (0.01, 0.4, "the noise had hidden a departure"),
        (0.01, 0.01, "both reject"),
        (0.05, 0.051, "had hidden"),
        (0.4, 0.4, "neither rejects"),
    ],
)
def test_the_sentence_says_which_of_the_two_rejects(p_value, naive, words):
    assert words in outcome(p_value, naive).why
    assert "no noise" in outcome(p_value, naive, spread=0.0).why


def test_the_tail_is_one_where_nothing_is_left_to_test():
    assert chi_square([5.0, 5.0, -1e-12], [0, 1, 3]) == pytest.approx([1.0, math.erfc(math.sqrt(2.5)), 1.0])
