"""Intervals of population totals: sampling and noise together."""

import numpy as np
import pytest

import discreet
from discreet.errors import BadRequest
from discreet.inference.weighted_interval import every_weighted_interval, total_limits, weighted_interval

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
def catalogue(tmp_path_factory):
    import pandas as pd

    folder = tmp_path_factory.mktemp("weighted")
    (folder / "dataset.toml").write_text(TOML)
    jobs = np.repeat(["a", "b", "c"], [700, 290, 10])
    discreet.load(
        folder / "w",
        folder / "dataset.toml",
        pd.DataFrame({"id": range(1000), "job": jobs, "w": np.full(1000, 100)}),
    )
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


def test_all_limits_at_once_are_those_of_each_cell(catalogue):
    release = catalogue.table("s", rows=["job"], measure="weighted").release
    low, high = every_weighted_interval(release, 0.9)
    for place in range(release.cells):
        try:
            one = weighted_interval(release, (place,), 0.9)
        except BadRequest:
            assert np.isnan(low[place])
            assert np.isnan(high[place])
        else:
            assert (low[place], high[place]) == (one.low, one.high)
    assert np.isnan(low).sum() < release.cells
    with pytest.raises(BadRequest, match="The level is 0"):
        every_weighted_interval(release, 0)


def test_a_cell_that_is_unreliable_has_an_interval_and_one_without_error_has_none(catalogue):
    table = catalogue.table("s", rows=["job"], measure="weighted")
    assert table.interval("c").high > 2 * table.interval("c").estimate * 0.6
    with pytest.raises(BadRequest, match="no relative standard error"):
        table.interval("d")


def test_numbers_that_were_changed_to_add_up_and_wrong_levels_are_refused(catalogue):
    with pytest.raises(BadRequest, match="of its own"):
        catalogue.table("s", rows=["job"], measure="weighted", additivity="fitted").interval("a")
    with pytest.raises(BadRequest, match="level"):
        catalogue.table("s", rows=["job"], measure="weighted").interval("a", level=95)


#: The chance that the test fails by bad luck of its seed.
FALSE_ALARM = 1e-4


def test_intervals_cover_the_population_total_under_sampling_and_noise():
    """Many samples of a population with unequal weights and noise of variance 3; an interval of sampling error at half
    its size, the wrong alternative, is seen."""
    from discreet.survey.design_effect import design_effects
    from discreet.survey.sampling_error import errors_told

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
    told = errors_told(noisy, values, effects, 3 * (values / noisy) ** 2).errors
    assert (told > 0).all()

    def coverage(shrunk):
        limits = [total_limits(float(v), shrunk * e / 1000, 1.96) for v, e in zip(values, told, strict=True)]
        return np.mean([low <= total <= high for low, high in limits])

    margin = 3.72 * (0.95 * 0.05 / runs) ** 0.5  # one-sided, FALSE_ALARM
    assert coverage(1.0) >= 0.95 - margin
    assert coverage(0.5) < 0.95 - margin
