from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import binomtest, chisquare

from discreet.errors import BadRequest
from discreet.inference.channel import (
    CUT,
    MOST_CELLS,
    Channel,
    NoiseByCell,
    TruncatedDistribution,
    by_cell,
    channel_of,
    observe,
    whole_numbers,
    with_sure_zeros,
)
from discreet.inference.hypothesis_tests.cramers_v import cramers_v
from discreet.inference.hypothesis_tests.goodness_of_fit import distribution_test
from discreet.inference.hypothesis_tests.independence import independence_test, independence_tests
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square, likelihood_ratios
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.model.release import WITHHELD
from discreet.model.request import request_from_text
from discreet.noise import NoiseRow, NoiseTable, families, laplace, maxent
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE
from discreet.release.pipeline import release_table


def slow_evidence(released, noise):
    """P(x | n) for every n, straight from the rows."""
    found = {}
    for n in range(max(0, released - 3000), released + 3000):
        chance = noise.row(n).probabilities().get(released - n)
        if chance:
            found[n] = float(chance)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 1, 3, 7, 40, 1000])
def test_evidence_is_what_the_rows_say(any_noise, released):
    expected = slow_evidence(released, any_noise)
    if not expected:
        with pytest.raises(BadRequest, match="cannot be released"):
            channel_of(any_noise).evidence([released])
        return
    found = channel_of(any_noise).evidence([released])
    inside = found.chance[0] > 0
    assert found.counts[0][inside].tolist() == sorted(expected)
    np.testing.assert_allclose(found.chance[0][inside], [expected[n] for n in sorted(expected)], rtol=1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 400), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_what_was_released_always_allows_the_truth(counts, key):
    noise = families.build("pram", {})
    true = np.array(counts)
    released = true + noise.noise(true, np.full(len(true), key, dtype=np.uint64))
    found = channel_of(noise).evidence(released)
    at = (true - found.first).astype(int)
    assert (found.chance[np.arange(len(true)), at] > 0).all()


def test_a_released_zero_may_be_a_small_count_that_went_down():
    found = channel_of(maxent(D=5, V=3, js=2)).evidence([0])
    assert found.allows_zero()[0]
    assert not found.sure_zero()[0]


def test_equal_rows_have_one_law():
    row = NoiseRow((-1, 0, 1), (1, 3, 4))
    assert Channel(NoiseTable(4, (row, row, row), repeats=2)).laws.shape == (1, 3)


def test_cells_that_cannot_occur_are_surely_empty():
    evidence = channel_of(laplace(epsilon=1.0, m=3)).evidence([4, 5])
    changed = with_sure_zeros(evidence, np.array([True, False]))
    assert changed.sure_zero().tolist() == [True, False]
    assert changed.chance[1].tolist() == evidence.chance[1].tolist()


def test_an_impossible_count_is_refused_with_advice():
    with pytest.raises(BadRequest, match="count 1 cannot be released"):
        channel_of(maxent(D=5, V=3, js=2)).evidence([[7, 1]])


def test_noise_too_wide_is_refused():
    wide = NoiseRow((-9000, 9000), (1, 2))
    with pytest.raises(BadRequest, match="spans at most 5,000"):
        Channel(NoiseTable(2, (wide, NoiseRow((0, 1), (1, 2)))))
    assert Channel(NoiseTable(2, (wide,))).highest == 9000
    with pytest.raises(BadRequest, match="spans at most 200,000"):
        Channel(NoiseTable(2, (NoiseRow((-900_000, 900_000), (1, 2)),)))


def test_a_sum_of_noise_is_a_channel_of_one_law():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    found = Channel(SumDistribution(row, 3))
    exact = SumDistribution(row, 3).exact_distribution()
    assert found.laws[0].sum() == pytest.approx(1, abs=2e-12)
    assert found.laws[0][-found.lowest] == pytest.approx(float(exact[0]), rel=1e-12)
    assert found.distribution_index(np.array([-2, 0, 9])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [[1.5], ["a"], [np.nan], []])
def test_what_is_no_whole_number_is_refused(values):
    with pytest.raises(BadRequest):
        whole_numbers(values)


def test_whole_floats_are_taken():
    assert whole_numbers([1.0, -2.0]).tolist() == [1, -2]


FALSE_ALARM = 1e-4
SMALL = laplace(epsilon=0.5, m=7)
LONG = laplace(epsilon=0.2, modulus=2**64)
INDEPENDENCE = [(0,), (1,)]


def sums(table, *terms):
    return [SumDistribution(table.rows[0], number) if number else NO_NOISE for number in terms]


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
    found = likelihood_ratios(table[None], noise, HierarchicalModel.of(INDEPENDENCE, np.ones((2, 3))))

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
    fitted = likelihood_ratios(tables, noise, HierarchicalModel.of(INDEPENDENCE, np.ones((6, 8))))
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
    drawn = noise.draw(4000, np.random.default_rng(3))
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
    whole = SumDistribution(LONG.rows[0], 1)
    kept = TruncatedDistribution.of(whole)
    exact = whole.exact_distribution()
    outside = sum(p for z, p in exact.items() if not kept.law.first <= z <= kept.law.last)
    assert 0 < outside <= CUT
    assert kept.error >= outside
    assert len(kept.law.chances) < len(exact)
    assert kept.variance == pytest.approx(float(whole.variance))


def test_tables_of_32_bit_keys_lose_nothing():
    noise = laplace(epsilon=0.2)
    assert len(TruncatedDistribution.of(SumDistribution(noise.rows[0], 1)).law.chances) == len(
        noise.rows[0].values
    )
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


NOISE = laplace(epsilon=1.0, m=5)


def test_a_release_gives_noisy_cells_without_totals(town_workspace):
    request = request_from_text("town", rows=["age"], columns=["job"])
    release = release_table(town_workspace.stored("town"), request)
    shown = replace(release, values=np.zeros_like(release.values))
    found = observe(shown)
    assert (found.counts == release.noisy[:-1, :-1]).all()
    assert found.noise is release.law.table
    assert (~found.possible).sum() == 3


def test_withheld_cells_are_refused(town_workspace):
    request = request_from_text("town", rows=["sex"], columns=["age"])
    release = release_table(town_workspace.stored("town"), request)
    status = release.status.copy()
    status[0, 0] = WITHHELD
    with pytest.raises(BadRequest, match="withheld"):
        observe(replace(release, status=status))


def test_a_plain_array_needs_its_noise():
    with pytest.raises(BadRequest, match="noise"):
        observe([[1, 2]])


def test_too_many_cells_are_refused():
    with pytest.raises(BadRequest, match=f"{MOST_CELLS:,}"):
        observe(np.zeros(MOST_CELLS + 1, dtype=int), NOISE)
