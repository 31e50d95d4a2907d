"""The noise of a sum of cells: exact tails, bounds of them, and cells picked from a release under dp."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.errors import BadRequest
from discreet.inference.channel import Distribution
from discreet.inference.confidence_intervals import noise_sum as noise_sum_module
from discreet.inference.confidence_intervals.count_intervals import (
    cell_intervals,
    difference_interval,
    ratio_interval,
    share_interval,
    sum_interval,
)
from discreet.inference.confidence_intervals.noise_sum import CompositionTails, noise_sum
from discreet.inference.confidence_intervals.picked_cells import PickedCells, picked
from discreet.inference.confidence_intervals.tail_bounds import (
    PossibleRows,
    chernoff_bound,
    compositions,
    log_generating,
    number_of_compositions,
    possible_rows,
    worst_case_tails,
)
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE, keep_zero
from discreet.release.pipeline import release_table
from discreet.workspace.workspace import Workspace


def true_tail(counts, noise):
    """P(noise sum >= t) for the true counts, by convolution."""
    first, distribution = 0, np.ones(1)
    for n in counts:
        values, masses = noise.row(n).values, noise.row(n).masses()
        own = np.zeros(values[-1] - values[0] + 1)
        own[np.array(values) - values[0]] = np.array(masses) / noise.modulus
        first, distribution = first + values[0], np.convolve(distribution, own)
    return first + np.arange(distribution.size), distribution


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(0, 1), (5, 14, 9), (1, 1, 1, 1), (0, 3, 1, 2, 6, 1, 4, 9, 0, 2)])
def test_no_tail_of_the_true_noise_is_above_its_bound_whatever_is_released(any_noise, counts):
    if len(counts) > 4 and any_noise.family in {"hellinger", "exponential"}:
        pytest.skip("the bound takes seconds here, and is the same code")
    values, chances = true_tail(counts, any_noise)
    supports = [list(any_noise.row(n).values) for n in counts]
    rng = np.random.default_rng(0)
    draws = [tuple(rng.choice(s) for s in supports) for _ in range(3)]
    draws += [tuple(s[0] for s in supports), tuple(s[-1] for s in supports)]
    truth = np.array([sum(counts)])
    for draw in draws:
        found = noise_sum(np.add(counts, draw), any_noise)
        assert found.least <= sum(counts) <= found.most
        up = np.array([chances[values >= t].sum() for t in values])
        down = np.array([chances[values <= t].sum() for t in values])
        assert (found.up.at(truth, values) >= up - 1e-9).all()
        assert (found.down.at(truth, -values) >= down - 1e-9).all()


def test_one_row_for_all_counts_gives_the_exact_distribution():
    noise = laplace(epsilon=0.5, m=4)
    values, chances = true_tail((3, 8, 20), noise)
    found = noise_sum([3, 8, 20], noise)
    assert not found.by_sum
    assert not noise_sum([20, 40], NOISE).by_sum
    assert noise_sum([20, 3], NOISE).by_sum
    tails = np.cumsum(chances[::-1])[::-1]
    np.testing.assert_allclose(found.up.at(np.array([31]), values), tails, atol=1e-12)


def test_a_difference_is_a_sum_with_the_noise_of_the_others_turned_round():
    noise = maxent(D=5, V=3, js=2)
    one, other = noise_sum([4, 30], noise, minus=[7]), noise_sum([7], noise, minus=[4, 30])
    assert (one.released, one.least, one.most) == (27, -other.most, -other.least)
    sums, values = np.arange(one.least, one.most + 1)[:, None], np.arange(-9, 10)
    np.testing.assert_allclose(one.up.at(sums, values), other.down.at(-sums, values), atol=1e-12)


def test_noise_that_is_tied_to_the_sum_is_less_than_noise_that_is_not():
    """Four released zeros with a true sum of 1 hold one person: at most one cell of the four has noise."""
    found = noise_sum([0] * 4, maxent(D=5, V=3, js=2))
    one, many = (found.up.at(np.array([s]), np.array([6]))[0] for s in (1, 8))
    assert one == 0
    assert many > 0.01


def slow_sums_of_kept_zeros(noise, cells, alpha):
    """The sums s that some number k of cells with noise allows: P(T_k >= -s) and P(T_k <= -s) above alpha."""
    row = noise.row(1).probabilities()
    one = np.array([float(row[z]) for z in sorted(row)])
    reach, distribution, up, down = max(row), np.ones(1), {}, {}
    for k in range(cells + 1):
        for s in range(k, reach * k + 1):
            at = reach * k - s
            up[s] = max(up.get(s, 0.0), distribution[at:].sum())
            down[s] = max(down.get(s, 0.0), distribution[: at + 1].sum())
        distribution = np.convolve(distribution, one)
    return [s for s in up if up[s] > alpha and down[s] > alpha]


@pytest.mark.parametrize("cells", [4, 60, 200])
def test_many_zeros_that_may_be_kept_have_the_sums_of_the_slow_inversion(cells):
    """A bound that holds for all compositions at once gives three times the width for 400 zeros."""
    noise = keep_zero(laplace(epsilon=0.5, m=7))
    kept = noise_sum([0] * cells, noise).confidence_set(0.05)
    slow = slow_sums_of_kept_zeros(noise, min(cells, 60), 0.05)
    assert (kept[0], kept[-1]) == (slow[0], slow[-1])
    if cells == 200:
        up, _ = noise_sum_module._tails(
            [*possible_rows([0] * cells, noise)], Distribution(0, np.ones(1)), (0, 0), 0
        )
        assert isinstance(up, CompositionTails)


def test_tails_that_are_looked_up_are_those_of_the_table_of_all_sums():
    cells = [*possible_rows([0, 0, 4, 5], maxent(D=5, V=3, js=2))]
    given = cells, Distribution(-1, np.array([0.2, 0.5, 0.3])), (3, 9)
    sums, values = np.arange(3, 40)[:, None], np.arange(-25, 26)
    pairs = zip(
        noise_sum_module._tails_by_sum(*given), noise_sum_module._tails_by_composition(*given), strict=True
    )
    for table, looked_up in pairs:
        inside = (sums >= looked_up.least.min()) & (sums <= looked_up.most.max())
        np.testing.assert_array_equal(
            np.where(inside, table.at(sums, values), 0), np.where(inside, looked_up.at(sums, values), 0)
        )


def test_very_many_cells_get_a_bound_in_little_time():
    """The bound for 200,000 cells is not 200,000 times the worst bias, but a multiple of the deviation."""
    noise = maxent(D=5, V=3, js=2)
    found = noise_sum([0, 3, 4, 5] * 50_000, noise)
    kept = found.confidence_set(0.025)
    deviation = np.sqrt(3 * 200_000)
    assert 1.9 * deviation < found.released - kept[0] < 3 * deviation


NOISE = maxent(D=5, V=3, js=2)


def test_every_vector_of_possible_counts_has_its_distribution_among_the_compositions():
    cells = [*possible_rows([0, 0, 4], NOISE)]
    found = compositions(cells)
    known = {
        distribution.round(10).tobytes(): (low, high)
        for distribution, low, high in zip(found.distributions, found.least, found.most, strict=True)
    }
    assert len(known) == len(found.distributions) <= number_of_compositions(cells)
    values = range(cells[0].first, cells[0].last + 1)
    for counts in product((0, 1, 3), (0, 2), (1, 5, 8)):
        distribution = np.ones(1)
        for n in counts:
            distribution = np.convolve(
                distribution, [float(NOISE.row(n).probabilities().get(z, 0)) for z in values]
            )
        close = [
            r for r, other in enumerate(found.distributions) if np.allclose(distribution, other, atol=1e-12)
        ]
        assert len(close) == 1
        assert found.least[close[0]] <= sum(counts) <= found.most[close[0]]


def test_small_chances_are_right_in_themselves():
    """The least chance, of all cells at the rarest noise, is a product; a transform leaves rounding of 1e-17 there."""
    noise, cells = maxent(D=8, V=3, js=0), 8
    found = compositions([*possible_rows([8] * cells, noise)])
    row = noise.row(16).probabilities()
    one = np.array([float(row.get(z, 0)) for z in range(-8, 9)])
    exact = float(row[-8]) ** cells
    assert exact < 1e-20
    same = min(range(len(found.distributions)), key=lambda at: abs(found.distributions[at, 0] / exact - 1))
    assert np.isclose(found.distributions[same, 0], exact, rtol=1e-12, atol=0)
    transformed = np.fft.irfft(np.fft.rfft(one, 256) ** cells, 256)
    assert not np.isclose(transformed[0], exact, rtol=1e-2, atol=0)


def tail(distribution, t):
    if t > distribution.last:
        return 0.0
    return 1.0 if t <= distribution.first else float(distribution.at_least()[t - distribution.first])


def test_chernoff_is_above_every_mixture_of_rows():
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    bound = chernoff_bound([PossibleRows(-1, distributions, np.array([0, 1]), np.array([0, 1]), 4)])
    for rows in product((0, 1), repeat=4):
        distribution = np.array([1.0])
        for row in rows:
            distribution = np.convolve(distribution, distributions[row])
        for t in range(-4, 5):
            assert tail(bound, t) >= distribution[t + 4 :].sum() - 1e-12


def test_generating_functions_never_underflow_to_less():
    distributions = np.zeros((1, 4001))
    distributions[0, :2] = 0.5
    found = log_generating(distributions, -2000)
    assert np.isfinite(found).all()
    tilts = np.geomspace(1e-5, 20.0, 240)
    exact = -2000 * tilts + np.log(0.5 + 0.5 * np.exp(tilts))
    assert (found >= exact - 1e-6).all()


NONE = Distribution(0, np.ones(1))


def test_the_opponent_does_no_less_than_any_true_table():
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    cells = [PossibleRows(-1, distributions, np.array([1, 2, 0]), np.array([1, 3, 0]), 5)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 6 - sums)
    values = np.arange(-5, 6)
    for counts in product((0, 1, 2, 3), repeat=5):
        distribution = np.ones(1)
        for n in counts:
            distribution = np.convolve(distribution, distributions[(2, 0, 1, 1)[n]])
        true = np.cumsum(distribution[::-1])[::-1]
        assert (found.at(np.array([sum(counts)]), values) >= true - 1e-12).all()


def test_tilts_tie_the_noise_to_the_sum():
    """Forty released zeros: a small sum leaves most of them empty, and empty cells have no noise."""
    cells = [*possible_rows([0] * 40, maxent(D=5, V=3, js=2))]
    reflected = [rows.mirror_noise() for rows in cells]
    found = worst_case_tails(reflected, NONE, (0, 0), lambda sums: sums)
    assert found.at(np.array([15]), np.array([15]))[0] < 0.01
    untied = found.tails[found.tilts == 0][0, 15 - found.first]
    assert untied > 0.1


def test_a_bound_that_would_take_too_long_is_not_made():
    cells = [*possible_rows([0, 3, 4, 5] * 50_000, maxent(D=5, V=3, js=2))]
    assert worst_case_tails(cells, NONE, (0, 0), lambda sums: sums) is None


def test_a_strong_tilt_says_nothing_of_sums_whose_weight_underflows():
    """A wrong alternative: 0 times a large weight would call every tail of a large sum impossible."""
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    cells = [PossibleRows(-1, distributions, np.array([0, 400]), np.array([0, 400]), 4)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 0 * sums)
    assert found.at(np.array([1600]), np.array([4]))[0] >= 0.5**4


#: The chance that a test of coverage fails although the coverage is nominal.
FALSE_ALARM = 1e-5
ONE, OTHER = (laplace(epsilon=e, modulus=2**64).rows[0] for e in (0.3, 0.08))
DISTRIBUTIONS = (SumDistribution(ONE, 1), SumDistribution(ONE, 5), SumDistribution(OTHER, 2), NO_NOISE)


def drawn(counts, distributions, rng):
    """Cells whose noise is drawn term by term from the rows themselves."""
    noise = [
        0
        if distribution is NO_NOISE
        else rng.choice(
            distribution.row.values,
            distribution.terms,
            p=np.array(distribution.row.masses()) / distribution.row.modulus,
        ).sum()
        for distribution in distributions
    ]
    return PickedCells(counts + np.array(noise, dtype=int), distributions)


def test_the_distribution_of_a_sum_is_the_convolution_of_its_cells():
    found = noise_sum(PickedCells(np.array([5, 6, 7, 8]), DISTRIBUTIONS))
    assert not found.by_sum
    assert found.released == 26
    slow = np.array([1.0])
    for distribution in DISTRIBUTIONS[:3]:
        slow = np.convolve(slow, distribution.distribution()[1])
    values = sum(distribution.distribution()[0] for distribution in DISTRIBUTIONS[:3]) + np.arange(len(slow))
    tails = np.cumsum(slow[::-1])[::-1]
    np.testing.assert_allclose(found.up.at(np.array([26]), values), tails, atol=1e-11)


@pytest.mark.slow
def test_intervals_cover_enough_and_shorter_ones_do_not():
    rng = np.random.default_rng(20)
    level, draws = 0.8, 100
    one, two = np.array([90, 400, 60, 35]), np.array([300, 250, 500, 10])
    hits = dict.fromkeys(("sum", "shorter", "difference", "share", "ratio"), 0)
    for _ in range(draws):
        a, b = drawn(one, DISTRIBUTIONS, rng), drawn(two, DISTRIBUTIONS, rng)
        total = sum_interval(a, level=level)
        share = share_interval(a, rest=b, level=level)
        between = difference_interval(a, b, level=level)
        ratio = ratio_interval(a, b, level=level)
        hits["sum"] += total.low <= one.sum() <= total.high
        hits["shorter"] += total.low + 12 <= one.sum() <= total.high - 12
        hits["difference"] += between.low <= one.sum() - two.sum() <= between.high
        hits["share"] += share.low <= one.sum() / (one.sum() + two.sum()) <= share.high
        hits["ratio"] += ratio.low <= one.sum() / two.sum() <= ratio.high
    for name, number in hits.items():
        p_value = binomtest(number, draws, level, alternative="less").pvalue
        assert (p_value > FALSE_ALARM) == (name != "shorter"), (name, number)


def test_wide_noise_has_the_intervals_that_narrow_noise_has_count_by_count():
    """The short way for one wide distribution covers exactly enough, and half a step less does not."""
    distribution = SumDistribution(laplace(epsilon=0.01, modulus=2**64).rows[0], 1)
    values = np.array(distribution.row.values)
    chances = distribution.distribution()[1]
    low, high = cell_intervals(2000 + values[np.abs(values) < 2500], distribution, 0.9)
    inside = (low <= 2000) & (high >= 2000)
    covered = chances[np.abs(values) < 2500][inside].sum()
    assert 0.9 - 1e-7 <= covered < 0.91
    assert cell_intervals([-2600], distribution)[0][0] == 0
    with pytest.raises(BadRequest, match="cannot be released"):
        cell_intervals([-9000], distribution)


@pytest.fixture
def by_area(private_town):
    stored = Workspace(private_town.folder).stored("town")
    groups = (("area", (("N1", "N2"), ("S1",), ("S2", "S3"))),)
    return release_table(stored, TableRequest("town", ("area",), ("sex",), groups=groups))


def test_cells_of_a_release_know_their_distributions(by_area):
    codes = by_area.dimensions[0].codes
    found = picked(by_area, (codes[0], "1"), (codes[1], "1"))
    table = by_area.distribution.margins[0][1]
    assert found.distributions == (SumDistribution(table.rows[0], 2), table)
    interval = sum_interval(found)
    assert interval.estimate == by_area.noisy[0, 0] + by_area.noisy[1, 0]
    assert interval.low < interval.estimate < interval.high
    longer = sum_interval(picked(by_area, *((code, "1") for code in codes[:3])))
    assert longer.high - longer.low > interval.high - interval.low


def test_cells_that_share_people_or_noise_are_refused(by_area):
    codes = by_area.dimensions[0].codes
    with pytest.raises(BadRequest, match="share people"):
        picked(by_area, (codes[0], "1"), (codes[0], "1"))
    with pytest.raises(BadRequest, match="share people"):
        picked(by_area, (codes[0], "1"), ("_T", "1"))
    part = picked(by_area, (codes[0], "1"))
    rest = picked(by_area, (codes[1], "1"), (codes[2], "1"))
    assert 0 < share_interval(part, rest=rest).low < share_interval(part, rest=rest).high < 1
    with pytest.raises(BadRequest, match="share people"):
        difference_interval(part, picked(by_area, (codes[0], "1")))


def test_a_total_may_be_the_whole_where_its_margin_has_noise_of_its_own_and_else_not(by_area):
    """Where no smaller margin is declared, the total is a sum of the very cells that it is compared with."""
    part, whole = picked(by_area, (by_area.dimensions[0].codes[0], "1")), picked(by_area, ("_T", "1"))
    assert (part.base[0][0], whole.base[0][0]) == (("area", "sex"), ("sex",))
    assert 0 < share_interval(part, whole=whole).low < share_interval(part, whole=whole).high < 1
    shared = replace(whole, base=((("area", "sex"), whole.base[0][1]),))
    with pytest.raises(BadRequest, match="give the rest in place of the whole"):
        share_interval(part, whole=shared)


def test_cells_that_are_not_there_or_not_released_are_refused(by_area):
    with pytest.raises(BadRequest, match="no cell"):
        picked(by_area, ("N9", "1"))
    status = by_area.status.copy()
    status[0, 0] = 1
    with pytest.raises(BadRequest, match="has no value"):
        picked(replace(by_area, status=status), (by_area.dimensions[0].codes[0], "1"))
    with pytest.raises(BadRequest, match="no count"):
        picked(by_area)
    with pytest.raises(BadRequest, match="no noise table"):
        sum_interval([3, 4])


def test_cells_of_a_table_and_cells_of_known_distributions_are_added_up_together():
    """No protection makes such cells today; the sum of both kinds has the distributions of both, one after the other."""
    table, other = maxent(D=4, V=2, js=1), SumDistribution(ONE, 2)
    found = noise_sum(PickedCells(np.array([3, 40, 60]), (table, other, table)))
    parts = noise_sum([3, 60], table), noise_sum(PickedCells(np.array([40]), (other,)))
    assert found.released == 103
    assert found.by_sum
    for name in ("least", "most", "error"):
        assert getattr(found, name) == sum(getattr(part, name) for part in parts)
    values, t = np.arange(-40, 41), np.arange(-60, 61)
    own = -np.diff(parts[1].up.at(np.array([40]), np.append(values, 41)))
    for total in (103, 95):
        slow = max(
            (own * parts[0].up.at(np.array([a]), 5 - values)).sum()
            for a in range(parts[0].least, parts[0].most + 1)
        )
        assert found.up.at(np.array([total]), np.array([5]))[0] <= slow + 1e-9
    assert (np.diff(found.up.at(np.array([103]), t)) <= 1e-12).all()
