"""Chains of nested partitions: every operation beside its matrix."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.margins.chain import Chain, plain_chain

#: Three regions of 3, 2 and 1 districts; areas in blocks of 2, 3, 2, 1, 3 and 3, listed in no order.
REGION = np.zeros(3, np.int64)
DISTRICT = np.array([0, 1, 0, 2, 1, 0])
AREA = np.array([5, 0, 1, 1, 3, 2, 0, 4, 4, 2, 5, 4, 5, 1])
CHAIN = Chain((REGION, DISTRICT, AREA))


def block_matrix(level):
    """I minus the mean of the block, written down."""
    parent = CHAIN.parents[level - 1]
    same = parent[:, None] == parent
    return np.eye(parent.size) - same / same.sum(axis=1)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_centring_is_the_projection_within_blocks(level):
    table = np.random.default_rng(1).normal(size=(4, CHAIN.size(level)))
    assert np.allclose(CHAIN.centred(table, 1, level), table @ block_matrix(level).T)
    whole = np.round(100 * table).astype(np.int64)
    kept = CHAIN.from_first(whole, 1, level)
    assert kept.dtype == np.int64
    assert np.allclose(
        CHAIN.centred(kept.astype(float), 1, level), CHAIN.centred(whole.astype(float), 1, level)
    )


def test_what_is_kept_does_not_tell_what_centring_removes():
    """Wrong alternative: to keep the whole numbers as they are. Another mean of a block must leave no trace."""
    table = np.arange(14)
    raised = table + np.array([10, 0, 0, 7, 0, 0])[AREA]
    assert (CHAIN.from_first(table, 0, 3) == CHAIN.from_first(raised, 0, 3)).all()
    assert (table != raised).any()


def test_a_count_is_its_own_part_and_shares_of_those_above():
    counts = np.random.default_rng(2).integers(0, 99, 14).astype(float)
    tables = [counts]
    for level in (3, 2, 1):
        tables.insert(0, CHAIN.summed(tables[0], 0, level))
    made = sum(CHAIN.spread(CHAIN.centred(tables[level], 0, level), 0, level, 3) for level in range(4))
    assert np.allclose(made, counts)


def test_the_dearest_paths_are_those_that_no_other_beats():
    """Wrong alternative: one path with the largest block of every level, where no person has all of them."""
    paths = set(CHAIN.paths)
    everyone = {
        (
            Fraction(1),
            Fraction(2, 3),
            1 - Fraction(1, int((DISTRICT[d] == DISTRICT).sum())),
            1 - Fraction(1, int((d == AREA).sum())),
        )
        for d in AREA
    }
    for person in everyone:
        assert any(all(p <= q for p, q in zip(person, path, strict=True)) for path in paths)
    assert paths <= everyone
    assert plain_chain(5).paths == ((Fraction(1), Fraction(4, 5)),)
