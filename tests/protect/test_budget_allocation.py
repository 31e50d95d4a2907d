"""Spreading a budget: the paper's shares and standard deviations, and the optimum against enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.model.universe import contains, margin_cells, parse_universe
from discreet.noise import laplace
from discreet.noise.cell_distribution import SumDistribution
from discreet.protect import budget_allocation as allocation

from .conftest import dataset_of


def test_rinott_s_important_tables_get_a_third_and_the_others_a_fifteenth():
    """Section 7: income x education and the interior with E/3 each, the other five with E/15."""
    dataset = dataset_of(income=4, education=3, ethnicity=5)
    everything = ["income", "education", "ethnicity"]
    entry = {
        "variables": everything,
        "up_to": 3,
        "importance": [{"table": ["income", "education"], "weight": 5}, {"table": everything, "weight": 5}],
    }
    universe = parse_universe(entry, dataset, known_total=True)
    shares = allocation.allocate_by_importance({m: universe.weight(m) for m in universe.margins}, Fraction(1))
    assert len(shares) == 7
    assert shares[("education", "income")] == shares[("education", "ethnicity", "income")] == Fraction(1, 3)
    assert [share for share in shares.values() if share != Fraction(1, 3)] == [Fraction(1, 15)] * 5
    assert sum(shares.values()) == 1


def test_section_7_s_standard_deviations_come_out():
    """Printed: 14/eps, 8.5/eps, 21/eps for the two-way margins of a 10^4 table; the total counts in ours."""
    paper = allocation.margin_advice([10] * 4, 2, total_noised=False)
    assert paper.sums == pytest.approx(math.sqrt(200))
    assert paper.own == pytest.approx(6 * math.sqrt(2))
    assert paper.everything == pytest.approx(15 * math.sqrt(2))
    assert (round(paper.sums), round(paper.own, 1), round(paper.everything)) == (14, 8.5, 21)
    ours = allocation.margin_advice([10] * 4, 2, epsilon=2.0, changes=2)
    assert ours.everything == pytest.approx(16 * math.sqrt(2))
    with pytest.raises(BadRequest, match="do not exist"):
        allocation.margin_advice([2, 2], 3)


def test_unequal_variables_are_averaged_over_all_margins():
    lengths = [2, 3, 5, 7]
    summed = [math.prod(lengths) / math.prod(pair) for pair in itertools.combinations(lengths, 2)]
    assert allocation.margin_advice(lengths, 2).sums == pytest.approx(
        math.sqrt(2 * sum(summed) / len(summed))
    )


@pytest.mark.parametrize("terms", [1, 2, 7, 40])
def test_unit_errors_are_the_limits_of_the_shipped_distribution(terms):
    epsilon = 0.01
    distribution = SumDistribution(laplace(epsilon=epsilon, modulus=2**64).rows[0], terms)
    assert epsilon**2 * float(distribution.variance) == pytest.approx(
        allocation.unit_error(terms, "variance", "epsilon"), rel=1e-4
    )
    first, chances = distribution.distribution()
    assert epsilon * np.abs(first + np.arange(len(chances))) @ chances == pytest.approx(
        allocation.unit_error(terms, "absolute", "epsilon"), rel=1e-4
    )


def total_error(shares, workload, dataset, measure):
    """The workload's error under a spread, each table answered by its best margin."""
    power, total = allocation.error_power(measure, "epsilon"), 0.0
    for query in workload:
        total += query.weight * min(
            allocation.unit_error(
                margin_cells(m, dataset) / margin_cells(query.margin, dataset), measure, "epsilon"
            )
            / float(share) ** power
            for m, share in shares.items()
            if contains(m, query.margin, dataset)
        )
    return total


@pytest.mark.parametrize("measure", ["variance", "absolute"])
@pytest.mark.parametrize("lengths", [{"a": 2, "b": 3}, {"a": 10, "b": 10}, {"a": 2, "b": 2, "c": 50}])
def test_the_optimum_is_the_best_of_all_assignments(lengths, measure):
    """Every way to let margins answer tables, each with its best spread by the closed form."""
    dataset = dataset_of(**lengths)
    universe = parse_universe({"variables": list(lengths), "up_to": 2}, dataset)
    workload = [allocation.Query(m, 1.0 + n) for n, m in enumerate(universe.declared)]
    power = allocation.error_power(measure, "epsilon")
    options = [
        [
            (
                m,
                q.weight
                * allocation.unit_error(
                    margin_cells(m, dataset) / margin_cells(q.margin, dataset), measure, "epsilon"
                ),
            )
            for m in universe.margins
            if contains(m, q.margin, dataset)
        ]
        for q in workload
    ]
    best = math.inf
    for answers in itertools.product(*options):
        totals = {}
        for margin, cost in answers:
            totals[margin] = totals.get(margin, 0.0) + cost
        best = min(best, sum(t ** (1 / (power + 1)) for t in totals.values()) ** (power + 1))
    shares = allocation.allocate_for_workload(
        workload, universe.margins, dataset, Fraction(1), measure=measure
    )
    assert sum(shares.values()) == 1
    assert total_error(shares, workload, dataset, measure) == pytest.approx(best, rel=1e-6)


def test_rinott_s_two_way_workload_is_best_served_by_two_way_margins():
    """And by equal shares, 8.5/eps each; interior cells alone would give 14/eps."""
    dataset = dataset_of(a=10, b=10, c=10, d=10)
    universe = parse_universe({"variables": ["a", "b", "c", "d"], "up_to": 4}, dataset)
    workload = [allocation.Query(m, 1.0) for m in universe.declared if len(m) == 2]
    shares = allocation.allocate_for_workload(workload, universe.margins, dataset, Fraction(1))
    assert {len(m) for m in shares} == {2}
    assert all(float(s) == pytest.approx(1 / 6, rel=1e-6) for s in shares.values())
    small = dataset_of(a=2, b=2, c=2, d=2)
    shares = allocation.allocate_for_workload(workload, universe.margins, small, Fraction(1))
    assert list(shares) == [("a", "b", "c", "d")]


def test_a_workload_that_no_margin_answers_is_refused():
    dataset = dataset_of(a=2, b=2)
    with pytest.raises(BadRequest, match="workload"):
        allocation.allocate_for_workload([allocation.Query(("a", "b"), 1.0)], [("a",)], dataset, Fraction(1))
    with pytest.raises(BadRequest, match="no measure of error"):
        allocation.error_power("median", "epsilon")


def test_an_optimum_that_would_take_hours_is_refused():
    dataset = dataset_of(a=2)
    with pytest.raises(BadRequest, match="searched for up to 600"):
        allocation.allocate_for_workload(
            [allocation.Query(("a",), 1.0)], [("a",)] * 601, dataset, Fraction(1)
        )
