"""A verdict is plain data that follows from noisy counts; a rule may spare what another withholds.

The table that rules look at is the same whatever part of it is asked for.
"""

from dataclasses import replace

import pytest

from discreet.errors import TooManyCells
from discreet.rules import verdict as module
from discreet.rules.verdict import needs_table, rule_table, rule_table_shape, verdict_of

#: Areas by sex (down) and age (along).
DENSE, HALF_EMPTY = [[9, 9, 9], [9, 9, 9]], [[9, 0, 0], [0, 0, 9]]


def test_the_verdict_is_plain_data(two_regions, rules, dataset):
    import json

    table, _ = two_regions
    section, sparse = {"most": 0.5}, HALF_EMPTY
    verdict = verdict_of(rules({"kind": "share-of-zeros", **section}), table(DENSE, sparse), dataset)
    assert json.loads(json.dumps(verdict.as_json())) == {
        "passed": 0,
        "blocked": 2,
        "total": 2,
        "table_error": "No area can be shown.",
        "rules": [
            {
                "code": "share-of-zeros",
                "message": "In 1 of 2 areas more than 50% of the cells are empty.",
                "advice": "Take a variable out, filters included, or use larger areas or none.",
            },
            {
                "code": "complement",
                "message": "One more area is withheld, so that totals less the areas shown do not give the others away.",
                "advice": "Take a variable out, filters included, or use larger areas or none.",
            },
        ],
    }


def test_a_large_mean_cell_rescues_from_the_rules_that_it_lists(two_regions, rules, dataset):
    table, _ = two_regions
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    sparse, rich = HALF_EMPTY, [[999, 0, 0], [0, 0, 999]]
    mean = {"kind": "mean-cell-size", "least": 1, "rescue": 100}
    verdict = verdict_of(rules(zeros, mean), table(rich, sparse), dataset)
    assert verdict.by_rule[:2].tolist() == [False, True]
    unlisted = {**mean, "rescues": ["share-of-ones"]}
    assert verdict_of(rules(zeros, unlisted), table(rich, sparse), dataset).mask[:2].all()


def test_filters_groups_and_layout_do_not_change_the_table_that_is_looked_at(ask, dataset):
    plain, _ = ask(rows=["area"], columns=["job"])
    for parts in (
        {"rows": ["job"], "columns": ["area"]},
        {"rows": ["area"], "filters": ["job=1"]},
        {"rows": ["area"], "columns": ["job"], "groups": ["job=0+1,2"]},
        {"rows": ["area", "region"], "columns": ["job"], "totals": False},
    ):
        assert rule_table(ask(**parts)[0], dataset) == rule_table(plain, dataset)
    assert rule_table(ask(rows=["area"])[0], dataset) != rule_table(plain, dataset)


def test_a_small_part_of_a_large_table_is_as_large_as_the_whole(ask, dataset):
    request, shape = ask(rows=["sex"], filters=["area=N1", "job=1"])
    assert rule_table_shape(request, dataset).cells > shape.cells
    tight = replace(dataset, protection=replace(dataset.protection, max_cells=shape.cells))
    with pytest.raises(TooManyCells, match="without its filters and groups"):
        rule_table_shape(request, tight)


def test_no_table_is_needed_where_no_rule_on_counts_is_concerned(ask, dataset, rules):
    request, _ = ask(rows=["area"], columns=["sex"])
    assert not needs_table(rules({"kind": "max-variables", "most": 1}), request, dataset)
    assert needs_table(rules({"kind": "share-of-zeros", "most": 0.5}), request, dataset)
    wide = rules({"kind": "share-of-zeros", "most": 0.5, "from_variables": 2})
    assert not needs_table(wide, request, dataset)


def test_what_is_remembered_is_bounded(ask, dataset, monkeypatch):
    """The wrong alternative: one more table in memory for every set of variables that anybody asks for."""
    monkeypatch.setattr(module, "MOST_RULE_TABLES", 2)
    fresh = replace(dataset)
    for name in ("area", "job", "sex", "age"):
        request, _ = ask(rows=[name])
        assert rule_table(request, fresh) is rule_table(request, fresh)
        assert rule_table(request, fresh) == rule_table(request, replace(dataset))
    assert len(fresh.worked_out[module._table,]) <= 2
