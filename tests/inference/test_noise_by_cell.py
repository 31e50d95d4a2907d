import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import binomtest, chisquare

from discreet.errors import BadRequest
from discreet.inference.association import cramers_v
from discreet.inference.bootstrap import with_noise
from discreet.inference.goodness_of_fit import distribution_test
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.independence import independence_test, independence_tests
from discreet.inference.law import CUT
from discreet.inference.likelihood_ratio import chi_square
from discreet.inference.noise_by_cell import KeptLaw, NoiseByCell, by_cell
from discreet.inference.ratios import ratios
from discreet.noise import laplace
from discreet.noise.sum_law import SumLaw
from discreet.noise.table import NO_NOISE

FALSE_ALARM = 1e-4
SMALL = laplace(epsilon=0.5, m=7)
LONG = laplace(epsilon=0.2, modulus=2**64)
INDEPENDENCE = [(0,), (1,)]


def sums(table, *terms):
    return [SumLaw(table.rows[0], number) if number else NO_NOISE for number in terms]


def mixed(table, kind, *terms):
    return NoiseByCell.of(sums(table, *terms), np.array(kind))


def same_for_all(table, shape):
    return NoiseByCell.of(sums(table, 1), np.zeros(shape, dtype=int))


@pytest.mark.parametrize("model", ["poisson", "multinomial"])
def test_one_law_for_all_cells_is_the_plain_test(model):
    rng = np.random.default_rng(1)
    true = rng.poisson(30, (3, 4))
    table, total = with_noise(true, SMALL, rng), int(true.sum()) if model == "multinomial" else None
    plain = independence_test(table, SMALL, model=model, total=total, method="chi-square")
    cells = independence_test(
        table, same_for_all(SMALL, (3, 4)), model=model, total=total, method="chi-square"
    )
    assert cells.statistic == pytest.approx(plain.statistic, abs=1e-12 if model == "poisson" else 1e-9)
    assert cells.df == plain.df
    assert cells.spread == pytest.approx(plain.spread)


def test_one_law_for_all_cells_has_the_plain_measure_of_association():
    table = [[60, 40], [45, 55]]
    plain, cells = cramers_v(table, SMALL), cramers_v(table, same_for_all(SMALL, (2, 2)))
    assert cells.estimate == pytest.approx(plain.estimate, abs=1e-12)
    assert cells.noise_part == pytest.approx(plain.noise_part, abs=1e-12)


def slow_log_likelihood(table, noise, means):
    """Straight from the exact laws: every count behind every cell, one by one."""
    total = 0.0
    for x, kind, mu in zip(table.ravel(), noise.kind.ravel(), means.ravel(), strict=True):
        law = noise.laws[kind].law
        terms = [
            np.log(p) + n * np.log(mu) - mu - gammaln(n + 1)
            for z, p in zip(law.values, law.chances, strict=True)
            if (n := int(x) - int(z)) >= 0 and p > 0
        ]
        total += np.logaddexp.reduce(terms)
    return total


@pytest.mark.slow
def test_mixed_laws_agree_with_direct_maximisation():
    noise = mixed(SMALL, [[0, 1, 2], [2, 1, 3]], 1, 2, 5, 0)
    table = np.array([[31, 18, 44], [29, 37, 40]])
    found = ratios(table[None], noise, HierarchicalModel.of(INDEPENDENCE, np.ones((2, 3))))

    def independent(theta):
        return np.exp(theta[0] + np.array([0, theta[1]])[:, None] + np.array([0, *theta[2:]])[None])

    start = np.array([3.4, 0.0, 0.0, 0.0])
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    best = minimize(
        lambda t: -slow_log_likelihood(table, noise, independent(t)),
        start,
        method="Nelder-Mead",
        options=options,
    )
    free = minimize(
        lambda t: -slow_log_likelihood(table, noise, np.exp(t).reshape(2, 3)),
        np.log(table.ravel()),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert found.statistic[0] == pytest.approx(2 * (best.fun - free.fun), abs=1e-8)
    np.testing.assert_allclose(found.means[0], independent(best.x), rtol=1e-5)


def test_it_matters_which_cell_has_which_law():
    table = [[31, 18, 44], [29, 37, 40]]
    one = independence_test(table, mixed(SMALL, [[0, 0, 0], [1, 1, 1]], 1, 9), method="chi-square")
    other = independence_test(table, mixed(SMALL, [[0, 1, 0], [1, 0, 1]], 1, 9), method="chi-square")
    assert abs(one.statistic - other.statistic) > 0.01


def independent_tables(rng, tables, shape, people, noise):
    rows, columns = rng.uniform(0.5, 1.5, (tables, shape[0], 1)), rng.uniform(0.5, 1.5, (tables, 1, shape[1]))
    return with_noise(rng.poisson(people * rows * columns), noise, rng)


@pytest.mark.slow
@pytest.mark.parametrize("people", [40, 400])
def test_the_size_is_nominal_under_mixed_laws_and_that_of_the_naive_and_plain_tests_is_not(people):
    rng = np.random.default_rng(people)
    noise = NoiseByCell.of(sums(LONG, 1, 2, 6), rng.integers(0, 3, (6, 8)))
    tables = independent_tables(rng, 150, (6, 8), people, noise)
    found = independence_tests(tables, noise)
    assert found.converged.all()
    assert (
        binomtest(int((found.p_value <= 0.05).sum()), 150, 0.05, alternative="greater").pvalue > FALSE_ALARM
    )
    naive = int((found.naive_p_value <= 0.05).sum())
    assert binomtest(naive, 150, 0.05, alternative="greater").pvalue < FALSE_ALARM
    fitted = ratios(tables, noise, HierarchicalModel.of(INDEPENDENCE, np.ones((6, 8))))
    plain = chi_square(fitted.statistic, fitted.df)
    if people == 40:  # Laplace noise outweighs the counts: the statistic is no chi-square
        assert binomtest(int((plain <= 0.05).sum()), 150, 0.05, alternative="greater").pvalue < FALSE_ALARM


def test_a_true_departure_is_found():
    noise = mixed(LONG, np.arange(12).reshape(3, 4) % 3, 1, 2, 6)
    table = with_noise(np.array([[400, 100, 100, 100], [100, 400, 100, 100], [100, 100, 400, 100]]), noise,
                      np.random.default_rng(2))  # fmt: skip
    assert independence_test(table, noise, method="moments").p_value < 1e-6


@pytest.mark.slow
def test_the_bootstrap_of_mixed_laws_agrees_with_the_law_of_matched_moments():
    noise = mixed(LONG, np.arange(12).reshape(3, 4) % 3, 1, 2, 6)
    table = independent_tables(np.random.default_rng(5), 1, (3, 4), 60, noise)[0]
    by_draws = independence_test(table, noise, method="bootstrap", replicates=199)
    by_moments = independence_test(table, noise, method="moments")
    assert by_draws.method == "bootstrap"
    assert by_moments.p_value == pytest.approx(by_draws.p_value, abs=0.15)
    assert by_draws == independence_test(table, noise, method="bootstrap", replicates=199)


def test_public_cells_and_cells_that_cannot_occur_take_their_part_or_none():
    noise = mixed(SMALL, [[0, 1, 2], [0, 1, 1]], 1, 4, 0)
    chances = np.array([[1, 1, 1], [1, 1, 0]])
    found = distribution_test([[20, 22, 19], [18, 23, 5]], chances, noise, method="chi-square")
    assert found.df == 4
    assert found.fitted[1, 2] == 0
    moved = distribution_test([[20, 22, 29], [18, 23, 5]], chances, noise, method="chi-square")
    assert moved.statistic > found.statistic


def test_fresh_noise_has_the_law_of_each_cell():
    noise = mixed(SMALL, [0, 1, 2], 1, 3, 0)
    drawn = noise.drawn(4000, np.random.default_rng(3))
    assert (drawn[:, 2] == 0).all()
    for cell, wrong in ((0, 1), (1, 0)):
        law = noise.laws[cell].law
        inside = np.isin(drawn[:, cell], law.values[law.chances * 4000 >= 5])
        for kind, right in ((cell, True), (wrong, False)):
            expected = np.array([noise.laws[kind].law.chances[v - noise.laws[kind].law.first]
                                 if noise.laws[kind].law.first <= v <= noise.laws[kind].law.last else 1e-9
                                 for v in law.values[law.chances * 4000 >= 5]])  # fmt: skip
            seen = [int((drawn[inside, cell] == v).sum()) for v in law.values[law.chances * 4000 >= 5]]
            p_value = chisquare(seen, expected / expected.sum() * sum(seen)).pvalue
            assert (p_value > FALSE_ALARM) == right


def test_what_is_cut_is_stated_and_small():
    whole = SumLaw(LONG.rows[0], 1)
    kept = KeptLaw.of(whole)
    exact = whole.exact_law()
    outside = sum(p for z, p in exact.items() if not kept.law.first <= z <= kept.law.last)
    assert 0 < outside <= CUT
    assert kept.error >= outside
    assert len(kept.law.chances) < len(exact)
    assert kept.variance == pytest.approx(float(whole.variance))


def test_tables_of_32_bit_keys_lose_nothing():
    noise = laplace(epsilon=0.2)
    assert len(KeptLaw.of(SumLaw(noise.rows[0], 1)).law.chances) == len(noise.rows[0].values)
    assert by_cell(noise, (2, 2)) is noise
    assert isinstance(by_cell(LONG, (2, 2)), NoiseByCell)


def test_a_count_beyond_what_is_kept_is_refused():
    noise = mixed(SMALL, [0, 1], 1, 0)
    for table in ([-8, 3], [4, -1]):
        with pytest.raises(BadRequest, match=r"probability below 1e-12"):
            distribution_test(table, [1, 1], noise)


def test_laws_that_do_not_fit_are_refused():
    with pytest.raises(BadRequest, match="do not fit"):
        independence_test([[1, 2], [3, 4]], mixed(SMALL, [0, 0], 1))
    with pytest.raises(BadRequest, match="law that is not there"):
        mixed(SMALL, [0, 3], 1)


def test_a_public_total_over_wide_noise_and_many_cells_is_refused_with_advice():
    noise = same_for_all(laplace(epsilon=0.025, modulus=2**64), (12, 12))
    with pytest.raises(BadRequest, match="Use the Poisson model"):
        independence_test(np.full((12, 12), 50), noise, model="multinomial", total=7200)
