"""A search finds names, codes, ranges, levels and forms; a slow, obvious one agrees."""

import random

from discreet.server.builder.search import above, found, label_of, places_of

from .land import AREAS, LAND


def codes(name, search, within=""):
    return [LAND.variable(name).codes[place] for place in found(LAND, name, search, within)[0]]


def test_names_codes_ranges_levels_and_forms_are_found():
    assert codes("area", "PLACE 1234") == ["A1234"]
    assert codes("area", "a0007") == ["A0007"]
    assert codes("age", "25..34") == ["25-29", "30-34"]
    assert len(codes("area", "region:R1")) == 1000
    assert len(codes("area", "A000?")) == 10
    places, problem = found(LAND, "age", "27..34", "")
    assert (places, "lies inside the category" in problem) == ([], True)


def test_the_index_finds_what_a_slow_search_finds():
    choose = random.Random(7)
    for _ in range(30):
        number, region = str(choose.randrange(100)), choose.randrange(3)
        slow = [a.code for a in AREAS if a.parent == f"R{region}" and (number in a.label or number in a.code)]
        assert codes("area", number, f"region:R{region}") == slow


def test_coarser_levels_stand_above_and_hold_their_categories():
    assert [(each.item, each.size) for each in above(LAND, "area", "", "")] == [
        (f"region:R{r}", 1000) for r in range(3)
    ]
    assert [each.label for each in above(LAND, "area", "ion 2", "")] == ["Region 2"]
    assert above(LAND, "area", "", "region:R2") == ()
    assert label_of(LAND, "area", "region:R2") == "Region 2"
    assert places_of(LAND, "area", "nowhere") == ()
