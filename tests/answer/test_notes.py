"""The note on every table: it says what was done to totals, and promises the same value only where it is kept."""

from dataclasses import replace

import pytest

from discreet.answer.notes import DP_NOTES, NOTES, joint_note, mandatory_note

SAME = "The same group of people always shows the same value."


@pytest.mark.parametrize("additivity", sorted(NOTES))
def test_the_question_s_own_way_wins_over_the_dataset_s(dataset, additivity):
    note = mandatory_note(dataset, additivity)
    assert NOTES[additivity] in note
    assert (SAME in note) == (additivity == "independent")
    fitted = replace(dataset, protection=replace(dataset.protection, additivity="fitted"))
    assert mandatory_note(fitted) == mandatory_note(dataset, "fitted") != mandatory_note(dataset)


def test_under_dp_neither_small_amounts_nor_the_same_value_are_claimed(dataset):
    dp = replace(dataset, protection=replace(dataset.protection, method="dp"))
    for additivity, words in DP_NOTES.items():
        note = mandatory_note(dp, additivity)
        assert words in note
        assert SAME not in note
        assert "small amounts" not in note


def test_margins_released_together_say_so():
    assert "adjusted together" in joint_note()
    assert joint_note().startswith("Counts in this table have been randomly adjusted to protect")
