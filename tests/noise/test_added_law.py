"""The law of a table with sums: counted cells keep theirs, and a sum has none of its own."""

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.noise import laplace
from discreet.noise.added_law import AddedLaw
from discreet.noise.table_law import TableLaw


@pytest.fixture
def law():
    return AddedLaw(TableLaw(laplace(epsilon=1.0, m=5), (3,)), np.array([False, False, True]))


def test_a_counted_cell_keeps_its_law(law):
    assert law.at(0) == law.counted.at(0)
    assert law.laws == law.counted.laws
    assert law.source(1) is None
    assert law.variance().shape == law.kind.shape == law.impossible.shape == (3,)


def test_a_sum_has_no_law_of_one_count(law):
    """The wrong answer is the law of a single count, whose interval would be too narrow."""
    with pytest.raises(BadRequest, match="sum of the areas shown") as raised:
        law.at(2)
    assert raised.value.advice
    assert law.source(2) == "added"
    assert law.document()["sums_of_areas_shown"] == [2]
