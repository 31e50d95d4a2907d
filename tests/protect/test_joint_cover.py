"""Which table answers a cell of a joint universe: the smallest that can say it, whatever table it stands in."""

import numpy as np
import pytest

from discreet.errors import OutsideUniverse
from discreet.margins.chain import Chain
from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.protect.joint_cover import ChainSide, joint_cover
from discreet.protect.joint_plan import make_joint

GEOGRAPHY = Chain((np.zeros(2, np.int64), np.array([0, 0, 1, 1, 1])))


def side(*labels):
    """Outputs by a label for every area; -1 is left out."""
    told = np.array(labels)
    return ChainSide(GEOGRAPHY, np.flatnonzero(told >= 0), told[told >= 0], (int(told.max()) + 1,))


def test_an_output_is_told_at_the_coarsest_level_that_can_say_it():
    """Wrong alternative: the finest level for all, by which a region would have two sums."""
    assert side(0, 1, 2, 3, 4).levels.tolist() == [2, 2, 2, 2, 2]
    assert side(0, 0, 1, 1, 1).levels.tolist() == [1, 1]
    assert side(0, 0, 1, 1, 2).levels.tolist() == [1, 2, 2]
    assert side(0, 0, 0, 0, 0).levels.tolist() == [0]
    assert side(0, 0, 0, -1, -1).levels.tolist() == [2]
    assert ChainSide(GEOGRAPHY, np.array([0]), np.array([1]), (3,)).levels.tolist() == [-1, 2, -1]


def test_categories_of_a_level_are_added_up_once():
    outputs, kept, target = side(0, 0, 1, 1, 2).at(1)
    assert (outputs.tolist(), kept.tolist(), target.tolist()) == ([0], [0], [0])
    outputs, kept, target = side(0, 0, 1, 1, 2).at(2)
    assert (outputs.tolist(), kept.tolist(), target.tolist()) == ([1, 2], [2, 3, 4], [1, 1, 2])


def test_squares_say_what_every_level_adds():
    """For one area of a block of three: (1 - 1/3) of its own level, 1/9 (1 - 1/2) of regions, 1/36 of the total."""
    squares = side(-1, -1, 0, -1, -1).squares
    assert squares[:, 0].tolist() == pytest.approx([1 / 36, 1 / 18, 2 / 3])


@pytest.fixture(scope="module")
def declared(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, universe = declared_dp(dataset)
    return dataset, universe, make_joint(dataset, universe, terms)


def covered(declared, **asked):
    dataset, universe, plan = declared
    shape = table_shape(canonical(request_from_text("town", **asked), dataset), dataset)
    return joint_cover(shape, universe, dataset, plan)


def test_every_cell_has_one_table(declared):
    _, _, plan = declared
    place = {names: at for at, names in enumerate(plan.names)}
    blocks = covered(declared, rows=["area"], columns=["sex"], levels=["area=region,area"])
    tables = {levels for block in blocks for levels in block.tables()}
    geography, sex = place["region", "area"], place[("sex",)]
    assert {(levels[geography], levels[sex]) for levels in tables} == {
        (g, s) for g in range(3) for s in range(2)
    }


@pytest.mark.parametrize(
    "asked",
    [
        {"rows": ["job"], "columns": ["area"]},
        {"rows": ["sex"], "columns": ["age"], "layers": ["job"]},
        {"rows": ["sex"], "filters": ["job=1", "age=old"]},
    ],
)
def test_what_no_declared_table_contains_is_refused_by_its_shape(declared, asked):
    with pytest.raises(OutsideUniverse) as refused:
        covered(declared, **asked)
    assert "Take out" in refused.value.advice
