"""Flows of least cost: feasible, proven, the same as brute force on tiny networks, and settled by rule.

What is minimised: plain change first; ties never outweigh one unit of it, and kept cells outweigh everything.

Every table of one way, or of two with at most one hierarchy, is a network; a hierarchy in both is none.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitting import fit_totals
from discreet.additivity.network_flow import FREE, Wishes, least_change, objective, table_network


def cost_of(wishes, x):
    """What a flow costs, unit by unit: the slow, obvious way."""
    total = 0
    arrays = (wishes.wish, wishes.weight, wishes.rise, wishes.fall)
    for arc, value in enumerate(np.asarray(x).tolist()):
        for wish, weight, rise, fall in zip(*(array[:, arc] for array in arrays), strict=True):
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
    found, proven = least_change(tail, head, 3, wishes)
    assert proven
    assert (np.bincount(head, found, 3) == np.bincount(tail, found, 3)).all()
    flows = (x for x in product(range(-3, 5), repeat=4) if x[0] == x[1] and x[2] == x[1] + x[3])
    assert cost_of(wishes, found) == min(cost_of(wishes, x) for x in flows)


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
    spread = least_change(tail, head, 2, Wishes(wish, firm, none, none, 1, *bounds))[0]
    heaped = least_change(tail, head, 2, Wishes(wish, firm, none, none, 0, *bounds))[0]
    assert spread.tolist() == [11] * 5 + [55]
    assert heaped.max() > 55 or heaped[:5].max() == 15


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 4, 2]])
def test_a_flow_is_a_function_of_its_network(order):
    tail, head = np.array([0, 1, 2, 0, 3, 1]), np.array([1, 2, 0, 3, 2, 3])
    random = np.random.default_rng(8)
    wishes = some_wishes(random, 6)
    first = least_change(tail, head, 4, wishes)[0]
    again = least_change(tail.copy(), head.copy(), 4, wishes)[0]
    assert (first == again).all()
    turned = Wishes(
        *(each[:, order] for each in (wishes.wish, wishes.weight, wishes.rise, wishes.fall)),
        wishes.step,
        wishes.lowest[order],
        wishes.highest[order],
    )
    other = least_change(tail[order], head[order], 4, turned)[0]
    assert cost_of(turned, other) == cost_of(wishes, first)


ONE = Additive((AxisTree.plain(3),))


def goal_of(noisy, structure=ONE, **options):
    everything = {"kept": np.zeros(noisy.shape, dtype=bool), "bounded": True, "keep_zeros": True} | options
    return objective(noisy, structure, np.ones(noisy.shape, dtype=bool), **everything)


def test_ties_weigh_less_than_a_change_and_a_kept_cell_more_than_all_others():
    noisy, kept = np.array([9, 0, 4, 40]), np.array([False, False, False, True])
    goal = goal_of(noisy)
    most = int((goal.weight - goal.weight.min() + goal.rise + 2).max())
    assert most * np.abs(ONE.add_up(noisy[:3]) - noisy).sum() < goal.weight.min()
    goal = goal_of(noisy, kept=kept)
    assert goal.weight[-1] > goal.weight[:-1].sum() + goal.rise.sum()
    assert goal.free.tolist() == (~kept).tolist()


@pytest.mark.parametrize(
    ("noisy", "keep_zeros", "fitted"),
    [
        # 3 + 5 + 2 = 10 and the total is 13: three units, in the parts or in the total. The total is kept.
        ([3, 5, 2, 13], True, [4, 6, 3, 13]),
        ([3, 0, 2, 7], True, [4, 0, 3, 7]),
        ([3, 0, 2, 8], False, [4, 1, 3, 8]),
    ],
)
def test_of_equal_changes_leaf_cells_give_way_before_totals_and_zeros_stay_if_asked(
    noisy, keep_zeros, fitted
):
    values, report = fit_totals(np.array(noisy), ONE, keep_zeros=keep_zeros)
    assert (values.tolist(), report.optimal) == (fitted, True)


def test_where_64_bits_would_not_hold_the_ties_they_are_left_out():
    noisy = np.array([2**45, 0, 4, 2**50])
    goal = goal_of(noisy, kept=noisy == 4)
    assert goal.step == 0
    assert (goal.weight[goal.free] == 1).all()


DEEP = AxisTree((4, 4, 5, 5, 6, 6, -1))
NETWORKS = {
    "one way": (AxisTree.plain(3),),
    "no total": (AxisTree.plain(3, total=False),),
    "two ways": (AxisTree.plain(3), AxisTree.plain(2)),
    "a hierarchy first": (DEEP, AxisTree.plain(2)),
    "a hierarchy second": (AxisTree.plain(2), DEEP),
    "a forest": (AxisTree((2, 2, -1, 4, -1)), AxisTree.plain(3, total=False)),
    "ways of one place": (AxisTree((-1,)), DEEP, AxisTree((-1,)), AxisTree.plain(2)),
    "a single cell": (AxisTree((-1,)),),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_is_left_over_exactly_where_a_table_adds_up(name):
    structure = Additive(NETWORKS[name])
    network = table_network(structure)
    random = np.random.default_rng(1)
    leaves = random.integers(0, 9, tuple(tree.leaves.size for tree in structure.axes))
    assert not left_over(network, structure.add_up(leaves)).any()
    real = network.places[network.places >= 0]
    assert sorted(real.tolist()) == list(range(int(np.prod(structure.shape))))


@pytest.mark.parametrize("name", ["two ways", "a hierarchy first", "a hierarchy second"])
def test_a_unit_too_much_in_any_one_cell_is_left_over_somewhere(name):
    structure = Additive(NETWORKS[name])
    network = table_network(structure)
    for place in range(int(np.prod(structure.shape))):
        table = np.zeros(structure.shape, dtype=np.int64)
        table.flat[place] = 1
        assert np.abs(left_over(network, table)).sum() == 2


def left_over(network, table):
    """What comes in less what goes out at every node; added roots and totals carry the sums that they must."""
    flow = np.where(network.places >= 0, table.ravel()[network.places], 0).reshape(network.shape)
    added = (network.places < 0).reshape(network.shape)
    if added[:, -1].all():
        flow[:, -1] = flow[:, :-1].sum(axis=1)
    if added[-1].all():
        tail, head = (each.reshape(network.shape)[:, 0] for each in (network.tail, network.head))
        flow[-1] = flow[:-1][head[:-1] == tail[-1]].sum(axis=0)  # of the roots
    nodes = np.zeros(network.nodes, dtype=np.int64)
    np.add.at(nodes, network.head, flow.ravel())
    np.subtract.at(nodes, network.tail, flow.ravel())
    return nodes
