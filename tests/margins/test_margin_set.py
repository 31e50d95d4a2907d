import numpy as np
import pytest
from hypothesis import given, settings

from discreet.errors import BadRequest, UnknownVariable
from discreet.margins.margin_set import (
    MarginSet,
    closure_tables,
    margin_table,
    margin_tables,
    margin_weights,
    parse_margins,
)

from .conftest import margin_sets, random_counts, summing_matrix


def test_closures_of_the_papers_models_have_the_known_sizes(papers, figures):
    assert {name: len(wanted.closure) for name, (_, wanted) in papers.items()} == {
        "edwards": figures["table8.edwards.B"],
        "czech": figures["table8.czech.B"],
        "rochdale": figures["table8.rochdale.B"],
        "journey": 7,
    }


@settings(max_examples=40, deadline=None)
@given(margin_sets())
def test_a_margin_is_what_the_summing_matrix_gives(wanted):
    counts = random_counts(wanted)
    for margin in wanted.closure:
        expected = summing_matrix(wanted, margin) @ counts.ravel()
        assert margin_table(counts, margin).ravel().tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(margin_sets())
def test_all_margins_of_the_closure_follow_from_the_wanted_ones(wanted):
    counts = random_counts(wanted)
    tables = closure_tables(margin_tables(counts, wanted), wanted)
    assert tuple(tables) == wanted.closure
    for margin, table in tables.items():
        assert np.array_equal(table, margin_table(counts, margin))


def test_words_and_letters_are_read_alike():
    letters = parse_margins("BA, CB ,AB", "ABC", (2, 3, 4))
    words = parse_margins("age*sex,region*age", ("sex", "age", "region"), (2, 3, 4))
    assert letters.margins == words.margins == ((0, 1), (1, 2))
    assert letters.label((0, 1)) == "AB"
    assert words.label((0, 1)) == "sex*age"
    assert words.label(()) == "total"


def test_a_mistyped_variable_is_refused_with_the_nearest():
    with pytest.raises(UnknownVariable, match='Did you mean "region"'):
        parse_margins("regoin", ("sex", "region"), (2, 3))


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
        MarginSet(names, shape, margins)


def test_margins_with_a_million_sub_margins_are_refused():
    names = tuple(f"v{j}" for j in range(21))
    with pytest.raises(BadRequest, match="sub-margins"):
        MarginSet(names, (2,) * 21, (tuple(range(21)),))


WANTED = MarginSet(("A", "B", "C"), (2, 3, 5), ((0, 1), (1, 2)))


@pytest.mark.parametrize(
    "weights", ["rows", {(0, 1): 1.0}, {(0, 1): 1.0, (1, 2): 0.0}, {(0, 1): 1.0, (1, 2): -1.0}]
)
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(BadRequest):
        margin_weights(WANTED, weights)
