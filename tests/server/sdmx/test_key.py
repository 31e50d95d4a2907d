"""The key: codes by position, all where a position is empty, and the variables of the table."""

import pytest

from discreet.answer.doors import Doors
from discreet.errors import BadRequest, UnknownCategory
from discreet.server.sdmx.flows import named_flow
from discreet.server.sdmx.key import read_key, table_variables


@pytest.fixture
def people(small_workspace):
    return lambda name: named_flow(Doors(small_workspace).door("people"), name)


def test_an_empty_position_means_all_and_a_plus_joins(people):
    flow = people("people-sex-age-region")
    assert read_key(flow, "2+1..R1") == {"sex": ("1", "2"), "region": ("R1",)}
    assert read_key(flow, "*._T+65$2B.") == {"age": ("65+", "_T")}
    assert read_key(flow, "all") == read_key(flow, "..") == {}


@pytest.mark.parametrize(
    ("key", "error", "said"),
    [
        ("1", BadRequest, "sex.age"),
        ("1..", BadRequest, "2 dimensions"),
        ("3.", UnknownCategory, '"sex" has no code "3"'),
        (".65+", UnknownCategory, '"age" has no code ""'),
        ("1+.", UnknownCategory, "sex"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(people, key, error, said):
    with pytest.raises(error, match=said):
        read_key(people("people-sex-age"), key)


def test_in_the_dataflow_of_a_dataset_totals_are_no_variables(people):
    whole = people("people")
    assert table_variables(whole, read_key(whole, "_T._T.1+_T.._T._T")) == ("sex", "age")
    assert table_variables(whole, read_key(whole, "_T._T._T._T._T._T")) == ("region",)
    assert len(table_variables(whole, {})) == 6


def test_a_table_keeps_its_variables_so_that_slices_agree(people):
    """Wrong alternative: `_T` leaves a variable out of a named table too, and a fitted total then differs by slice."""
    table = people("people-sex-age")
    assert table_variables(table, read_key(table, "_T.65$2B")) == ("sex", "age")
