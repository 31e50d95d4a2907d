from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import BadRequest
from discreet.workspace.demo.dice import ONE, RECORDS, Dice, _integer_masses, apportion, philox_words

FALSE_ALARM = 1e-6

some_weights = st.integers(1, 40).flatmap(
    lambda faces: st.lists(st.floats(0, 10), min_size=faces, max_size=faces).filter(
        lambda row: sum(row) > 0.1
    )
)


def masses_by_walking(dice: Dice) -> list[int]:
    """How much of the unit square each face has: the slow, obvious reading of an alias table."""
    mass = [0] * (1 << dice.bits)
    for column, entry in enumerate(dice.entries.tolist()):
        mass[column] += entry >> 8
        mass[entry & 255] += ONE - (entry >> 8)
    return mass


@settings(max_examples=80, deadline=None)
@given(row=some_weights)
def test_an_alias_table_keeps_every_mass_exactly(row):
    dice = Dice.with_weights(np.array([row]))
    padded = np.zeros((1, 1 << dice.bits))
    padded[0, : len(row)] = row
    assert masses_by_walking(dice) == _integer_masses(padded)[0].tolist()


def test_throws_follow_their_weights_and_a_five_percent_error_is_seen():
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    count = 200_000
    thrown = Dice.with_weights(weights[None]).throw(
        np.zeros(count, dtype=np.int64), philox_words(11, RECORDS, 0, count)[:, 3]
    )
    seen = np.bincount(thrown, minlength=4)
    assert chisquare(seen, weights * count).pvalue > FALSE_ALARM
    wrong = weights * [1.05, 1, 1, 1]
    assert chisquare(seen, wrong / wrong.sum() * count).pvalue < FALSE_ALARM


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_outside_64_bits_is_refused_with_the_allowed_range(seed):
    with pytest.raises(BadRequest, match=f"{seed}.*0 to {2**64 - 1}"):
        philox_words(seed, RECORDS, 0, 1)


weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=30).map(np.array)


@settings(max_examples=60, deadline=None)
@given(total=st.integers(0, 10**9), weights=weights)
def test_shares_add_up_and_lie_within_one_of_their_quota(total, weights):
    shares = apportion(total, weights)
    assert int(shares.sum()) == total
    assert np.abs(shares - total * weights / weights.sum()).max() < 1 + 1e-6
