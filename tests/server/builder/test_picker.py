"""Categories are found by name, code, range and level, chosen, inverted and grouped; the list is bounded."""

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.model.request import TableRequest, canonical
from discreet.server.builder.picker import MOST_LISTED, grouped, picker

from .land import LAND


def opened(name, filters=(), groups=(), **query):
    request = TableRequest("land", ("age",), filters=filters, groups=groups)
    return picker(LAND, name, canonical(request, LAND), QueryParams(query), ())


def codes(found):
    return [line.code for line in found.lines]


def test_the_list_is_bounded_and_all_none_and_invert_mean_every_match():
    """Buttons that meant the listed ones only would choose 200 of 1,000."""
    found = opened("area", search="region:R1", do="all")
    assert (len(found.lines), found.matches, found.chosen) == (MOST_LISTED, 1000, 1000)
    assert found.unlisted.count(",") == 799
    inverted = opened("area", filters=(("area", ("A0000..A0004",)),), do="invert")
    assert (inverted.chosen, inverted.unlisted) == (2995, "A0200..A2999")
    assert opened("area", filters=(("area", ("A0000..A0004",)),), do="none").chosen == 0
    assert len(opened("area", list="all").lines) == 3000


def test_all_areas_of_a_region_are_added_or_looked_into_at_once():
    found = opened("area")
    assert [(above.item, above.size) for above in found.above] == [(f"region:R{r}", 1000) for r in range(3)]
    assert opened("area", add="region:R2").chosen == 1000
    inside = opened("area", within="region:R2")
    assert (inside.matches, inside.lines[0].above, inside.within[1]) == (1000, "Region 2", "Region 2")


def test_chosen_categories_become_a_group_and_the_others_stay():
    request = TableRequest("land", ("age",), filters=(("age", ("0-4", "5-9")),))
    made = canonical(grouped(LAND, "age", request, QueryParams({"group_name": "Young"})), LAND)
    assert made.filters == ()
    assert made.group_lines()[0].startswith("age=Young:0-4+5-9,10-14,15-19")
    again = opened("age", groups=(("age", (("Young:0-4", "5-9"), ("10-14", "15-19"))),))
    assert [group.label for group in again.groups] == ["Young", "10 to 14 + 15 to 19"]
    assert again.groups[1].ungroup.endswith("group=age=Young%3A0-4%2B5-9,10-14,15-19")
    with pytest.raises(BadRequest, match="needs categories"):
        grouped(LAND, "age", TableRequest("land", ("age",)), QueryParams({}))


def test_areas_are_not_grouped_and_what_is_not_in_the_table_neither():
    assert opened("age").can_group
    assert not opened("area").can_group
