"""Lines of tables are solved as enumeration solves them, and only what is impossible is struck out."""

from itertools import product

import numpy as np
import pytest

from discreet.attacks.message_passing import Line, Unknown, believe, strike_out


def unknown(counts, likelihood, weight=None, fits=None):
    counts = np.array(counts)
    low, high = (
        (np.zeros(counts.size), counts * 99.0) if weight is None else (counts * weight, counts * weight)
    )
    return Unknown(counts, np.array(likelihood, dtype=float), low, high, fits)


def weighs(total):
    return lambda _counts, low, high: ((low <= total + 0.5) & (high >= total - 0.5)).astype(float)


def cells(fits=None):
    parts = [
        unknown([1, 2, 3], [0.2, 0.5, 0.3], 3.0),
        unknown([0, 1, 2], [0.6, 0.3, 0.1], 5.0),
        unknown([4, 5], [0.5, 0.5], 7.0),
    ]
    return unknown([6, 7, 8], [0.2, 0.3, 0.5], fits=fits), parts


def by_enumeration(total, parts):
    """The exact posterior of every cell, slowly."""
    beliefs = [np.zeros(cell.counts.size) for cell in (total, *parts)]
    for at in product(*(range(part.counts.size) for part in parts)):
        count = sum(part.counts[place] for part, place in zip(parts, at, strict=True))
        weight = sum(part.low[place] for part, place in zip(parts, at, strict=True))
        (where,) = np.nonzero(total.counts == count)
        if not where.size:
            continue
        fit = 1.0 if total.fits is None else float(total.fits(count, weight, weight))
        chance = fit * total.likelihood[where[0]]
        chance *= np.prod([part.likelihood[place] for part, place in zip(parts, at, strict=True)])
        for belief, place in zip(beliefs, (where[0], *at), strict=True):
            belief[place] += chance
    return [belief / belief.sum() for belief in beliefs]


@pytest.mark.parametrize("fits", [None, weighs(46.0)])
def test_one_line_is_solved_as_enumeration_solves_it(fits):
    total, parts = cells(fits)
    exact = by_enumeration(*cells(fits))
    for found, wanted in zip(believe([total, *parts], [Line(total, parts)]), exact, strict=True):
        assert found == pytest.approx(wanted, abs=2e-3)
    wrong = total.likelihood / total.likelihood.sum()  # the total alone, without its parts
    assert np.abs(exact[0] - wrong).max() > 0.02


@pytest.mark.parametrize("fits", [None, weighs(46.0), weighs(41.0)])
def test_what_is_struck_out_is_what_no_combination_allows(fits):
    total, parts = cells(fits)
    exact = by_enumeration(*cells(fits))
    strike_out([Line(total, parts)])
    for cell, wanted in zip((total, *parts), exact, strict=True):
        assert ((cell.likelihood > 0) == (wanted > 0)).all()
        assert cell.certain == (np.count_nonzero(wanted) == 1)


def test_weights_make_certain_what_counts_leave_open():
    total, parts = cells(weighs(3 * 3.0 + 1 * 5.0 + 4 * 7.0))
    strike_out([Line(total, parts)])
    assert [int(cell.counts[np.argmax(cell.likelihood)]) for cell in (total, *parts)] == [8, 3, 1, 4]
    assert all(cell.certain for cell in (total, *parts))
    total, parts = cells()
    strike_out([Line(total, parts)])
    assert not any(cell.certain for cell in (total, *parts))


def test_what_contradicts_everything_is_not_believed():
    cell = unknown([1, 2], [0.5, 0.5])
    assert not cell.strike(np.array([False, False]))
    assert cell.likelihood.tolist() == [0.5, 0.5]
