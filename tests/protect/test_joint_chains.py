"""Chains: levels of one hierarchy together, coarse to fine, and margins as levels of them."""

import pytest

from discreet.protect.joint_chains import levels_of, margin_of

NAMES = (("age",), ("region", "district"))


@pytest.mark.parametrize("margin", [(), ("age",), ("district",), ("age", "region"), ("age", "district")])
def test_a_margin_is_its_levels_and_back(margin):
    assert margin_of(NAMES, levels_of(NAMES, margin)) == margin
