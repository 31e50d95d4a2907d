from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.assess import losses

TRUE = np.array([0, 1, 4, 100])
RELEASED = np.array([[4, 0, 9, 144], [0, 1, 4, 100], [0, 3, 0, 81]])


def test_the_losses_are_those_worked_by_hand():
    assert losses.l1(TRUE, RELEASED).tolist() == [4 + 1 + 5 + 44, 0, 2 + 4 + 19]
    assert losses.l2(TRUE, RELEASED).tolist() == [16 + 1 + 25 + 44**2, 0, 4 + 16 + 361]
    assert losses.l3(TRUE, RELEASED) == pytest.approx([2 + 1 + 1 + 2, 0, math.sqrt(3) - 1 + 2 + 1])


def test_hellinger_is_worked_by_hand():
    first = math.sqrt((2**2 + 1 + 1 + 2**2) / 2)
    third = math.sqrt(((math.sqrt(3) - 1) ** 2 + 4 + 1) / 2)
    assert losses.hellinger(TRUE, RELEASED) == pytest.approx([first, 0, third])


def test_the_same_loss_of_two_is_that_of_the_paper():
    """Rinott et al., section 4.2: 0 as 4, 100 as 144 and 10,000 as 10,404 cost the same in l3."""
    for true, released in ((0, 4), (100, 144), (10_000, 10_404)):
        assert losses.l3(np.array([true]), np.array([[released]])) == pytest.approx(2)


def test_roots_take_negative_counts_as_zero_and_plain_differences_do_not():
    true, released = np.array([4]), np.array([[-3]])
    assert losses.l1(true, released) == 7
    assert losses.l3(true, released) == 2
    assert losses.hellinger(true, released) == pytest.approx(math.sqrt(2))


tables = st.lists(st.integers(0, 500), min_size=1, max_size=12)


@given(tables, st.data())
def test_losses_vanish_only_on_equal_tables_and_do_not_depend_on_the_order_of_cells(true, data):
    released = data.draw(st.lists(st.integers(0, 500), min_size=len(true), max_size=len(true)))
    order = data.draw(st.permutations(range(len(true))))
    a, b = np.array(true), np.array(released)
    for loss in (losses.l1, losses.l2, losses.l3, losses.hellinger):
        here = loss(a, b[None])[0]
        assert (here == 0) == (true == released)
        assert loss(a[list(order)], b[list(order)][None])[0] == pytest.approx(here)
