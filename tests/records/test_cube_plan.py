"""The plan of cubes: its bound holds, its choice is worth it, and it stays within its limit."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.records.cube_plan import (
    FEW,
    GAIN,
    plan_cubes,
    reduce_margin,
    rollup_variables,
    rows_at_most,
    tables_of,
)
from discreet.records.cubes import derivable_variables

RECORDS = 50_000_000


@pytest.fixture
def dataset(town):
    return parse_dataset(town.description)


def test_margins_leave_out_levels_that_finer_ones_tell(dataset):
    assert reduce_margin(dataset, ("sex", "region", "area")) == ("area", "sex")
    assert rollup_variables(dataset) == ("region", "sex", "age", "job")


def test_the_tables_are_all_of_up_to_so_many_variables_at_each_level(dataset):
    tables = tables_of(dataset, 1)
    assert {("sex",), ("area",), ("region", "job"), ("area", "job")} <= set(tables)
    assert not any(len(set(table) - {"region", "area"}) > 1 for table in tables)


def test_under_dp_they_are_the_declared_ones(private_description):
    private = parse_dataset(private_description)
    assert ("area", "sex", "age", "job") not in tables_of(private, 4)
    assert all(tables_of(private, 1))


@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_rows_stay_below_the_bound_on_average(dataset, skew):
    """The wrong alternative, K (1 - exp(-n / K)), is below the truth for equal chances: 7.6 of 10 cells for n = 14."""
    random, cells, people = np.random.RandomState(3), 120, 150
    chances = np.exp(-skew * np.arange(cells) / 20)
    drawn = random.choice(cells, (400, people), p=chances / chances.sum())
    mean = np.mean([np.unique(row).size for row in drawn])
    bound = rows_at_most(_Of(cells), ("a",), people)
    assert mean < bound + 0.5  # FALSE_ALARM below 1e-6: the mean of 400 has a standard deviation below 0.3
    assert bound <= cells


class _Of:
    """A dataset of one variable."""

    def __init__(self, categories):
        self._categories = categories

    def variable(self, _name):
        return range(self._categories)


def test_equal_chances_reach_the_bound():
    exact = 10 * (1 - 0.9**14)
    assert exact <= rows_at_most(_Of(10), ("a",), 14) < exact + 1
    assert 10 * (1 - np.exp(-1.4)) < exact


def test_a_plan_makes_every_table_fast_that_it_can(dataset):
    wide = replace(dataset)
    plan = plan_cubes(wide, RECORDS, 2, 10**9)
    covered = [
        table
        for table in tables_of(wide, 2)
        if any(set(table) <= derivable_variables(wide, cube.variables) for cube in plan)
    ]
    assert set(covered) == set(tables_of(wide, 2))
    assert all(cube.rows * GAIN <= RECORDS for cube in plan)
    assert len(plan) < len(covered), "one cube serves several tables"
    assert "times fewer" in plan[0].why


def test_a_plan_stays_within_its_limit_and_adds_nothing_that_is_there(dataset):
    first = plan_cubes(dataset, RECORDS, 2, 10**9)[0]
    assert plan_cubes(dataset, RECORDS, 2, first.bytes - 1) != plan_cubes(dataset, RECORDS, 2, 10**9)
    assert sum(cube.bytes for cube in plan_cubes(dataset, RECORDS, 2, 200)) <= 200
    assert plan_cubes(dataset, RECORDS, 2, 0) == ()
    everything = [(("area", "sex", "age", "job"), FEW)]
    assert plan_cubes(dataset, RECORDS, 2, 10**9, everything) == ()


def test_few_records_need_no_cube(dataset):
    assert plan_cubes(dataset, FEW, 2, 10**9) == ()
