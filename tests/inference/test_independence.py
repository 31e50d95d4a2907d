import numpy as np
import pytest
from scipy.stats import chi2_contingency

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.inference.bootstrap import with_noise
from discreet.inference.independence import independence_test, independence_tests
from discreet.model.request import request_from_text
from discreet.noise import laplace


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
        by_law = independence_test(table, noise, method=str(many.method[place]))
        assert many.p_value[place] == pytest.approx(by_law.p_value, abs=1e-8)
        assert many.naive_statistic[place] == pytest.approx(one.naive.statistic, abs=1e-8)
        assert many.naive_p_value[place] == pytest.approx(one.naive.p_value, abs=1e-8)


def test_it_does_not_matter_which_variable_stands_where(any_noise):
    rng = np.random.default_rng(11)
    table = with_noise(rng.poisson(30, (3, 5)), any_noise, rng)
    along, across = (independence_test(t, any_noise, method="chi-square") for t in (table, table.T))
    assert along.statistic == pytest.approx(across.statistic, abs=1e-8)


def test_a_release_is_tested_on_its_unadjusted_inner_cells(town_workspace):
    release = released(town_workspace, "sex", "age")
    found = independence_test(release)
    assert found.hypothesis == "Sex and Age are independent"
    assert found.statistic == independence_test(release.noisy[:-1, :-1], release.law.table).statistic
    alone = released(town_workspace, "sex", "age", totals=False)
    assert found.statistic == independence_test(alone).statistic


def test_structural_zeros_are_no_part_of_the_model(town_workspace):
    release = released(town_workspace, "age", "job")
    found = independence_test(release)
    assert "where both can occur" in found.hypothesis
    # Children have no job but "None": the row child has one cell, which fits whatever its mean.
    assert found.df == (3 - 1) * (4 - 1) - 3
    adults = independence_test(release.noisy[1:-1, :-1], release.law.table)
    assert found.statistic == pytest.approx(adults.statistic, abs=1e-6)
    assert found.fitted[0, 1:].tolist() == [0, 0, 0]


def test_the_multinomial_form_is_close_to_the_poisson_form_where_counts_are_large():
    rng = np.random.default_rng(10)
    noise = laplace(epsilon=0.5, m=7)
    true = rng.poisson(400, (3, 3))
    table = with_noise(true, noise, rng)
    poisson = independence_test(table, noise)
    given = independence_test(table, noise, model="multinomial", total=int(true.sum()))
    assert given.converged
    assert given.statistic == pytest.approx(poisson.statistic, rel=0.02)


def test_the_bootstrap_says_the_same_to_everybody_and_agrees_with_the_law_where_that_holds():
    noise = laplace(epsilon=0.5, m=7)
    table = [[95, 130, 110], [120, 108, 99]]
    first, again = (independence_test(table, noise, method="bootstrap") for _ in range(2))
    assert first == again
    assert first.p_value == pytest.approx(independence_test(table, noise).p_value, abs=0.06)


@pytest.mark.parametrize("table", [[1, 2, 3], [[1, 2, 3]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]])
def test_what_is_no_two_way_table_is_refused(table):
    with pytest.raises(BadRequest, match="two variables"):
        independence_test(table, laplace(epsilon=1.0, m=9))


def test_many_tables_are_one_array():
    with pytest.raises(BadRequest, match="tables x rows x columns"):
        independence_tests([[1, 2], [3, 4]], laplace(epsilon=1.0, m=5))
