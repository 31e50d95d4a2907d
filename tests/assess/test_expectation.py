from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.assess.expectation import SMALL, expected
from discreet.assess.simulate import releases, simulate
from discreet.assess.subject import Subject
from discreet.noise import dropadd, gaussian, laplace, maxent, normal, pram
from discreet.noise.kept_zero import with_kept_zero
from discreet.noise.table import NoiseRow, NoiseTable

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "assessment.json").read_text("utf-8"))
TABLE_1 = np.array(ORACLE["rinott_table1"]["counts"])
SUBJECT = Subject(TABLE_1[None], np.ones((1, *TABLE_1.shape), dtype=bool))
#: Of each comparison of a mean; there are some thirty.
FALSE_ALARM = 1e-5
Z = 4.4
REPS = 400
NOISES = {
    "laplace": lambda: laplace(epsilon=0.5, m=7),
    "normal": lambda: normal(epsilon=1.0, m=10),
    "maxent": lambda: maxent(D=5, V=3, js=2),
    "pram": pram,
    "dropadd": dropadd,
    "gaussian": lambda: gaussian(V=4),
    "laplace, zeros kept": lambda: with_kept_zero(laplace(epsilon=1.0, m=9)),
}
HALF = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))


@pytest.fixture(scope="module", params=NOISES)
def noise(request):
    """Every noise, built when a test first asks for it."""
    return NOISES[request.param]()


def slow(counts, noise, loss, *, clip=True):
    """The definition, with fractions as weights."""
    total = 0.0
    for count in counts:
        for value, chance in noise.row(int(count)).probabilities().items():
            shown = max(int(count) + value, 0) if clip else int(count) + value
            total += float(chance) * loss(int(count), shown)
    return total


def test_the_means_are_the_sums_of_the_definition(noise):
    counts = SUBJECT.flat
    found = expected(counts, noise)
    for name, loss in {
        "l1": lambda a, b: abs(a - b),
        "l2": lambda a, b: (a - b) ** 2,
        "l3": lambda a, b: abs(math.sqrt(a) - math.sqrt(b)),
    }.items():
        moments = getattr(found, name)
        assert moments.mean == pytest.approx(slow(counts, noise, loss), rel=1e-9)
    assert found.hellinger_squared == pytest.approx(
        slow(counts, noise, lambda a, b: (math.sqrt(a) - math.sqrt(b)) ** 2 / 2), rel=1e-9
    )
    assert found.perturbed == pytest.approx(slow(counts, noise, lambda a, b: a != b) / counts.size)
    assert found.false_zeros == pytest.approx(slow(counts, noise, lambda a, b: a > 0 and b == 0), abs=1e-12)
    assert found.shown_small == pytest.approx(slow(counts, noise, lambda _, b: 1 <= b <= SMALL), abs=1e-9)


@pytest.mark.slow
def test_exact_mean_losses_equal_the_simulation(noise):
    (draws,) = simulate(SUBJECT, [noise], REPS, seed=7)
    found = expected(SUBJECT.flat, noise)
    for name in ("l1", "l2", "l3"):
        exact = getattr(found, name)
        error = exact.sd / math.sqrt(REPS)
        assert abs(draws[name].mean() - exact.mean) < Z * error
        assert abs(draws[name].mean() - 1.3 * exact.mean) > Z * error  # noise 30 % off would be seen
    for name, exact in (("perturbed", found.perturbed), ("false_zeros", found.false_zeros)):
        assert abs(draws[name].mean() - exact) <= Z * draws[name].std() / math.sqrt(REPS) + 1e-12


@pytest.mark.slow
def test_the_root_of_the_mean_square_bounds_the_mean_hellinger_distance(noise):
    (draws,) = simulate(SUBJECT, [noise], REPS, seed=8)
    found = expected(SUBJECT.flat, noise)
    assert (draws["hellinger"] ** 2).mean() == pytest.approx(found.hellinger_squared, rel=0.1)
    assert draws["hellinger"].mean() <= math.sqrt(found.hellinger_squared) * 1.01


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_the_mean_absolute_error_of_laplace_noise_is_the_corrected_formula(epsilon):
    found = expected(np.array([500]), laplace(epsilon=float(epsilon)))
    assert found.l1.mean == pytest.approx(ORACLE["mean_absolute_laplace"][epsilon], abs=1e-7)


def test_the_chance_of_an_exact_value_is_the_middle_of_the_law():
    found = expected(np.array([50, 60, 70]), laplace(epsilon=2.0, m=7))
    assert found.p_exact == pytest.approx(ORACLE["laplace_law"]["p0"], abs=1e-9)
    assert found.perturbed == pytest.approx(1 - found.p_exact)


def test_confirmation_and_false_zeros_are_worked_by_hand():
    """Counts 0, 1, 1, 5 and noise -1, 0, +1 with chances 1/4, 1/2, 1/4; below zero becomes zero."""
    found = expected(np.array([0, 1, 1, 5]), HALF)
    shown_one = Fraction(1, 4) + 2 * Fraction(1, 2)
    assert found.confirmation[1] == pytest.approx(float(2 * Fraction(1, 2) / shown_one))
    assert found.confirmation[0] == pytest.approx(0.75 / (0.75 + 2 * 0.25))
    assert found.confirmation[2] == 0  # shown as 2 are ones only
    assert found.confirmation[3] is None
    assert found.confirmation_small == pytest.approx(1.0 / (1.25 + 0.5))
    assert found.false_zeros == pytest.approx(0.5)
    assert found.false_zero_share == pytest.approx(0.5 / 3)
    assert found.false_zero_by_count == (pytest.approx(0.25), None, None)
    assert found.false_people == pytest.approx(0.25)
    assert (found.cells, found.occupied, found.small) == (4, 3, 2)


def test_confirmation_is_what_an_intruder_sees_in_simulated_releases():
    noise = laplace(epsilon=1.0, m=9)
    shown = np.maximum(releases(SUBJECT, noise, 4000, seed=3), 0)
    for value, exact in enumerate(expected(SUBJECT.flat, noise).confirmation):
        seen = shown == value
        right = (seen & (SUBJECT.counts == value)).sum() / seen.sum()
        assert right == pytest.approx(exact, abs=Z * 0.5 / math.sqrt(seen.sum()))


def test_noise_that_never_shows_small_counts_confirms_none():
    found = expected(np.array([1, 2, 3, 9]), maxent(D=5, V=4, js=3))
    assert found.shown_small == 0
    assert found.confirmation_small is None


def test_without_noise_everything_is_confirmed_and_nothing_is_lost():
    nothing = NoiseTable(1, (NoiseRow((0,), (1,)),))
    found = expected(np.array([0, 1, 2, 3]), nothing)
    assert found.confirmation == (1, 1, 1, 1)
    assert found.l2 == (0, 0)
    assert (found.p_exact, found.false_zeros, found.false_people) == (1, 0, 0)


def test_without_clipping_plain_losses_see_the_negative_counts():
    counts = np.array([0, 0, 0])
    clipped, raw = (expected(counts, HALF, clip=clip) for clip in (True, False))
    assert clipped.l1.mean == pytest.approx(0.75)
    assert raw.l1.mean == pytest.approx(1.5)
    assert raw.l3.mean == clipped.l3.mean


def test_standard_deviations_are_those_of_independent_cells():
    found = expected(np.array([10, 10]), HALF)
    assert found.l1.sd == pytest.approx(math.sqrt(2 * 0.25))
