"""Intervals by the normal distribution: of weighted tables of 0.2.0, from printed numbers, and of joint cells.

Intervals of sums, differences, shares and ratios of joint cells cover the truth as often as they say.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest

import discreet
from discreet.errors import BadRequest
from discreet.inference import independence_test, picked
from discreet.inference.confidence_intervals import normal_intervals as weighted_interval
from discreet.inference.confidence_intervals.normal_intervals import BoundedEstimate, total_limits
from discreet.inference.confidence_intervals.table_intervals import interval_of
from discreet.model.release import NOT_APPLICABLE
from discreet.model.request import request_from_text
from discreet.records.tabulate import tabulate
from discreet.release.pipeline import release_table
from discreet.survey.sampling_error import relative_errors
from discreet.survey.variance import design_effects, effect_steps

TOML = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"

[[variable]]
name = "job"
categories = ["a", "b", "c", "d"]

[survey]
sample_size = 1000
population_size = 100000
largest_weight = 100
"""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory, errors_of_0_2_0):
    import pandas as pd

    folder = tmp_path_factory.mktemp("weighted")
    (folder / "dataset.toml").write_text(TOML)
    jobs = np.repeat(["a", "b", "c"], [700, 290, 10])
    frame = pd.DataFrame({"id": range(1000), "job": jobs, "w": np.full(1000, 100)})
    with errors_of_0_2_0():
        discreet.load(folder / "w", folder / "dataset.toml", frame)
    with discreet.open(folder / "w") as opened:
        yield opened


def test_the_limits_solve_their_quadratic_and_stay_above_zero():
    for total in total_limits(1000, 0.2, 1.96):
        assert (1000 - total) ** 2 == pytest.approx((1.96 * 0.2) ** 2 * 1000 * total)
    assert total_limits(10, 10, 1.96)[0] > 0


def test_a_weighted_table_has_intervals_of_printed_numbers(catalogue):
    table = catalogue.table("s", rows=["job"], measure="weighted")
    found = table.interval("b")
    data = table.to_pandas().set_index("job").loc["b"]
    assert (found.low, found.high) == pytest.approx(
        total_limits(float(data["value"]), data["relative_standard_error"] / 100, 1.959964), rel=1e-6
    )
    assert found.low < 29_000 < found.high
    assert table.interval("b", level=0.5).high < found.high


def test_a_cell_that_is_unreliable_has_an_interval_and_one_without_error_has_none(catalogue):
    table = catalogue.table("s", rows=["job"], measure="weighted")
    assert table.interval("c").high > 2 * table.interval("c").estimate * 0.6
    with pytest.raises(BadRequest, match="no separate relative standard error"):
        table.interval("d")


def test_numbers_that_were_changed_to_add_up_and_wrong_levels_are_refused(catalogue):
    with pytest.raises(BadRequest, match="changed to add up"):
        catalogue.table("s", rows=["job"], measure="weighted", additivity="fitted").interval("a")
    with pytest.raises(BadRequest, match="level"):
        catalogue.table("s", rows=["job"], measure="weighted").interval("a", level=95)


def spread(value, error):
    """An estimate with limits of no matter here."""
    return BoundedEstimate(value, error, value, value)


def linear(estimate, covariance, values):
    """The exact error of an estimate to first order, by its derivatives."""
    step = 1e-6 * values
    slopes = np.array(
        [
            (estimate(*(values + step * at)) - estimate(*(values - step * at))) / (2 * step[n])
            for n, at in enumerate(np.eye(len(values)))
        ]
    )
    return np.sqrt(slopes @ covariance @ slopes)


#: The same of numbers and of estimates with their errors.
FORMS = {
    "sum": (lambda a, b, c, d: a + b + c + d, lambda a, b, c, d: a + b + c + d),
    "difference": (lambda a, b, c, d: a + b - c - d, lambda a, b, c, d: a + b - (c + d)),
    "ratio": (lambda a, b, c, d: (a + b) / (c + d), lambda a, b, c, d: (a + b).over(c + d)),
    "share": (lambda a, b, c, d: a / (a + b + c + d), lambda a, b, c, d: a.share_with(b + c + d)),
    "difference of shares": (
        lambda a, b, c, d: a / (a + b) - c / (c + d),
        lambda a, b, c, d: a.share_with(b) - c.share_with(d),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_errors_are_never_below_the_exact_ones_whatever_the_correlation(form):
    """Exact: the covariance of four cells, to first order. Wrong: the root of the sum of squares, as if cells were
    independent, is below it for some of them."""
    rng, (exact_form, bounded_form) = np.random.default_rng(4), FORMS[form]
    below = 0
    for _ in range(300):
        values = rng.uniform(10, 1000, 4)
        errors = values * rng.uniform(0.005, 0.19, 4)
        factor = rng.normal(size=(4, rng.integers(1, 5)))
        factor /= np.sqrt((factor**2).sum(axis=1, keepdims=True))
        covariance = np.outer(errors, errors) * (factor @ factor.T)
        exact = linear(exact_form, covariance, values)
        found = bounded_form(*map(spread, values, errors))
        assert found.value == pytest.approx(exact_form(*values))
        assert found.error >= exact * (1 - 1e-6)
        below += linear(exact_form, np.diag(errors**2), values) < 0.99 * exact
    assert below > 50


def test_printed_errors_are_rounded_up_and_never_to_the_nearest_rung():
    assert spread(100, 12).interval(0.95).relative_standard_error == 15
    assert spread(-100, 12).interval(0.95).relative_standard_error == 15
    assert spread(100, 15).interval(0.95).relative_standard_error == 15
    for value, error in ((0, 5), (1, 11)):
        assert spread(value, error).interval(0.95).relative_standard_error is None


def test_a_base_with_a_large_error_divides_nothing(catalogue):
    assert spread(100, 25).as_base() == spread(100, 25)
    for base in (spread(100, 25.1), spread(0, 0)):
        with pytest.raises(BadRequest, match="base is too uncertain"):
            base.as_base()
    release = catalogue.table("s", rows=["job"], measure="weighted").release
    for asked in ({"over": ["job=c"]}, {"of": ["job=c", "job=a"]}, {"of": [{}]}):
        doubtful = replace(
            release,
            errors=np.array([300, 50, 300, 50, 300]),
            request=replace(release.request, filters=(("job", ("a",)),)),
        )
        with pytest.raises(BadRequest, match="base is too uncertain"):
            interval_of(doubtful, ["job=a"], **asked)


#: Clusters lie on one side, left or right, and have as many people of each of six kinds.
CLUSTERED = """
id = "c"
label = "C"
id_column = "id"
weight_column = "w"

[[variable]]
name = "side"
categories = ["l", "r"]

[[variable]]
name = "kind"
categories = ["a", "b", "c", "d", "e", "f"]

[survey]
sample_size = {size}
population_size = {population}
largest_weight = 50
clusters = "cluster"
"""


def clustered_columns(rng, clusters=60):
    sizes = rng.gamma(2.0, 4.0, clusters).astype(int) + 1
    cluster = np.repeat(np.arange(clusters), 6 * sizes)
    return {
        "id": np.arange(cluster.size),
        "side": np.where(cluster % 2, "l", "r"),
        "kind": np.tile(list("abcdef"), int(sizes.sum())),
        "cluster": cluster,
        "w": np.full(cluster.size, 50.0),
    }


@pytest.fixture(scope="module")
def clustered(tmp_path_factory, errors_of_0_2_0):
    import pyarrow as pa

    folder = tmp_path_factory.mktemp("clustered")
    columns = clustered_columns(np.random.default_rng(11))
    size = len(columns["id"])
    (folder / "dataset.toml").write_text(CLUSTERED.format(size=size, population=50 * size))
    with errors_of_0_2_0():
        discreet.load(folder / "w", folder / "dataset.toml", pa.table(columns))
    with discreet.open(folder / "w") as opened:
        yield opened


def test_the_result_is_a_function_of_printed_numbers_alone(clustered):
    """Two releases that print the same numbers get the same answers, and no function is given anything but a release.

    Wrong: errors made of the noisy counts, which differ here."""
    release = clustered.table("c", rows=["side"], columns=["kind"], measure="weighted").release
    other = replace(release, noisy=release.noisy + 7, digest="another", promise=())
    asked = [
        {"cells": ["side=l", "side=r"]},
        {"cells": ["side=l,kind=a"], "of": ["side=l"]},
        {"cells": ["side=l"], "over": ["side=r"]},
        {"cells": ["side=l"], "minus": ["side=r"]},
    ]
    assert [interval_of(release, **each) for each in asked] == [interval_of(other, **each) for each in asked]
    for name in ("estimate_sum", "estimate_share", "estimate_limits"):
        given = inspect.signature(getattr(weighted_interval, name)).parameters.values()
        assert {each.annotation for each in given} <= {
            "Release",
            "Sequence[Codes]",
            "Sequence[Codes] | None",
            "Codes",
            "float",
        }


def test_a_share_takes_the_better_of_its_whole_and_its_parts(clustered):
    """Of nine tenths of a whole: the error of the small rest, or that of the whole."""
    release = clustered.table("c", rows=["side"], measure="weighted").release
    known = replace(
        release,
        values=np.array([900, 100, 1010]),
        errors=np.array([100, 200, 50]),
        request=replace(release.request, filters=(("kind", ("a",)),)),
    )
    parts = interval_of(known, ["side=l"], of=["side=l", "side=r"])
    assert (parts.estimate, parts.relative_standard_error) == (0.9, 5)
    assert interval_of(known, ["side=l"], of=[{}]) == parts
    coarse = replace(known, errors=np.array([10, 750, 10]))
    by_whole = interval_of(coarse, ["side=l"], of=[{}])
    assert (by_whole.estimate, by_whole.relative_standard_error) == (pytest.approx(900 / 1010), 2)
    # Of everybody the declared number is taken: the error is that of the part.
    everybody = replace(coarse, request=release.request)
    size = float(release.dataset.survey.population_size)
    found = interval_of(everybody, ["side=l"], of=[{}])
    assert (found.estimate, found.relative_standard_error) == (900 / size, 1)


def test_cells_that_cannot_occur_are_exactly_zero_and_overlapping_sums_are_refused(clustered):
    release = clustered.table("c", rows=["side"], measure="weighted").release
    status = release.status.copy()
    status[1] = NOT_APPLICABLE
    empty = replace(release, status=status)
    assert interval_of(empty, ["side=l", "side=r"]) == interval_of(empty, ["side=l"])
    assert interval_of(empty, ["side=r"]).high == 0
    with pytest.raises(BadRequest, match="too uncertain"):
        interval_of(empty, ["side=l"], over=["side=r"])
    with pytest.raises(BadRequest, match="share people"):
        interval_of(release, ["side=l", {}])
    with pytest.raises(BadRequest, match="at once"):
        interval_of(release, ["side=l"], over=["side=r"], minus=["side=r"])


def test_all_cells_have_the_limits_of_each(clustered):
    table = clustered.table("c", rows=["side"], columns=["kind"], measure="weighted")
    frame = table.intervals().set_index(["side", "kind"])
    one = table.interval("l", "b")
    assert tuple(frame.loc[("l", "b"), ["low", "high"]]) == (np.floor(one.low), np.ceil(one.high))


#: The chance that the test fails by bad luck of its seed.
FALSE_ALARM = 1e-4


def test_intervals_cover_the_population_total_under_sampling_and_noise():
    """Many samples of a population with unequal weights and noise of variance 3; an interval of sampling error at half
    its size, the wrong alternative, is seen."""
    rng, runs = np.random.RandomState(12), 3000
    weights, chance = np.repeat([10.0, 60.0], 2000), 0.02
    inside = rng.random_sample((runs, 4000)) < chance
    total = (weights * chance).sum()
    counts, sums, squares = inside.sum(axis=1), inside @ weights, inside @ weights**2
    variance = 4000 / 3999 * (squares - sums**2 / 4000)
    noise = rng.choice([-3, -2, -1, 0, 1, 2, 3], runs, p=[0.09, 0.11, 0.15, 0.3, 0.15, 0.11, 0.09])
    noisy = counts + noise
    values = np.rint(sums * noisy / counts).astype(np.int64)
    effects = design_effects(variance, counts, sums, sums, noisy)
    told = relative_errors(noisy, values, effects, 3 * (values / noisy) ** 2).errors
    assert (told > 0).all()

    def coverage(shrunk):
        limits = [total_limits(float(v), shrunk * e / 1000, 1.96) for v, e in zip(values, told, strict=True)]
        return np.mean([low <= total <= high for low, high in limits])

    margin = 3.72 * (0.95 * 0.05 / runs) ** 0.5  # one-sided, FALSE_ALARM
    assert coverage(1.0) >= 0.95 - margin
    assert coverage(0.5) < 0.95 - margin


def cluster_samples(rng, runs, clusters=240):
    """The numbers and errors of many samples: four kinds of people, and all of them, in clusters that differ in size and
    composition; every person stands for 50. Also the errors of the noise alone, and the true totals."""
    means = np.array([0.4, 0.3, 0.2, 0.1])
    sizes = rng.gamma(3.0, 5.0, (runs, clusters, 1))
    people = rng.poisson(sizes * rng.dirichlet(3 * means, (runs, clusters)))
    people = np.concatenate([people, people.sum(axis=-1, keepdims=True)], axis=-1)
    counts, spread = people.sum(axis=1), people.var(axis=1, ddof=1) * clusters
    noise = rng.choice([-3, -2, -1, 0, 1, 2, 3], counts.shape, p=[0.09, 0.11, 0.15, 0.3, 0.15, 0.11, 0.09])
    noisy = counts + noise
    effects = design_effects(50.0**2 * spread, counts, 50.0 * counts, 50.0 * counts, noisy)
    rungs = effect_steps(effects, np.full(counts.shape, 0.5), rng.random(counts.shape))
    told, alone = (
        relative_errors(noisy, 50 * noisy, each, np.full(counts.shape, 2.8 * 50.0**2)).errors
        for each in (rungs, np.zeros(counts.shape))
    )
    return 50 * noisy, told, alone, 50 * clusters * 15 * np.append(means, 1.0)


def test_shares_and_differences_cover_the_population_and_intervals_of_the_noise_alone_do_not(catalogue):
    release = catalogue.table("s", rows=["job"], measure="weighted").release
    release = replace(release, request=replace(release.request, filters=(("job", ("a", "b", "c", "d")),)))
    runs, level = 300, 0.95
    values, told, alone, truth = cluster_samples(np.random.default_rng(5), runs)
    a, b, c, d, everybody = truth
    cells = ["job=a"]
    asked = {
        "share of parts": ({"cells": cells, "of": ["job=a", "job=b"]}, a / (a + b)),
        "share of a total": ({"cells": cells, "of": [{}]}, a / everybody),
        "ratio": ({"cells": cells, "over": ["job=b"]}, a / b),
        "sum": ({"cells": ["job=a", "job=b", "job=c"]}, a + b + c),
        "difference": ({"cells": cells, "minus": ["job=b"]}, a - b),
        "difference of shares": (
            {"cells": cells, "of": ["job=a", "job=b"], "minus": ["job=c"], "minus_of": ["job=c", "job=d"]},
            a / (a + b) - c / (c + d),
        ),
    }

    def chance(question, true, errors):
        hits = 0
        for value, error in zip(values, errors, strict=True):
            found = interval_of(replace(release, values=value.copy(), errors=error.copy()), **question)
            hits += found.low <= true <= found.high
        return binomtest(int(hits), runs, level, alternative="less").pvalue

    for name, (question, true) in asked.items():
        assert chance(question, true, told) > FALSE_ALARM, name
        assert chance(question, true, alone) < FALSE_ALARM, f"wrong: the noise alone ({name})"


#: That a coverage of 95 % looks lower than it is, over all quantities together.
FALSE_ALARM_JOINT_INTERVAL = 1e-6
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
    covariance = release.distribution.covariance(places)
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
    assert found[LEVEL] > FALSE_ALARM_JOINT_INTERVAL / len(QUANTITIES)
    assert found[0.9] < found[LEVEL]


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
    assert stats.binom.sf(rejected - 1, len(noise), 0.07) > FALSE_ALARM_JOINT_INTERVAL
