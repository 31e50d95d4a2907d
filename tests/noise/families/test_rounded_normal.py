"""The normal law rounded to whole numbers: what no table can be made of is refused."""

import math

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise.families.rounded_normal import rounded_normal


@pytest.mark.parametrize("V", [0.0, -1.0, math.inf, 1e9])
def test_a_rounded_normal_that_cannot_be_is_refused(V):
    with pytest.raises(InfeasibleDesign):
        rounded_normal(V)
