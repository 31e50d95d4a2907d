from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise.wishes import require_delta, require_epsilon, require_width, smallest_width


@given(least=st.integers(1, 500), limit=st.integers(500, 2000))
def test_the_search_finds_the_smallest_width(least, limit):
    assert smallest_width(lambda width: width >= least, limit=limit, wish="this") == least


def test_the_search_reaches_its_limit_and_says_where_it_gave_up():
    assert smallest_width(lambda width: width >= 100, limit=100, wish="this") == 100
    with pytest.raises(InfeasibleDesign, match="this needs changes beyond ±100"):
        smallest_width(lambda width: width > 100, limit=100, wish="this")


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_an_epsilon_that_is_no_loss_is_refused(epsilon):
    with pytest.raises(InfeasibleDesign, match="epsilon"):
        require_epsilon(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(InfeasibleDesign, match="delta"):
        require_delta(delta)


@pytest.mark.parametrize("width", [0, 100_001])
def test_a_width_that_no_table_holds_is_refused_by_name(width):
    with pytest.raises(InfeasibleDesign, match=f"D = {width}"):
        require_width("D", width)
