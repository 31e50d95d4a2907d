"""Intervals of sums, differences, shares and ratios of joint cells cover the truth as often as they say."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.inference import independence_test, picked
from discreet.inference.cell_targets import every_interval, interval_of
from discreet.model.request import request_from_text
from discreet.records.tabulate import tabulate

#: That a coverage of 95 % looks lower than it is, over all quantities together.
FALSE_ALARM = 1e-6
DRAWS, LEVEL = 4000, 0.95
QUANTITIES = {
    "cell": {"cells": ["area=S1,sex=2"]},
    "total": {"cells": ["sex=2"]},
    "sum": {"cells": ["area=N1,sex=1", "area=S2,sex=1", "area=S3,sex=2"]},
    "difference": {"cells": ["area=N1"], "minus": ["area=S1"]},
    "part and whole": {"cells": ["sex=1"], "minus": ["area=N1,sex=1"]},
    "share": {"cells": ["area=S1,sex=1"], "of": ["area=S1"]},
    "share of parts": {"cells": ["area=S1,sex=1"], "of": ["area=S1,sex=1", "area=S2,sex=1"]},
    "ratio": {"cells": ["sex=2"], "over": ["sex=1"]},
}


@pytest.fixture(scope="module")
def stored(joint_workspace):
    return joint_workspace.stored("town")


@pytest.fixture(scope="module")
def release(stored):
    return release_table(stored, request_from_text("town", rows=["area"], columns=["sex"]))


@pytest.fixture(scope="module")
def draws(stored, release):
    """The table released many times: the true counts with noise of the stated covariances."""
    from discreet.model.request import canonical
    from discreet.model.shape import table_shape

    shape = table_shape(canonical(release.request, stored.dataset), stored.dataset)
    true = tabulate(stored.engine, shape).counts
    places = list(np.ndindex(*true.shape))
    covariance = release.law.covariance(places)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    noise = np.random.default_rng(14).normal(size=(DRAWS, len(places))) @ root.T
    return true, true + noise.reshape(DRAWS, *true.shape)


def truth(true, release, quantity):
    exact = replace(release, unrounded=true.astype(float), noisy=true, values=true)
    return interval_of(exact, level=LEVEL, **quantity).estimate


@pytest.mark.slow
@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES)
def test_intervals_cover(release, draws, quantity):
    """Wrong alternative: 90 % intervals that are called 95 %."""
    true, drawn = draws
    wanted = truth(true, release, quantity)
    few = drawn[:600]
    found = {}
    for level in (LEVEL, 0.9):
        hits = 0
        for unrounded in few:
            shown = np.rint(unrounded).astype(np.int64)
            one = interval_of(
                replace(release, unrounded=unrounded, noisy=shown, values=shown), level=level, **quantity
            )
            hits += one.low <= wanted <= one.high
        found[level] = stats.binom.cdf(hits, len(few), LEVEL)
    assert found[LEVEL] > FALSE_ALARM / len(QUANTITIES)
    assert found[0.9] < found[LEVEL]


@pytest.mark.slow
def test_every_cell_is_covered_by_itself(release, draws):
    true, drawn = draws
    shown = np.rint(drawn).astype(np.int64)
    inside = np.zeros(true.shape)
    for table in shown[:600]:
        low, high = every_interval(replace(release, noisy=table, values=table), LEVEL)
        inside += (low <= true) & (true <= high)
    assert (stats.binom.cdf(inside, 600, LEVEL) > FALSE_ALARM / true.size).all()


def test_cells_taken_for_independent_would_not_cover(release):
    """A whole less its part: independent noise would make it wider than both, and it is narrower."""
    one = interval_of(release, ["sex=1"], minus=["area=N1,sex=1"])
    whole, part = interval_of(release, ["sex=1"]), interval_of(release, ["area=N1,sex=1"])
    apart = np.hypot(whole.high - whole.low, part.high - part.low)
    assert one.high - one.low < 0.95 * apart
    with pytest.raises(BadRequest, match="share noise"):
        picked(release, ("N1", "1"), ("S1", "1"))
    with pytest.raises(BadRequest, match="share people"):
        interval_of(release, ["sex=1", "area=N1,sex=1"])
    with pytest.raises(BadRequest, match="level"):
        interval_of(release, ["sex=1"], level=1.5)


@pytest.mark.slow
def test_a_test_of_independence_keeps_its_size(release, draws):
    """Counts of independent variables with joint noise are rejected at most as often as is said."""
    rng = np.random.default_rng(15)
    true, drawn = draws
    noise = (drawn - true)[:60]
    margins = np.outer(true[:-1, -1], true[-1, :-1]) / true[-1, -1]
    rejected = 0
    for each in noise:
        table = rng.poisson(margins)
        whole = np.zeros(true.shape)
        whole[:-1, :-1] = table + each[:-1, :-1]
        shown = np.rint(whole).astype(np.int64)
        rejected += independence_test(replace(release, noisy=shown, values=shown)).p_value < 0.05
    assert stats.binom.sf(rejected - 1, len(noise), 0.07) > FALSE_ALARM
