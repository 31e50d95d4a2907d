"""The regions of the invented country: eleven, with shares that add up."""

from __future__ import annotations

import pytest

from discreet.workspace.demo.places import DISTRICTS, REGIONS


def test_there_are_eleven_regions_whose_shares_add_up():
    assert len(REGIONS) == 11
    assert DISTRICTS == 110
    assert sum(region.share for region in REGIONS) == pytest.approx(1)
