"""The picker: categories found by name, code, range and level, chosen, inverted and grouped; a bounded list; the verdict."""

import random
import re
from types import SimpleNamespace

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest, canonical
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.web.pages.picker import (
    MOST_LISTED,
    add_group,
    bands,
    coarser_groups,
    find_categories,
    label_of,
    picker,
    places_of,
)

from ..conftest import Page

#: An invented land with many areas.
REGIONS = tuple(Category(f"R{r}", f"Region {r}") for r in range(3))
AREAS = tuple(Category(f"A{n:04}", f"Place {n}", f"R{n % 3}") for n in range(3000))
AGES = tuple(Category(f"{5 * n}-{5 * n + 4}", f"{5 * n} to {5 * n + 4}") for n in range(20))
LAND = Dataset(
    "land",
    "Land",
    (Variable("region", "Region", REGIONS), Variable("area", "Area", AREAS), Variable("age", "Age", AGES)),
    "id",
    hierarchies=(Hierarchy("places", "Places", ("region", "area"), geography=True),),
)


def codes(name, search, within=""):
    return [LAND.variable(name).codes[place] for place in find_categories(LAND, name, search, within)[0]]


def test_names_codes_ranges_levels_and_forms_are_found():
    assert codes("area", "PLACE 1234") == ["A1234"]
    assert codes("area", "a0007") == ["A0007"]
    assert codes("age", "25..34") == ["25-29", "30-34"]
    assert len(codes("area", "region:R1")) == 1000
    assert len(codes("area", "A000?")) == 10
    places, problem = find_categories(LAND, "age", "27..34", "")
    assert (places, "lies inside the category" in problem) == ([], True)


def test_the_index_finds_what_a_slow_search_finds():
    choose = random.Random(7)
    for _ in range(30):
        number, region = str(choose.randrange(100)), choose.randrange(3)
        slow = [a.code for a in AREAS if a.parent == f"R{region}" and (number in a.label or number in a.code)]
        assert codes("area", number, f"region:R{region}") == slow


def test_coarser_levels_stand_above_and_hold_their_categories():
    assert [(each.item, each.size) for each in coarser_groups(LAND, "area", "", "")] == [
        (f"region:R{r}", 1000) for r in range(3)
    ]
    assert [each.label for each in coarser_groups(LAND, "area", "ion 2", "")] == ["Region 2"]
    assert coarser_groups(LAND, "area", "", "region:R2") == ()
    assert label_of(LAND, "area", "region:R2") == "Region 2"
    assert places_of(LAND, "area", "nowhere") == ()


def opened(name, filters=(), groups=(), **query):
    request = TableRequest("land", ("age",), filters=filters, groups=groups)
    return SimpleNamespace(**picker(LAND, name, canonical(request, LAND), QueryParams(query), ()))


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
    assert (inside.matches, inside.lines[0]["above"], inside.within[1]) == (1000, "Region 2", "Region 2")


def test_chosen_categories_become_a_group_and_the_others_stay():
    request = TableRequest("land", ("age",), filters=(("age", ("0-4", "5-9")),))
    made = canonical(add_group(LAND, "age", request, QueryParams({"group_name": "Young"})), LAND)
    assert made.filters == ()
    assert made.group_lines()[0].startswith("age=Young:0-4+5-9,10-14,15-19")
    again = opened("age", groups=(("age", (("Young:0-4", "5-9"), ("10-14", "15-19"))),))
    assert [group["label"] for group in again.groups] == ["Young", "10 to 14 + 15 to 19"]
    assert again.groups[1]["ungroup"].endswith("group=age=Young%3A0-4%2B5-9,10-14,15-19")
    with pytest.raises(BadRequest, match="needs categories"):
        add_group(LAND, "age", TableRequest("land", ("age",)), QueryParams({}))


def test_areas_are_not_grouped_and_what_is_not_in_the_table_neither():
    assert opened("age").can_group
    assert not opened("area").can_group


def test_the_verdict_alone_counts_nothing_and_is_not_kept(watched, watched_client):
    response = watched_client.get("/datasets/people/verdict?rows=district&columns=sex")
    assert response.headers["cache-control"] == "no-store"
    assert "<strong>147 cells</strong>, all 48 areas are available" in response.text
    refused = watched_client.get("/datasets/people/verdict?rows=sex,age,job,origin")
    assert refused.status_code == 200
    assert "at most 3 may be combined" in refused.text
    assert "colour" in watched_client.get("/datasets/people/verdict?colour=red").text
    assert watched.engines["people"].calls == 0


def test_a_picker_without_scripts_searches_and_keeps_what_was_ticked(client):
    query = [
        ("rows", "sex"),
        ("filter", "district=D01"),
        ("filter.district", "D02"),
        ("search", "district 3"),
    ]
    page = Page(client.get("/datasets/people/variables/district", params=query))
    missing = client.get("/datasets/people/variables/distric")
    assert (missing.status_code, "Did you mean &#34;district&#34;?" in missing.text) == (404, True)
    assert [e["value"] for e in page.all("input", type="hidden")] == ["sex", "D01,D02"]
    assert page.texts("code")[0] == "D03"
    sent = [
        ("rows", "sex"),
        ("filter.district", "D01,D02"),
        ("search", "district 3"),
        ("filter", "district=D03"),
    ]
    shown = client.get("/datasets/people", params=sent, follow_redirects=False)
    assert shown.headers["location"] == "/datasets/people?rows=sex&filter=district=D01,D02,D03#table"


PICKER = "/datasets/people/variables/age"


def test_groups_are_made_one_after_the_other_renamed_and_shown(client):
    """Wrong alternative: the picker closes after each group."""
    first = client.get(
        f"{PICKER}?rows=age&do=group&members=0-14..15-64&group_name=Below 65", follow_redirects=False
    )
    assert first.headers["location"].startswith(f"{PICKER}?rows=age&group=age=Below+65%3A0-14%2B15-64,65")
    page = client.get(first.headers["location"])
    assert 'value="Below 65"' in page.text
    number = re.search(r'value="Below 65".*?<span class="num">([\d,]+)<', page.text, re.DOTALL)[1]
    group = "group=age%3DBelow 65:0-14%2B15-64,65%5C%2B"
    table = client.get(f"/api/datasets/people/table?rows=age&{group}&format=csv").text
    assert f",{number.replace(',', '')}," in table, "the number of the table"
    renamed = client.get(
        f"{PICKER}?rows=age&{group}&do=show&label=Younger&label=65%2B", follow_redirects=False
    )
    assert renamed.headers["location"].startswith(
        "/datasets/people?rows=age&group=age=Younger%3A0-14%2B15-64,65"
    )
    assert "grouped" in client.get(renamed.headers["location"]).text


def test_numbers_fall_into_bands():
    codes = [f"{low}-{low + 4}" for low in range(0, 30, 5)] + ["30+", "x"]
    ages = Variable("age", "Age", tuple(Category(code, code) for code in codes))
    assert bands(ages, "10") == (
        (("0-4", "5-9"), "0\N{EN DASH}9"),
        (("10-14", "15-19"), "10\N{EN DASH}19"),
        (("20-24", "25-29"), "20\N{EN DASH}29"),
        (("30+",), ""),
        (("x",), ""),
    )
    assert bands(ages, "20")[1] == (("20-24", "25-29", "30+"), "20+")
    for wrong in ("", "1", "ten", "-5"):
        with pytest.raises(BadRequest, match="The width of the bands"):
            bands(ages, wrong)


def test_a_group_leads_to_its_picker_and_a_wrong_name_back_to_it(client):
    query = [("rows", "age"), ("filter", "age=0-14"), ("filter", "age=15-64"), ("do", "group")]
    made = client.get(
        "/datasets/people/variables/age", params=[*query, ("group_name", "Below 65")], follow_redirects=False
    )
    assert (made.status_code, made.headers["location"]) == (
        303,
        f"{PICKER}?rows=age&group=age=Below+65%3A0-14%2B15-64,65%2B".replace("65%2B", "65%5C%2B"),
    )
    wrong = client.get("/datasets/people/variables/age", params=[*query, ("group_name", "Total")])
    assert (wrong.status_code, "cannot be called" in wrong.text) == (200, True)
    empty = client.get("/datasets/people/variables/age?rows=age&do=group")
    assert "A group needs categories." in empty.text
