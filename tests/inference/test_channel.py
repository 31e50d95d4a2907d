"""What a released count says of the true one: likelihoods, sums of noise, posteriors, and noise by cell."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import binom, binomtest, chisquare, nbinom, poisson

from discreet.errors import BadRequest
from discreet.inference.channel import (
    CUT,
    MOST_CELLS,
    Channel,
    Distribution,
    NoiseByCell,
    Prior,
    TruncatedDistribution,
    by_cell,
    channel_of,
    flat,
    negative_binomial_prior,
    observe,
    poisson_prior,
    posterior,
    sum_distribution,
    whole_numbers,
    with_sure_zeros,
)
from discreet.inference.hypothesis_tests.goodness_of_fit import distribution_test
from discreet.inference.hypothesis_tests.independence import independence_test, independence_tests
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square, likelihood_ratios
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.model.release import WITHHELD
from discreet.model.request import request_from_text
from discreet.noise import NoiseRow, NoiseTable, laplace, maxent
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE
from discreet.release.pipeline import release_table

from .conftest import chances


def slow_evidence(released, noise):
    """P(x | n) for every n, straight from the rows."""
    counts = range(max(0, released - 3000), released + 3000)
    return {n: chances(noise, n)[released - n] for n in counts if chances(noise, n).get(released - n)}


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


def test_cells_that_cannot_occur_are_surely_empty():
    evidence = channel_of(laplace(epsilon=1.0, m=3)).evidence([4, 5])
    changed = with_sure_zeros(evidence, np.array([True, False]))
    assert changed.sure_zero().tolist() == [True, False]
    assert changed.chance[1].tolist() == evidence.chance[1].tolist()


def test_noise_too_wide_is_refused():
    wide = NoiseRow((-9000, 9000), (1, 2))
    with pytest.raises(BadRequest, match="spans at most 5,000"):
        Channel(NoiseTable(2, (wide, NoiseRow((0, 1), (1, 2)))))
    assert Channel(NoiseTable(2, (wide,))).highest == 9000
    with pytest.raises(BadRequest, match="spans at most 200,000"):
        Channel(NoiseTable(2, (NoiseRow((-900_000, 900_000), (1, 2)),)))


def test_a_sum_of_noise_is_a_channel_of_one_distribution():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    found = Channel(SumDistribution(row, 3))
    exact = SumDistribution(row, 3).exact_distribution()
    assert found.distributions[0].sum() == pytest.approx(1, abs=2e-12)
    assert found.distributions[0][-found.lowest] == pytest.approx(float(exact[0]), rel=1e-12)
    assert found.distribution_index(np.array([-2, 0, 9])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [[1.5], ["a"], [np.nan], []])
def test_what_is_no_whole_number_is_refused(values):
    with pytest.raises(BadRequest):
        whole_numbers(values)


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
def test_one_distribution_for_all_cells_is_the_plain_test(model):
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


def slow_log_likelihood(table, noise, means):
    """Straight from the exact distributions: every count behind every cell, one by one."""
    total = 0.0
    for x, kind, mu in zip(table.ravel(), noise.kind.ravel(), means.ravel(), strict=True):
        distribution = noise.distributions[kind].distribution
        terms = [
            np.log(p) + n * np.log(mu) - mu - gammaln(n + 1)
            for z, p in zip(distribution.values, distribution.chances, strict=True)
            if (n := int(x) - int(z)) >= 0 and p > 0
        ]
        total += np.logaddexp.reduce(terms)
    return total


@pytest.mark.slow
def test_mixed_distributions_agree_with_direct_maximisation():
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


@pytest.mark.slow
def test_the_size_is_nominal_under_mixed_distributions_and_that_of_the_naive_and_plain_tests_is_not():
    """With forty people a cell Laplace noise outweighs the counts: the statistic is no chi-square."""
    rng = np.random.default_rng(40)
    noise = NoiseByCell.of(sums(LONG, 1, 2, 6), rng.integers(0, 3, (6, 8)))
    rows, columns = rng.uniform(0.5, 1.5, (150, 6, 1)), rng.uniform(0.5, 1.5, (150, 1, 8))
    tables = with_noise(rng.poisson(40 * rows * columns), noise, rng)
    found = independence_tests(tables, noise)
    assert found.converged.all()
    fitted = likelihood_ratios(tables, noise, HierarchicalModel.of(INDEPENDENCE, np.ones((6, 8))))
    plain = chi_square(fitted.statistic, fitted.df)
    for p_values, nominal in ((found.p_value, True), (found.naive_p_value, False), (plain, False)):
        rejected = binomtest(int((p_values <= 0.05).sum()), 150, 0.05, alternative="greater")
        assert (rejected.pvalue > FALSE_ALARM) == nominal


def test_public_cells_and_cells_that_cannot_occur_take_their_part_or_none():
    noise = mixed(SMALL, [[0, 1, 2], [0, 1, 1]], 1, 4, 0)
    chances = np.array([[1, 1, 1], [1, 1, 0]])
    found = distribution_test([[20, 22, 19], [18, 23, 5]], chances, noise, method="chi-square")
    assert found.df == 4
    assert found.fitted[1, 2] == 0
    moved = distribution_test([[20, 22, 29], [18, 23, 5]], chances, noise, method="chi-square")
    assert moved.statistic > found.statistic


def test_fresh_noise_has_the_distribution_of_each_cell():
    noise = mixed(SMALL, [0, 1, 2], 1, 3, 0)
    drawn = noise.draw(4000, np.random.default_rng(3))
    assert (drawn[:, 2] == 0).all()
    for cell, wrong in ((0, 1), (1, 0)):
        distribution = noise.distributions[cell].distribution
        frequent = distribution.values[distribution.chances * 4000 >= 5]
        seen = np.array([(drawn[:, cell] == value).sum() for value in frequent])
        for kind, right in ((cell, True), (wrong, False)):
            other = noise.distributions[kind].distribution
            chances = dict(zip(other.values.tolist(), other.chances, strict=True))
            expected = np.array([chances.get(value, 1e-9) for value in frequent.tolist()])
            p_value = chisquare(seen, expected / expected.sum() * seen.sum()).pvalue
            assert (p_value > FALSE_ALARM) == right


def test_what_is_cut_is_stated_and_small():
    whole = SumDistribution(LONG.rows[0], 1)
    kept = TruncatedDistribution.of(whole)
    exact = whole.exact_distribution()
    outside = sum(p for z, p in exact.items() if not kept.distribution.first <= z <= kept.distribution.last)
    assert 0 < outside <= CUT
    assert kept.error >= outside
    assert len(kept.distribution.chances) < len(exact)
    assert kept.variance == pytest.approx(float(whole.variance))


def test_tables_of_32_bit_keys_lose_nothing():
    noise = laplace(epsilon=0.2)
    assert len(TruncatedDistribution.of(SumDistribution(noise.rows[0], 1)).distribution.chances) == len(
        noise.rows[0].values
    )
    assert by_cell(noise, (2, 2)) is noise
    assert isinstance(by_cell(LONG, (2, 2)), NoiseByCell)


def test_a_count_beyond_what_is_kept_is_refused():
    noise = mixed(SMALL, [0, 1], 1, 0)
    for table in ([-8, 3], [4, -1]):
        with pytest.raises(BadRequest, match=r"probability below 1e-12"):
            distribution_test(table, [1, 1], noise)


def test_distributions_that_do_not_fit_are_refused():
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
    assert found.noise is release.distribution.table
    assert (~found.possible).sum() == 3


def test_what_has_no_noise_or_too_many_or_withheld_cells_is_refused(town_workspace):
    request = request_from_text("town", rows=["sex"], columns=["age"])
    release = release_table(town_workspace.stored("town"), request)
    status = release.status.copy()
    status[0, 0] = WITHHELD
    with pytest.raises(BadRequest, match="withheld"):
        observe(replace(release, status=status))
    with pytest.raises(BadRequest, match="noise"):
        observe([[1, 2]])
    with pytest.raises(BadRequest, match=f"{MOST_CELLS:,}"):
        observe(np.zeros(MOST_CELLS + 1, dtype=int), NOISE)


def slow(released, noise, prior):
    terms = {
        n: prior(n) * chances(noise, n).get(released - n, 0)
        for n in range(max(0, released - 150), released + 150)
    }
    whole = sum(terms.values())
    return {n: t / whole for n, t in terms.items() if t > 0}


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 4, 20])
@pytest.mark.parametrize(
    ("prior", "distribution"),
    [
        (flat(), lambda n: 1.0),
        (poisson_prior(6.0), lambda n: poisson.pmf(n, 6.0)),
        (negative_binomial_prior(6.0, 2.0), lambda n: nbinom.pmf(n, 2.0, 2.0 / 8.0)),
    ],
    ids=["flat", "poisson", "negative binomial"],
)
def test_it_is_bayes_theorem(any_noise, released, prior, distribution):
    found = posterior(released, any_noise, prior)
    expected = slow(released, any_noise, distribution)
    assert found.counts.tolist() == sorted(expected)
    np.testing.assert_allclose(found.chances, [expected[n] for n in sorted(expected)], rtol=1e-9)
    assert found.prior == prior.name


def test_the_shortest_interval_has_its_chance(any_noise):
    found = posterior(15, any_noise)
    low, high = found.interval(0.8)
    assert found.chance_of(low, high) >= 0.8 - 1e-9
    shorter = [found.chance_of(s, s + high - low - 1) for s in range(low - 30, high + 30)]
    assert max(shorter) < 0.8


def test_a_released_zero_is_most_likely_a_zero_and_large_counts_have_the_moments_of_the_noise():
    zero = posterior(0, maxent(D=5, V=3, js=2))
    assert zero.mode == 0
    assert 0 < zero.chance_of(1, 5) < 1
    noise = laplace(epsilon=1.0, m=5)
    found = posterior(20, noise)
    assert (found.mean, found.mode) == (pytest.approx(20), 20)
    assert found.variance == pytest.approx(float(noise.row(20).variance()))


def test_priors_and_levels_without_meaning_are_refused():
    for make in (lambda: poisson_prior(0), lambda: negative_binomial_prior(1.0, -1.0)):
        with pytest.raises(BadRequest):
            make()
    with pytest.raises(BadRequest, match="level"):
        posterior(5, laplace(epsilon=1.0, m=3)).interval(1.0)
    nobody = Prior("nobody", lambda n: np.where(n == 0, 0.0, -np.inf))
    with pytest.raises(BadRequest, match="rules out"):
        posterior(50, laplace(epsilon=1.0, m=3), nobody)


def test_one_term_is_the_noise_table_and_an_impossible_count_is_refused():
    noise = laplace(epsilon=0.7, m=4)
    one, other = posterior(5, noise), posterior(5, SumDistribution(noise.rows[0], 1))
    assert one.counts.tolist() == other.counts.tolist() == list(range(1, 10))
    assert one.chances.tolist() == other.chances.tolist()
    with pytest.raises(BadRequest, match="cannot be released"):
        posterior(-5, noise)


def slow_sum(distributions, times):
    """The convolution, one by one, in fractions."""
    total = {0: Fraction(1)}
    for distribution, often in zip(distributions, times, strict=True):
        for _ in range(often):
            fresh: dict[int, Fraction] = {}
            for at, chance in total.items():
                for value, part in zip(
                    distribution.values.tolist(), distribution.chances.tolist(), strict=True
                ):
                    fresh[at + value] = fresh.get(at + value, Fraction(0)) + chance * Fraction(part)
            total = fresh
    return total


weights = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(lambda w: sum(w) > 0)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-6, 6), weights, st.integers(1, 4)), min_size=1, max_size=3))
def test_a_sum_is_the_convolution(parts):
    distributions = [Distribution(first, np.array(w) / sum(w)) for first, w, _ in parts]
    times = [often for _, _, often in parts]
    found = sum_distribution(distributions, times)
    expected = slow_sum(distributions, times)
    for value, chance in zip(found.values.tolist(), found.chances.tolist(), strict=True):
        assert chance == pytest.approx(float(expected.get(value, 0)), abs=1e-12)
    assert found.chances.sum() == pytest.approx(1, abs=1e-9)


def test_ten_thousand_coins_are_binomial():
    found = sum_distribution([Distribution(0, np.array([0.7, 0.3]))], [10_000])
    np.testing.assert_allclose(found.chances, binom.pmf(found.values, 10_000, 0.3), atol=1e-13)
    assert len(found.chances) < 2_000  # the window, not the whole range


def test_the_highest_value_that_is_not_rare():
    distribution = Distribution(0, np.array([0.9, 0.08, 0.02]))
    assert [distribution.upper_quantile(alpha) for alpha in (0.01, 0.05, 0.2)] == [2, 1, 0]
