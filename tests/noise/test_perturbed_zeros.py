"""Perturbed zeros: the chances are the declared ones, the bias is what the note says, and nothing else moves."""

from fractions import Fraction

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import maxent
from discreet.privacy import audit

KEPT = maxent(D=5, V=3, js=2)
MADE_UP, DROPPED = 0.01, 0.05
TABLE = maxent(D=5, V=3, js=2, made_up=MADE_UP, dropped=DROPPED)
#: Whole keys of 2^32 round each probability by less than this.
KEY = Fraction(8, 2**32)


def test_an_empty_cell_shows_the_declared_share_and_small_values_are_likelier():
    row = TABLE.rows[0]
    law = row.probabilities()
    assert row.values == (0, 3, 4, 5)
    assert abs(law[0] - (1 - Fraction(MADE_UP))) < KEY
    assert abs(law[3] - 2 * law[4]) < KEY
    assert abs(law[4] - 2 * law[5]) < KEY


def test_ones_and_twos_become_zero_by_the_declared_share_beside_their_noise():
    for count in (1, 2):
        own, now = KEPT.row(count).probabilities(), TABLE.row(count).probabilities()
        share = Fraction(DROPPED)
        assert abs(now[-count] - (share + (1 - share) * own[-count])) < KEY
        assert all(abs(now[v] - (1 - share) * own[v]) < KEY for v in own if v != -count)
        assert abs(TABLE.row(count).mean() + share * count) < 8 * KEY
    assert TABLE.rows[3:] == KEPT.rows[3:]


def test_the_stated_ratio_balances_a_table_and_another_does_not():
    mean = TABLE.rows[0].mean()
    ratio = Fraction(DROPPED) / mean
    assert f"{float(ratio):.4g} empty cells for each person" in TABLE.parameters["notes"][-1]
    people = TABLE.row(1).mean() + TABLE.row(2).mean()  # one cell of one and one of two: three people
    assert abs(3 * ratio * mean + people) < 1e-6
    assert abs(6 * ratio * mean + people) > 0.1


def test_the_pair_of_zero_and_one_is_audited_as_it_is():
    """Somebody can no longer be proved: no output of one person is impossible for an empty cell but by its size."""
    kept, made_up = audit(KEPT, epsilon=1.0), audit(TABLE, epsilon=1.0)
    assert made_up.delta < kept.delta
    assert made_up.worst_pair == (0, 1)
    sure = TABLE.row(1).probabilities()[5]  # 6 people: no empty cell shows that many
    assert made_up.delta >= sure


def test_small_tables_show_what_d_allows():
    assert maxent(D=1, V=0.5, made_up=0.1, dropped=0.1).rows[0].values == (0, 1)
    assert maxent(classes=[{"from": 0, "D": 5, "V": 3}], made_up=0.1, dropped=0.1).rows[0].values == (
        0,
        1,
        2,
        3,
    )


@pytest.mark.parametrize("wrong", [{"made_up": 0.1}, {"dropped": 0.1}, {"made_up": 0.6, "dropped": 0.1}])
def test_both_chances_are_given_and_are_below_a_half(wrong):
    with pytest.raises(InfeasibleDesign, match="chance above 0"):
        maxent(D=5, V=3, js=2, **wrong)
