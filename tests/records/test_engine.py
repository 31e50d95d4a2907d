"""What an engine is asked and gives: all variables are named, and what it gives is confidential."""

import pytest

from discreet.errors import UnknownEngine
from discreet.records.engine import DEFAULT_ENGINE, AggregateQuery, SparseCells, engine_kind, engine_kinds


def test_a_query_looks_at_what_it_groups_by_and_at_what_it_filters():
    query = AggregateQuery(("sex",), (("age", (0, 1)), ("sex", (1,))))
    assert query.variables == {"sex", "age"}


def test_cells_tell_how_many_variables_they_have_and_no_count():
    cells = SparseCells(((), ()), 4711, 1234)
    assert repr(cells) == "<SparseCells by 2 variables, confidential>"
    assert "4711" not in f"{cells}{cells!r}"


def test_the_default_is_known_and_a_mistyped_name_gets_the_nearest():
    assert engine_kind(DEFAULT_ENGINE) in engine_kinds()
    with pytest.raises(UnknownEngine, match="duckdb"):
        engine_kind("dukcdb")
