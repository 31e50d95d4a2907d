"""Evidence against the obvious way: draw many pairs and count."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.evidence import add_evidence, apply_to_pairs, cell_evidence, chance, pair_evidence
from discreet.noise import laplace, maxent
from discreet.noise.kept_zero import with_kept_zero

FALSE_ALARM = 1e-5
NOISE = with_kept_zero(maxent(D=3, V=2, js=1))
DRAWS = 400_000


def drawn(counts, rng):
    keys = rng.integers(NOISE.modulus, size=counts.size, dtype=np.uint64)
    return counts + NOISE.noise(counts, keys)


@pytest.mark.parametrize("shared", [True, False])
def test_the_evidence_of_a_pair_is_the_ratio_of_how_often_it_is_drawn(shared):
    rng = np.random.default_rng(3)
    others = rng.integers(0, 30, size=DRAWS)
    second = drawn(others, rng)
    joined = Counter(zip(drawn(others + 1, rng).tolist(), second.tolist(), strict=True))
    alone_first = second if shared else drawn(others, rng)
    alone = Counter(zip(alone_first.tolist(), second.tolist(), strict=True))
    compared = 0
    for pair in [(a, b) for a in range(12) for b in range(12)]:
        yes, no = joined[pair], alone[pair]
        expected = pair_evidence(NOISE, *pair, shared=shared)
        if min(yes, no) > 400:
            slack = 4.42 * math.sqrt(1 / yes + 1 / no)  # two-sided 1e-5
            assert abs(math.log(yes / no) - expected) < slack, pair
            compared += 1
        elif math.isinf(expected):
            assert (no if expected > 0 else yes) == 0
    assert compared > (8 if shared else 40)


def test_the_comparison_rejects_evidence_for_another_noise():
    wrong = with_kept_zero(maxent(D=3, V=1.2, js=1))
    rng = np.random.default_rng(3)
    others = rng.integers(0, 30, size=DRAWS)
    second = drawn(others, rng)
    yes = np.count_nonzero((drawn(others + 1, rng) == 10) & (second == 10))
    no = np.count_nonzero(second == 10)
    expected = pair_evidence(wrong, 10, 10, shared=True)
    assert abs(math.log(yes / no) - expected) > 4.42 * math.sqrt(1 / yes + 1 / no)


@given(st.integers(0, 40), st.integers(0, 40))
def test_with_one_number_for_the_same_people_a_difference_is_a_proof_and_nothing_else_is(a, b):
    evidence = pair_evidence(NOISE, a, b, shared=True)
    possible = any(chance(NOISE, n + 1, a) * chance(NOISE, n, b) for n in range(60))
    if a != b:
        assert evidence == (math.inf if possible else 0.0)
    else:
        assert evidence < 0


@given(st.floats(0.1, 3.0), st.integers(-8, 9))
def test_a_cell_of_laplace_noise_says_plus_or_minus_epsilon(epsilon, released):
    row = laplace(epsilon=epsilon, modulus=2**64).rows[0]
    sign = 1 if released >= 1 else -1
    assert cell_evidence(row, released) == pytest.approx(sign * epsilon, abs=1e-6)


def test_equal_pairs_are_worked_out_once():
    asked = []

    def evidence(a, b):
        asked.append((a, b))
        return float(a - b)

    first = np.array([[3, 1], [3, 2]])
    second = np.array([[1, 1], [1, 5]])
    assert apply_to_pairs(evidence, first, second).tolist() == [[2.0, 0.0], [2.0, -3.0]]
    assert len(asked) == 3


def test_proofs_that_contradict_each_other_cancel():
    inf = math.inf
    found = add_evidence(np.array([inf, inf, 1.0, -inf]), np.array([inf, 0.5, inf, 2.0]))
    assert found.tolist() == [0.0, inf, -inf, -inf]
