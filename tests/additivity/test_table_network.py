"""Every table of one way, or of two with at most one hierarchy, is a network; a hierarchy in both is none."""

import numpy as np
import pytest

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.table_network import table_network

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


def test_two_hierarchies_and_three_ways_are_no_network():
    assert table_network(Additive((DEEP, DEEP))) is None
    assert table_network(Additive((AxisTree.plain(2),) * 3)) is None


def left_over(network, table):
    """What comes in less what goes out at every node; added roots and totals carry the sums that they must."""
    flow = np.where(network.places >= 0, table.ravel()[network.places], 0).reshape(network.shape)
    added = (network.places < 0).reshape(network.shape)
    if added[:, -1].all():
        flow[:, -1] = flow[:, :-1].sum(axis=1)
    if added[-1].all():
        roots = [
            h
            for h in range(network.shape[0] - 1)
            if network.head.reshape(network.shape)[h, 0] == root_of(network)
        ]
        flow[-1] = flow[roots].sum(axis=0)
    nodes = np.zeros(network.nodes, dtype=np.int64)
    np.add.at(nodes, network.head, flow.ravel())
    np.subtract.at(nodes, network.tail, flow.ravel())
    return nodes


def root_of(network):
    """The node of the sum of an added root in the first column."""
    return network.tail.reshape(network.shape)[-1, 0]
