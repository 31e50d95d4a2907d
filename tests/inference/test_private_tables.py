"""What a reader of a `dp` dataset may conclude, through the Python face."""

import numpy as np
import pytest

import discreet
from discreet.inference import NoiseByCell, cramers_v, log_linear_test, posterior
from discreet.inference.channel import observe
from discreet.inference.hypothesis_tests.independence import independence_test

GROUPS = {"area": [["N1", "N2"], ["S1"], ["S2", "S3"]]}


@pytest.fixture
def catalogue(private_town):
    return discreet.open(private_town.folder)


def test_a_grouped_table_is_tested_with_the_law_of_each_cell(catalogue):
    table = catalogue.table("town", rows="area", columns="sex", groups=GROUPS)
    seen = observe(table.release)
    assert isinstance(seen.noise, NoiseByCell)
    assert (
        np.array([law.variance for law in seen.noise.laws])[seen.noise.kind][:, 0].argsort().tolist()[0] == 1
    )
    found = table.test_independence()
    assert found.hypothesis == "Area and Sex are independent"
    assert (found.df, found.converged) == (2, True)
    assert 0 < found.p_value <= 1
    assert found.spread == pytest.approx(float(table.release.law.variance()[:3, :2].max()) ** 0.5)


def test_a_declared_table_is_tested_by_its_one_law(catalogue):
    table = catalogue.table("town", rows="sex", columns="age")
    _, noise = table.release.law.margins[int(table.release.law.margin[0, 0])]
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


def test_a_coarser_level_is_tested_and_a_log_linear_model_too(catalogue):
    table = catalogue.table("town", rows="region", columns="sex")
    assert table.test_independence().df == 1
    assert log_linear_test(table.release, [["region", "sex"]]).df == 0
    assert 0 <= cramers_v(table.release).estimate <= 1


def test_the_interval_of_a_group_is_wider_and_its_posterior_agrees(catalogue):
    table = catalogue.table("town", rows="area", columns="sex", groups=GROUPS)
    codes = table.release.dimensions[0].codes
    two, one = (table.interval(codes[place], "1") for place in (0, 1))
    assert two.high - two.low > one.high - one.low
    found = posterior(int(table.release.noisy[0, 0]), table.release.law.at(0, 0))
    low, high = found.interval(0.95)
    assert abs(low - two.low) <= 2
    assert abs(high - two.high) <= 2
