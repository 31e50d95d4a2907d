"""What looks like an id: by its name at word boundaries, or by few records a category."""

import pytest

from discreet.records.id_like import id_caution, named_as_id, too_fine


@pytest.mark.parametrize(
    "name", ["person_id", "personID", "PID", "id", "ID", "hh-id", "idHousehold", "HHID", "id2"]
)
def test_a_name_that_says_id(name):
    assert named_as_id(name)


@pytest.mark.parametrize(
    "name", ["hoursPaid", "paid", "PAID", "residence", "idle", "Identity_x", "valid", "w"]
)
def test_letters_within_a_word_say_nothing(name):
    """The wrong alternative looks for the letters: hoursPaid was an id."""
    assert not named_as_id(name)
    assert name == "w" or "id" in name.lower()


def test_twenty_records_a_category_are_enough():
    assert not too_fine(400, 20)
    assert too_fine(399, 20)


def test_a_caution_says_the_numbers():
    assert id_caution("household", 6000, 14827).startswith(
        "household has 6,000 categories for 14,827 records: is it an id?"
    )
    assert id_caution("region", 9, 100) is None
    assert "called an id" in id_caution("interviewer_id", 9, 10**6)
