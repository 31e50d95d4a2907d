import math

import numpy as np
import pytest

from discreet.errors import BadRequest, InfeasibleDesign, TooManyCells
from discreet.margins.bases import FourierTransform
from discreet.margins.holistic import Holistic, round_half_up
from discreet.margins.integer_noise import SeededNoise
from discreet.margins.margin_set import MarginSet, margin_table, margin_tables

from .conftest import Z
from .test_bases import dense
from .test_linear_program import slow_deviation


def test_the_published_scale_says_what_epsilon_it_really_gives(papers):
    journey = Holistic(papers["journey"][1], "efron-stein", 2.0, "replace-one", as_published=True)
    assert journey.true_epsilon == pytest.approx(2 * 2.625 / 1.3203125)
    assert Holistic(papers["journey"][1], "efron-stein", 2.0).true_epsilon == 2.0
    assert Holistic(papers["czech"][1], "fourier", 1.0, as_published=True).true_epsilon == 0.5


@pytest.mark.parametrize("name", ["edwards", "journey"])
def test_what_comes_out_is_a_whole_table_with_its_own_margins(papers, name):
    table, wanted = papers[name]
    plan = Holistic(wanted, "fourier" if wanted.is_binary else "efron-stein", 1.0)
    released = plan.release(margin_tables(table.counts, wanted), SeededNoise(2))
    assert released.table.min() >= 0
    assert released.sample_size == released.table.sum()
    for margin, counts in released.margins.items():
        assert np.array_equal(counts, margin_table(released.table, margin))


@pytest.fixture(scope="module")
def czech_releases(papers):
    """80 releases at epsilon 1."""
    table, wanted = papers["czech"]
    exact, source = margin_tables(table.counts, wanted), SeededNoise(12)
    plan = Holistic(wanted, "fourier", 1.0, as_published=True)
    return [plan.release(exact, source) for _ in range(80)]


@pytest.mark.slow
def test_on_czech_at_epsilon_one_the_sample_size_varies_as_the_noise_on_the_total(papers, czech_releases):
    """Czech is dense: the program hardly moves the total, whose noise is discrete Laplace of scale 44."""
    sizes = np.array([each.sample_size for each in czech_releases]) - papers["czech"][0].total
    spread = sizes.std() / math.sqrt(len(sizes))
    assert abs(sizes.mean()) < Z * spread + 3  # rounding 64 cells adds a little
    distance = np.abs(sizes)
    expected, off = 1 / math.sinh(1 / 44), distance.std() / math.sqrt(len(sizes))
    assert abs(distance.mean() - expected) < Z * off
    assert abs(distance.mean() - 2.5 * expected) > Z * off


@pytest.mark.slow
def test_on_czech_at_epsilon_one_infeasible_programs_are_as_frequent_as_in_a_plain_simulation(
    papers, czech_releases
):
    table, wanted = papers["czech"]
    ours, rng, runs = np.array([each.lp_b for each in czech_releases]), np.random.default_rng(6), 80
    matrix = dense(FourierTransform(wanted))
    truth = matrix @ table.counts.ravel()
    plain = np.array([slow_deviation(matrix, truth + rng.laplace(0, 5.5, 22))[0] for _ in range(runs)])
    pooled = ((ours > 1e-6).mean() + (plain > 1e-6).mean()) / 2
    spread = math.sqrt(2 * max(pooled * (1 - pooled), 0.02) / runs)
    assert abs((ours > 1e-6).mean() - (plain > 1e-6).mean()) < Z * spread
    off = math.sqrt((ours.var() + plain.var()) / runs)
    assert abs(ours.mean() - plain.mean()) < Z * off


@pytest.mark.slow
@pytest.mark.parametrize("name", ["czech", "journey"])
def test_measured_errors_before_the_program_match_the_formula(papers, name):
    table, wanted = papers[name]
    exact, source = margin_tables(table.counts, wanted), SeededNoise(9)
    plan = Holistic(wanted, "fourier" if wanted.is_binary else "efron-stein", 1.0)
    errors = {margin: [] for margin in wanted.margins}
    for _ in range(600):
        for margin, counts in plan.unfitted(plan.noisy(exact, source)).items():
            errors[margin].append(np.abs(counts - exact[margin]).mean())
    for margin, means in errors.items():
        spread = np.std(means) / math.sqrt(len(means))
        assert abs(np.mean(means) - plan.expected_error(margin)) < Z * spread
        assert abs(np.mean(means) - 1.5 * plan.expected_error(margin)) > Z * spread


def test_noise_is_drawn_for_every_cell_of_every_term(papers):
    """One noise for each (S, x_S), not one for each S: centring would remove the latter."""
    table, wanted = papers["journey"]
    plan = Holistic(wanted, "efron-stein", 1.0)
    exact = margin_tables(table.counts, wanted)
    asked = {}

    def source(_table, name, size):
        asked[name.split("/")[0]] = size
        return np.zeros(size, dtype=np.int64)

    plan.noisy(exact, source)
    assert asked["efron-stein AC"] == 64
    assert sum(asked.values()) == 169


def test_budgets_neighbours_and_tables_that_do_not_fit_are_refused():
    binary = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    with pytest.raises(InfeasibleDesign):
        Holistic(binary, "fourier", 0.0)
    with pytest.raises(BadRequest):
        Holistic(binary, "fourier", 1.0, "swap")
    with pytest.raises(BadRequest, match="efron-stein"):
        Holistic(MarginSet(("A", "B"), (2, 3), ((0, 1),)), "fourier", 1.0)
    large = MarginSet(tuple("ABCDEF"), (10,) * 6, ((0, 1),))
    exact = {(0, 1): np.ones((10, 10), dtype=np.int64)}
    with pytest.raises(TooManyCells, match="optimum"):
        Holistic(large, "efron-stein", 1.0).release(exact, SeededNoise(1))


def test_halves_go_up_even_where_a_solver_left_a_little_less():
    assert round_half_up(np.array([0.5, 0.499999, 1.5, 0.49])).tolist() == [1, 1, 2, 0]
