"""Sums, shares, differences and ratios of cells under `dp`: covered often enough, and never from noise that is shared."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import (
    cell_intervals,
    difference_interval,
    ratio_interval,
    share_interval,
    sum_interval,
)
from discreet.inference.confidence_intervals.noise_sum import noise_sum
from discreet.inference.confidence_intervals.picked_cells import PickedCells, picked
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE
from discreet.release.pipeline import release_table
from discreet.workspace.workspace import Workspace

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
