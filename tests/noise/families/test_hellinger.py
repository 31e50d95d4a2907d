from __future__ import annotations

import math

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import hellinger
from discreet.noise.families.hellinger import ideal_hellinger


def test_the_rows_follow_the_formula():
    ideal = ideal_hellinger(1.0, 4, top=30)
    row = ideal.rows[3]
    weights = [math.exp(-0.5 * abs(math.sqrt(b) - math.sqrt(3))) for b in range(31)]
    assert row.values == tuple(range(-3, 28))
    assert row.probabilities == pytest.approx([w / sum(weights) for w in weights])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_all_neighbouring_rows_are_within_e_to_the_epsilon(epsilon):
    ideal = ideal_hellinger(epsilon, 20, top=200)
    for lower, upper in zip(ideal.rows, ideal.rows[1:], strict=False):
        ratios = [abs(math.log(a / b)) for a, b in zip(lower.probabilities, upper.probabilities, strict=True)]
        assert max(ratios) <= epsilon


def test_the_default_range_leaves_less_than_a_millionth_beyond_it():
    ideal = ideal_hellinger(2.0, 10)
    top = ideal.parameters["top"]
    beyond = math.fsum(math.exp(-(math.sqrt(b) - math.sqrt(10))) for b in range(top + 1, top + 20_000))
    inside = math.fsum(math.exp(-abs(math.sqrt(b) - math.sqrt(10))) for b in range(top + 1))
    assert beyond / inside < 1e-6


def test_counts_beyond_the_largest_are_said_to_lie_outside_the_claim():
    assert "outside the epsilon" in ideal_hellinger(2.0, 10).notes[0]


def test_zero_is_perturbed_and_never_negative():
    row = hellinger(epsilon=2, largest=5).row(0)
    assert row.values[0] == 0
    assert len(row.values) > 1


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"epsilon": 1, "largest": 0}, "at least the counts"),
        ({"epsilon": 1, "largest": 10, "top": 5}, "below largest"),
        ({"epsilon": 0.05, "largest": 50}, "entries"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        hellinger(**wish)
