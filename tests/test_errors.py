"""Errors: each has a code of its own, an exit code and a status that agree."""

import re

import pytest

from discreet.errors import BadRequest, BudgetSpent, DiscreetError, NotFound, Refused, all_errors


def test_every_class_is_found_once():
    kinds = all_errors()
    assert len(kinds) == len(set(kinds))
    assert {DiscreetError, BadRequest, Refused, NotFound, BudgetSpent} <= set(kinds)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_a_code_is_words_in_lower_case_and_what_is_ours_to_mend_is_a_500(kind):
    assert re.fullmatch("[a-z]+(-[a-z]+)*", kind.code)
    assert 400 <= kind.http_status < 600
    assert kind.exit_code in {2, 3, 4, 5, 70}
    assert kind.exit_code != 70 or kind.http_status >= 500


def test_message_and_advice_are_one_sentence_after_the_other():
    assert str(BadRequest("No such word.", "Try another.")) == "No such word. Try another."
    assert str(BadRequest("No such word.")) == "No such word."
