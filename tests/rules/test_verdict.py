"""A verdict is plain data that follows from noisy counts; a rule may spare what another withholds."""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.model.exact import ExactTable
from discreet.rules import verdict as module
from discreet.rules.noisy_table import NoisyTable, slices_of
from discreet.rules.verdict import rule_table, verdict_of

#: Areas by sex (down) and age (along).
DENSE, HALF_EMPTY = [[9, 9, 9], [9, 9, 9]], [[9, 0, 0], [0, 0, 9]]


def test_the_verdict_is_plain_data(two_regions, rules, dataset):
    table, _ = two_regions
    verdict = verdict_of(rules({"kind": "share-of-zeros", "most": 0.5}), table(DENSE, HALF_EMPTY), dataset)
    told = json.loads(json.dumps(verdict.as_json()))
    found = told.pop("rules")
    assert told == {"passed": 0, "blocked": 2, "total": 2, "table_error": "No area can be shown."}
    assert [each["code"] for each in found] == ["share-of-zeros", "complement"]
    assert found[0]["message"] == "In 1 of 2 areas more than 50% of the cells are empty."
    assert all(each["advice"] == "Use larger areas, or none." for each in found)


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


def test_what_is_remembered_is_bounded(ask, dataset, monkeypatch):
    """The wrong alternative: one more table in memory for every set of variables that anybody asks for."""
    monkeypatch.setattr(module, "MOST_RULE_TABLES", 2)
    fresh = replace(dataset)
    for name in ("area", "job", "sex", "age"):
        request, _ = ask(rows=[name])
        assert rule_table(request, fresh) is rule_table(request, fresh)
        assert rule_table(request, fresh) == rule_table(request, replace(dataset))
    assert len(fresh.cache[module._table,]) <= 2


def test_what_is_exact_filtered_or_of_several_levels_is_not_shown_to_rules(ask, dataset):
    _, shape = ask(rows=["sex"])
    counts = np.zeros(shape.lengths, dtype=np.int64)
    exact = ExactTable(shape, counts, counts.astype(np.uint64))
    nothing = np.zeros(shape.lengths, dtype=np.bool_)
    for error, said, *given in (
        (TypeError, "nothing exact", exact, nothing),
        (TypeError, "int64", counts.astype(float), nothing),
        (ValueError, "its shape", counts[:-1], nothing[:-1]),
    ):
        with pytest.raises(error, match=said):
            NoisyTable(shape, *given)
    assert repr(NoisyTable(shape, counts, nothing)) == "<NoisyTable of 3 cells>"
    for said, parts in (
        ("unfiltered", {"rows": ["sex"], "filters": ["age=old"]}),
        ("unfiltered", {"rows": ["sex"], "totals": False}),
        ("finest", {"rows": ["region"], "columns": ["area"]}),
    ):
        _, shape = ask(**parts)
        zeros = np.zeros(shape.lengths, dtype=np.int64)
        with pytest.raises(ValueError, match=said):
            slices_of(NoisyTable(shape, zeros, zeros.astype(bool)), dataset)
