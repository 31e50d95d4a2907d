"""Edits of a request: each takes out, adds or makes coarser what it says."""

from discreet.model.request import TableRequest
from discreet.rules.request_edits import (
    add_variables,
    drop_choices,
    drop_one_variable,
    drop_variables,
    use_larger_areas,
)

MIXED = {"rows": ["area"], "columns": ["sex", "age"], "levels": ["area=region,area"]}


def test_larger_areas_are_larger_whatever_the_levels(ask, dataset):
    (fewer,) = use_larger_areas(ask(**MIXED)[0], dataset)
    assert fewer.levels == (("area", ("region",)),)
    (none,) = use_larger_areas(fewer, dataset)
    assert (none.variables, none.levels) == (("sex", "age"), ())
    (region,) = use_larger_areas(ask(rows=["area"], columns=["sex"])[0], dataset)
    assert region.variables == ("region", "sex")


def test_a_variable_that_is_taken_out_leaves_no_word_behind(ask):
    request, _ = ask(rows=["age"], columns=["job"], filters=["age=child,old"], groups=["job=0+1,2"])
    (left,) = drop_variables(request, "age")
    assert (left.rows, left.columns, left.filters) == ((), ("job",), ())
    assert left.groups == request.groups
    assert list(drop_variables(request, "age", "job")) == []


def test_groups_are_dropped_and_the_variable_stays(ask):
    request, _ = ask(rows=["job"], groups=["job=0+1,2"])
    (plain,) = drop_choices(request, "job")
    assert (plain.rows, plain.groups) == (("job",), ())


def test_what_is_shown_already_is_not_added_again():
    (more,) = add_variables(TableRequest("town", ("sex",)), "sex", "age")
    assert (more.rows, more.columns) == (("sex",), ("age",))


def test_a_hidden_filter_goes_first_and_then_the_longest_variable_and_never_the_geography(ask, dataset):
    request, _ = ask(rows=["area"], columns=["sex", "job"], filters=["age=old"])
    left = [edit.used for edit in drop_one_variable(request, dataset)]
    assert left == [request.used - {gone} for gone in ("age", "job", "sex")]
