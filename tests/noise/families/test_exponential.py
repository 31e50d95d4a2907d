from __future__ import annotations

import math
from itertools import pairwise

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import exponential
from discreet.noise.families.exponential import ideal_exponential, loss_sensitivity

LOSSES = {
    "absolute": lambda a, b: abs(a - b),
    "squared": lambda a, b: (a - b) ** 2,
    "square root": lambda a, b: abs(math.sqrt(a) - math.sqrt(b)),
    "false zeros cost more": lambda a, b: abs(a - b) + 3 * (a > 0 and b == 0),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_any_loss_gives_rows_within_e_to_the_epsilon(loss, epsilon):
    rows = ideal_exponential(loss, epsilon=epsilon, largest=12, top=15).rows
    for lower, upper in pairwise(rows):
        ratios = [abs(math.log(a / b)) for a, b in zip(lower.probabilities, upper.probabilities, strict=True)]
        assert max(ratios) <= epsilon + 1e-12


def test_a_rate_of_epsilon_instead_of_its_half_would_break_the_promise():
    """The half of Theorem 4.1 is needed: this loss exceeds epsilon at the full rate."""
    rows = ideal_exponential(LOSSES["false zeros cost more"], epsilon=4.0, largest=12, top=15).rows
    worst = max(
        abs(math.log(a / b))
        for lower, upper in pairwise(rows)
        for a, b in zip(lower.probabilities, upper.probabilities, strict=True)
    )
    assert worst > 2.0


def test_the_sensitivity_is_computed_with_its_place():
    assert loss_sensitivity(LOSSES["squared"], 5, 5)[0] == 9
    assert loss_sensitivity(LOSSES["false zeros cost more"], 5, 5) == (4, (0, 0))


def test_a_declared_sensitivity_that_is_too_small_is_refused_with_the_place():
    with pytest.raises(
        InfeasibleDesign, match="too small: between the counts 0 and 1 the loss of releasing 0"
    ):
        exponential(LOSSES["false zeros cost more"], epsilon=1, largest=5, sensitivity=1)


def test_a_larger_declared_sensitivity_is_used():
    ideal = ideal_exponential(LOSSES["absolute"], epsilon=1, largest=5, sensitivity=2)
    assert ideal.parameters["sensitivity"] == 2


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (lambda a, b: 1.0, "does not depend"),
        (lambda a, b: math.nan, "not a finite number"),
        (lambda a, b: 5000 * abs(a - b) * (b == 9) + abs(a - b) * 1e-3, "too unlikely"),
    ],
)
def test_losses_without_a_law_are_refused(loss, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        exponential(loss, epsilon=1e3, largest=9)
