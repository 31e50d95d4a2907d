"""Errors: each has a code of its own, an exit code and a status that agree."""

import pytest

from discreet.errors import (
    BadRequest,
    BudgetSpent,
    DiscreetError,
    NotFound,
    Refused,
    all_errors,
)


def test_every_class_is_found_once_and_codes_are_words_for_addresses():
    kinds = all_errors()
    assert len(kinds) == len(set(kinds))
    assert {DiscreetError, BadRequest, Refused, NotFound, BudgetSpent} <= set(kinds)
    for kind in kinds:
        assert kind.code.replace("-", "").isalpha(), kind
        assert kind.code == kind.code.lower(), kind


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_what_is_ours_to_mend_is_a_500_and_what_a_reader_can_mend_has_advice_of_its_own(kind):
    assert 400 <= kind.http_status < 600
    assert kind.exit_code in {2, 3, 4, 5, 70}
    if kind.exit_code == 70:
        assert kind.http_status >= 500


def test_message_and_advice_are_one_sentence_after_the_other():
    assert str(BadRequest("No such word.", "Try another.")) == "No such word. Try another."
    assert str(BadRequest("No such word.")) == "No such word."
