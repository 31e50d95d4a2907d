"""Flows of least cost: feasible, proven, the same as brute force on tiny networks, and settled by rule."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.additivity.least_change import FREE, Wishes, least_change


def cost_of(wishes, x):
    """What a flow costs, unit by unit: the slow, obvious way."""
    total = 0
    for arc, value in enumerate(np.asarray(x).tolist()):
        for wish, weight, rise, fall in zip(
            wishes.wish[:, arc], wishes.weight[:, arc], wishes.rise[:, arc], wishes.fall[:, arc], strict=True
        ):
            for unit in range(abs(value - wish)):
                tie = min(unit // wishes.step, 2) if wishes.step and weight else 0
                total += weight + tie + (rise if value > wish else fall)
    return total


def some_wishes(random, arcs, wishes=1):
    shape = (wishes, arcs)
    weight = random.integers(0, 3, shape) * 50
    return Wishes(
        random.integers(-3, 5, shape),
        weight,
        random.integers(0, 4, shape) * (weight > 0),
        random.integers(0, 4, shape) * (weight > 0),
        int(random.integers(0, 3)),
        np.full(arcs, -3),
        np.full(arcs, 4),
    )


@given(st.integers(0, 2**32), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_no_flow_of_a_tiny_network_costs_less(seed, wished):
    random = np.random.default_rng(seed)
    tail, head = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2])
    wishes = some_wishes(random, 4, wished)
    found = least_change(tail, head, 3, wishes)
    assert found.proven
    assert (np.bincount(head, found.x, 3) == np.bincount(tail, found.x, 3)).all()
    flows = (x for x in product(range(-3, 5), repeat=4) if x[0] == x[1] and x[2] == x[1] + x[3])
    assert cost_of(wishes, found.x) == min(cost_of(wishes, x) for x in flows)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_slopes_and_rooms_are_those_of_the_cost_unit_by_unit(seed):
    random = np.random.default_rng(seed)
    wishes = some_wishes(random, 1, 2)
    for value in range(-2, 4):
        x = np.array([value])
        assert wishes.raising(x)[0] == cost_of(wishes, [value + 1]) - cost_of(wishes, [value])
        assert wishes.lowering(x)[0] == cost_of(wishes, [value - 1]) - cost_of(wishes, [value])
        room = int(wishes.room(x, up=True)[0])
        slopes = {int(wishes.raising(np.array([value + unit]))[0]) for unit in range(room)}
        assert room >= 1
        assert len(slopes) == 1


def test_ties_spread_a_change_over_several_arcs_and_not_into_one():
    """Five parallel arcs of 10 must carry 55: without ties a path fills one of them with all five units."""
    tail, head = np.array([0] * 5 + [1]), np.array([1] * 5 + [0])
    wish = np.array([[10] * 5 + [55]])
    firm = np.array([[100] * 5 + [10**6]])
    none = np.zeros_like(wish)
    bounds = np.zeros(6, dtype=np.int64), np.full(6, FREE)
    spread = least_change(tail, head, 2, Wishes(wish, firm, none, none, 1, *bounds)).x
    heaped = least_change(tail, head, 2, Wishes(wish, firm, none, none, 0, *bounds)).x
    assert spread.tolist() == [11] * 5 + [55]
    assert heaped.max() > 55 or heaped[:5].max() == 15


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 4, 2]])
def test_a_flow_is_a_function_of_its_network(order):
    tail, head = np.array([0, 1, 2, 0, 3, 1]), np.array([1, 2, 0, 3, 2, 3])
    random = np.random.default_rng(8)
    wishes = some_wishes(random, 6)
    first = least_change(tail, head, 4, wishes).x
    again = least_change(tail.copy(), head.copy(), 4, wishes).x
    assert (first == again).all()
    turned = Wishes(
        *(each[:, order] for each in (wishes.wish, wishes.weight, wishes.rise, wishes.fall)),
        wishes.step,
        wishes.lowest[order],
        wishes.highest[order],
    )
    other = least_change(tail[order], head[order], 4, turned).x
    assert cost_of(turned, other) == cost_of(wishes, first)
