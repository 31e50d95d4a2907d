"""The table that rules look at is the same whatever part of it is asked for."""

from dataclasses import replace

import pytest

from discreet.errors import TooManyCells
from discreet.rules import unfiltered as module
from discreet.rules.unfiltered import needs_table, unfiltered, unfiltered_shape


def test_filters_groups_and_layout_do_not_change_the_table_that_is_looked_at(ask, dataset):
    plain, _ = ask(rows=["area"], columns=["job"])
    for parts in (
        {"rows": ["job"], "columns": ["area"]},
        {"rows": ["area"], "filters": ["job=1"]},
        {"rows": ["area"], "columns": ["job"], "groups": ["job=0+1,2"]},
        {"rows": ["area", "region"], "columns": ["job"], "totals": False},
    ):
        assert unfiltered(ask(**parts)[0], dataset) == unfiltered(plain, dataset)
    assert unfiltered(ask(rows=["area"])[0], dataset) != unfiltered(plain, dataset)


def test_a_small_part_of_a_large_table_is_as_large_as_the_whole(ask, dataset):
    request, shape = ask(rows=["sex"], filters=["area=N1", "job=1"])
    assert unfiltered_shape(request, dataset).cells > shape.cells
    tight = replace(dataset, protection=replace(dataset.protection, max_cells=shape.cells))
    with pytest.raises(TooManyCells, match="without its filters and groups"):
        unfiltered_shape(request, tight)


def test_no_table_is_needed_where_no_rule_on_counts_is_concerned(ask, dataset, rules):
    request, _ = ask(rows=["area"], columns=["sex"])
    assert not needs_table(rules({"kind": "max-variables", "most": 1}), request, dataset)
    assert needs_table(rules({"kind": "share-of-zeros", "most": 0.5}), request, dataset)
    wide = rules({"kind": "share-of-zeros", "most": 0.5, "from_variables": 2})
    assert not needs_table(wide, request, dataset)


def test_what_is_remembered_is_bounded(ask, dataset, monkeypatch):
    """The wrong alternative: one more table in memory for every set of variables that anybody asks for."""
    monkeypatch.setattr(module, "MOST_TABLES", 2)
    fresh = replace(dataset)
    for name in ("area", "job", "sex", "age"):
        request, _ = ask(rows=[name])
        assert unfiltered(request, fresh) is unfiltered(request, fresh)
        assert unfiltered(request, fresh) == unfiltered(request, replace(dataset))
    assert len(fresh.worked_out[module._table,]) <= 2
