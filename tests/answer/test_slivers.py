"""Declared groups that differ by a handful of people are named to the custodian."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answer.slivers import counted_variables, slivers
from discreet.model.variable import CodeList
from discreet.rules.places import groupings

PLANNING = CodeList(
    "planning", "Planning regions", "area", (("P", "Plan", ("N1", "N2", "S1")), ("Q", "Rest", ("S2", "S3")))
)

BROAD = CodeList("broad", "Broad", "job", (("W", "Work", ("1", "2")),))


def test_an_area_that_is_all_but_a_person_of_its_region_is_named(dataset):
    found = slivers(dataset, {"area": {"N1": 500, "N2": 1, "S1": 300, "S2": 300, "S3": 300}})
    assert len(found) == 1
    assert found[0].startswith("'N1' of \"area\" and 'N' of \"region\" differ by one person (fewer than 10)")


def test_a_group_of_a_code_list_that_is_almost_a_region_is_named(dataset):
    counts = {"area": {"N1": 500, "N2": 400, "S1": 7, "S2": 300, "S3": 300}}
    found = slivers(replace(dataset, code_lists=(PLANNING,)), counts, 8)
    assert any("'N' of \"region\" and 'P' of \"planning\" differ by 7 people" in text for text in found)
    assert any("'S' of \"region\" and 'Q' of \"planning\" differ by 7 people" in text for text in found)
    assert len(found) == 2
    assert not slivers(replace(dataset, code_lists=(PLANNING,)), counts, 7)


def test_a_region_that_is_almost_everybody_is_named(dataset):
    found = slivers(dataset, {"area": {"N1": 500, "N2": 400, "S2": 3}})
    assert any("'N' of \"region\" and Everybody differ by 3 people" in text for text in found)


def test_groups_of_the_same_people_are_no_slivers(dataset):
    assert not slivers(dataset, {"area": {"N1": 500, "S1": 400, "S2": 300}})


def test_the_counts_that_it_needs_are_those_of_the_finest_levels_and_of_code_lists(dataset):
    assert counted_variables(replace(dataset, code_lists=())) == ("area",)
    listed = replace(dataset, code_lists=(BROAD,))
    assert counted_variables(listed) == ("area", "job")
    assert not slivers(listed, {})


def test_people_in_no_group_of_a_code_list_are_in_none(dataset):
    listed = replace(dataset, code_lists=(BROAD,))
    found = slivers(listed, {"job": {"0": 100, "1": 50, "2": 3}})
    assert found == (
        "'1' of \"job\" and 'W' of \"broad\" differ by 3 people (fewer than 10): "
        "merge one with a neighbour, or declare only one of them.",
    )


@settings(max_examples=80)
@given(
    people=st.lists(st.integers(0, 12), min_size=5, max_size=5),
    fewer_than=st.integers(2, 15),
)
def test_it_agrees_with_comparing_every_two_groups(people, fewer_than, dataset):
    listed = replace(dataset, code_lists=(PLANNING,))
    codes = dataset.variable("area").codes
    lists = {"area": {code: np.array([place]) for place, code in enumerate(codes)}}
    lists |= {
        level: {group.code: np.array(group.members) for group in groups}
        for level, groups in groupings(listed, "area").items()
    }
    lists["total"] = {"everybody": np.arange(5)}
    expected = 0
    names = list(lists)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            for a in lists[one].values():
                for b in lists[other].values():
                    both = sum(people[i] for i in set(a.tolist()) & set(b.tolist()))
                    apart = sum(people[i] for i in set(a.tolist()) ^ set(b.tolist()))
                    expected += both > 0 and 0 < apart < fewer_than
    assert len(slivers(listed, {"area": dict(zip(codes, people, strict=True))}, fewer_than)) == expected
