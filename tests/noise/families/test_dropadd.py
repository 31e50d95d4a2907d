from __future__ import annotations

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import dropadd


@pytest.mark.parametrize(
    ("count", "q"), [(1, 1), (99, 1), (100, 1), (101, 2), (200, 2), (600, 6), (601, 7), (9_999, 7)]
)
def test_q_is_one_percent_rounded_up_and_capped(count, q):
    row = dropadd().row(count)
    assert row.values == tuple(range(-q, q + 1))
    assert max(row.masses()) - min(row.masses()) <= 2 * q
    assert row.mean() == 0


def test_zero_stays_zero_and_no_count_becomes_negative():
    table = dropadd(m=5, percent=50)
    assert table.row(0).values == (0,)
    assert all(count + table.row(count).values[0] >= 0 for count in range(40))


def test_other_shares_and_caps_are_possible():
    assert dropadd(m=3, percent=10).row(11).values == (-2, -1, 0, 1, 2)
    assert dropadd(m=3, percent=10).row(1000).values == tuple(range(-3, 4))


@pytest.mark.parametrize("wish", [{"m": 0}, {"percent": 0}, {"percent": 101}, {"percent": 1e-4, "m": 100}])
def test_wishes_without_a_table_are_refused(wish):
    with pytest.raises(InfeasibleDesign):
        dropadd(**wish)
