"""The parts of sentences that rules share."""

import pytest

from discreet.model.messages.refusal import at_level, cell_count, or_coarser, quote_names


@pytest.mark.parametrize(
    ("names", "words"), [(["a"], '"a"'), (["a", "b"], '"a" and "b"'), (["a", "b", "c"], '"a", "b" and "c"')]
)
def test_names_are_listed_as_people_do(names, words):
    assert quote_names(names) == words


def test_a_coarser_level_is_named_and_without_one_the_geography_is_left_out(dataset):
    assert or_coarser(dataset, None) == at_level(None) == ""
    assert 'use "region" in place of "area"' in or_coarser(dataset, "area")
    assert or_coarser(dataset, "region") == ", or leave the geography out"
    assert at_level("area") == ' at "area" or below'


def test_a_number_that_nobody_can_read_is_rounded():
    assert cell_count(10**15 - 1) == "999,999,999,999,999"
    assert cell_count(10**15) == "about 10^15"
