import numpy as np
import pytest
from hypothesis import given, settings

from discreet.errors import BadRequest, UnknownVariable
from discreet.margins import margin_set as sets

from .conftest import margin_sets, random_counts, summing_matrix


@settings(max_examples=40, deadline=None)
@given(margin_sets())
def test_a_margin_is_what_the_summing_matrix_gives(wanted):
    counts = random_counts(wanted)
    for margin in wanted.closure:
        expected = summing_matrix(wanted, margin) @ counts.ravel()
        assert sets.margin_table(counts, margin).ravel().tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(margin_sets())
def test_all_margins_of_the_closure_follow_from_the_wanted_ones(wanted):
    counts = random_counts(wanted)
    tables = sets.closure_tables(sets.margin_tables(counts, wanted), wanted)
    assert tuple(tables) == wanted.closure
    for margin, table in tables.items():
        assert np.array_equal(table, sets.margin_table(counts, margin))


def test_words_and_letters_are_read_alike():
    letters = sets.parse_margins("BA, CB ,AB", "ABC", (2, 3, 4))
    words = sets.parse_margins("age*sex,region*age", ("sex", "age", "region"), (2, 3, 4))
    assert letters.margins == words.margins == ((0, 1), (1, 2))
    assert letters.label((0, 1)) == "AB"
    assert words.label((0, 1)) == "sex*age"
    assert words.label(()) == "total"


def test_a_mistyped_variable_is_refused_with_the_nearest():
    with pytest.raises(UnknownVariable, match='Did you mean "region"'):
        sets.parse_margins("regoin", ("sex", "region"), (2, 3))


@pytest.mark.parametrize(
    ("names", "shape", "margins"),
    [
        (("A", "A"), (2, 2), ((0,),)),
        (("A",), (2, 2), ((0,),)),
        (("A", "B"), (2, 1), ((0,),)),
        (("A", "B"), (2, 2), ()),
        (("A", "B"), (2, 2), ((0,), (0,))),
        (("A", "B"), (2, 2), ((1, 0),)),
        (("A", "B"), (2, 2), ((0, 2),)),
    ],
)
def test_margins_that_mean_nothing_are_refused(names, shape, margins):
    with pytest.raises(BadRequest):
        sets.MarginSet(names, shape, margins)


def test_margins_with_a_million_sub_margins_are_refused():
    names = tuple(f"v{j}" for j in range(21))
    with pytest.raises(BadRequest, match="sub-margins"):
        sets.MarginSet(names, (2,) * 21, (tuple(range(21)),))


WANTED = sets.MarginSet(("A", "B", "C"), (2, 3, 5), ((0, 1), (1, 2)))


@pytest.mark.parametrize(
    "weights", ["rows", {(0, 1): 1.0}, {(0, 1): 1.0, (1, 2): 0.0}, {(0, 1): 1.0, (1, 2): -1.0}]
)
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(BadRequest):
        sets.margin_weights(WANTED, weights)
