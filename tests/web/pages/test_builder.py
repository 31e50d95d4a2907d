"""The table builder: edits of a request, the variables, chips and menus of a form, and what it sends."""

from urllib.parse import parse_qs, parse_qsl, urlsplit

from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.web.pages.builder import (
    place_variable,
    remove_variable,
    set_filter,
    set_groups,
    set_levels,
    shelves,
    swap_axes,
)

from ..conftest import Page

ASKED = TableRequest(
    "people", ("age", "district"), ("sex",), filters=(("age!", ("1",)), ("sex", ("1",))), levels=(("district", ("region",)),)
)  # fmt: skip


def test_a_variable_stands_once_wherever_it_is_put():
    assert place_variable(ASKED, "sex", "rows", 0).variables == ("sex", "age", "district")
    assert place_variable(ASKED, "job", "layers").layers == ("job",)


def test_who_leaves_the_table_takes_groups_and_levels_along_and_leaves_the_filter():
    """A level of a variable that is not in the table would be refused."""
    left = remove_variable(ASKED, "district")
    assert (left.rows, left.levels, left.filters) == (("age",), (), ASKED.filters)
    grouped = set_groups(ASKED, "age", ((("1", "2"), "Young"),))
    assert "group" not in dict(remove_variable(grouped, "age").to_query())


def test_groups_levels_and_filters_are_changed_for_one_variable_alone():
    grouped = set_groups(ASKED, "district", ((("1", "2"), "Both"), (("3",), "")))
    assert (grouped.levels, grouped.group_lines()) == ((), ["district=Both:1+2,3"])
    assert set_groups(grouped, "district", ()).group_lines() == []
    assert set_levels(ASKED, "district", ()).levels == ()
    assert set_filter(ASKED, "age", ("2",)).filters == (("sex", ("1",)), ("age", ("2",)))
    assert swap_axes(ASKED).columns == ASKED.rows


TWO = (Category("1", "One", "a"), Category("2", "Two", "a"))
TOWN = Dataset(
    "town",
    "Town",
    (
        Variable("job", "Job", TWO, topic="Work", description="What people do."),
        Variable("area", "Area", TWO),
        Variable("region", "Region", (Category("a", "All"),)),
        Variable("sex", "Sex", TWO),
        Variable("trade", "Trade", TWO, topic="Work"),
    ),
    "id",
    hierarchies=(Hierarchy("places", "Places", ("region", "area"), geography=True),),
)


def test_variables_stand_under_their_topics_places_first():
    drawn = shelves(TOWN, TableRequest("town", ("sex",)))
    topics = {topic: [entry.variable.name for entry in entries] for topic, entries in drawn.topics}
    assert topics == {"Geography": ["area", "region"], "Work": ["job", "trade"], "Other": ["sex"]}
    assert list(topics) == ["Geography", "Work", "Other"]


def test_a_chip_offers_every_other_place_and_level_and_the_only_one_cannot_be_removed():
    (rows, columns, _), alone = shelves(TOWN, TableRequest("town", ("area",))).axes, ""
    assert rows.chips[0].remove == alone
    assert columns.chips == ()
    moves = {move.label: move.href for move in rows.chips[0].moves}
    assert moves["Move to columns"] == "/datasets/town?columns=area"
    assert moves["Show by: Region, with parts"] == "/datasets/town?rows=area&levels=area=region,area"


def test_links_keep_the_view_and_the_version():
    drawn = shelves(TOWN, TableRequest("town", ("sex",)), [("percent", "row"), ("version", "7")])
    assert drawn.swap == "/datasets/town?columns=sex&percent=column&version=7"


def test_only_choices_that_lead_to_an_offered_table_are_shown():
    """Of sex x job and trade alone: nothing leads to region, to a filter or to another level; trade leads away."""
    offered = [TableRequest("town", ("sex",), ("job",)), TableRequest("town", ("trade",))]

    def offer(wanted):
        same = [t for t in offered if set(wanted.variables) <= set(t.variables) and wanted.filters == ()]
        if not same or set(wanted.variables) == set(same[0].variables):
            return wanted if same else None
        return same[0]

    drawn = shelves(TOWN, TableRequest("town", ("sex",), ("job",)), offer=offer)
    entries = {entry.variable.name: entry for _, found in drawn.topics for entry in found}
    assert entries.keys() == {"sex", "job", "trade"}
    assert (entries["trade"].add.label, entries["trade"].add.href, entries["trade"].places) == (
        "Show a table of it alone",
        "/datasets/town?rows=trade",
        {},
    )
    chips = [chip for shelf in drawn.axes for chip in shelf.chips]
    assert [(chip.pick, chip.remove) for chip in chips] == [("", ""), ("", "")]
    assert drawn.swap == "/datasets/town?rows=job&columns=sex"
    assert not drawn.filters
    everything = shelves(TOWN, TableRequest("town", ("sex",), ("job",)))
    assert everything.filters
    assert all(chip.pick and chip.remove for shelf in everything.axes for chip in shelf.chips)


def test_a_variable_that_would_be_refused_stays_in_the_list_with_the_reason():
    """Wrong: a plus that leads to a refusal, or a variable that is missing without a word."""

    def foresee(wanted):
        return ("limit reached", "Two are too many.") if "job" in wanted.variables else None

    drawn = shelves(TOWN, TableRequest("town", ("sex",)), foresee=foresee)
    entries = {entry.variable.name: entry for _, found in drawn.topics for entry in found}
    job, area, sex = (entries[name] for name in ("job", "area", "sex"))
    assert (job.reason, job.why, job.places) == ("limit reached", "Two are too many.", {})
    assert (area.reason, sorted(area.places)) == ("", ["columns", "layers", "rows"])
    assert not sex.reason, "what is in the table is not foreseen again"


def chosen(page):
    """The choice of the page, as its scripts read it."""
    return parse_qsl(next(e["data-query"] for e in page.elements if "data-query" in e))


def test_the_form_is_filled_in_from_the_address(client):
    query = "rows=age&columns=sex&layers=region&filter=origin=2,3&group=age=0-14%2B15-64&totals=no"
    page = Page(client.get(f"/datasets/people?{query}"))
    assert page.chosen() == ["age", "sex", "region"]
    assert chosen(page)[3:5] == [("filter", "origin=2,3"), ("group", "age=0-14+15-64")]
    assert "None" in [e["text"] for e in page.all("a", **{"aria-current": "true"})], "no totals"


def test_what_the_form_sends_becomes_the_clean_permalink(client):
    sent = [
        ("rows", "sex"), ("rows", ""), ("columns", "age"), ("columns", ""), ("layers", ""),
        ("filter", "origin=3"), ("filter", "origin=2"), ("filter.district", "D01, district 2"), ("search", "d"),
        ("group", "job=1+2"), ("levels", "district=region"),
    ]  # fmt: skip
    response = client.get("/datasets/people", params=sent, follow_redirects=False)
    assert (response.status_code, response.headers["cache-control"]) == (303, "no-store")
    target = urlsplit(response.headers["location"])
    assert (target.path, target.fragment) == ("/datasets/people", "table")
    assert parse_qsl(target.query) == [
        ("rows", "sex"), ("columns", "age"), ("filter", "district=D01,D02"), ("filter", "origin=2,3"),
    ]  # fmt: skip
    page = Page(client.get(response.headers["location"]))
    assert "District: District 1, District 2" in page.texts("a", id="only-district")


def test_a_mistyped_line_of_codes_is_kept_to_be_mended(client):
    page = Page(client.get("/datasets/people?rows=sex&filter.district=D01,D99"))
    assert page.texts("a", id="only-district") == ["District: D01, D99"]
    picker = Page(client.get(page.all("a", id="only-district")[0]["href"]))
    assert [e["value"] for e in picker.all("input", type="checkbox") if "checked" in e] == ["district=D01"]
    assert "D99" in picker.texts("p", role="alert")[0]


def test_a_hostile_category_can_be_filtered_by_its_box(client):
    page = Page(client.get("/datasets/hostile/variables/bad?rows=good"))
    box = next(e["value"] for e in page.all("input", type="checkbox") if e["value"].startswith("bad=a"))
    filtered = Page(client.get("/datasets/hostile", params={"rows": "good", "filter": box}))
    assert ("filter", box) in chosen(filtered)


def test_of_a_wrong_address_as_much_is_kept_as_can_be_read(client):
    """A form that fell back to the default table would lose the reader's choice."""
    page = Page(client.get("/datasets/people?rows=job,nothing&columns=sex%5C&filter=age&filter=origin=2"))
    assert chosen(page) == [("rows", "job"), ("filter", "origin=2")]


def test_links_alone_build_a_three_way_table_and_take_it_apart_again(client):
    address = "/datasets/people?rows=age"
    for control in ("add-sex", "add-job"):
        address = Page(client.get(address)).all("a", id=control)[0]["href"]
    assert parse_qs(urlsplit(address).query) == {"rows": ["age,job"], "columns": ["sex"]}
    page = Page(client.get(address))
    layered = next(e["href"] for e in page.all("a", **{"data-live": None}) if "layers=job" in e["href"])
    page = Page(client.get(layered))
    assert page.texts("h1", id="result-title") == ["Persons by age, sex and job"]
    removed = next(e["href"] for e in page.all("a", class_="x") if e["title"] == "Remove Job")
    assert parse_qs(urlsplit(removed).query) == {"rows": ["age"], "columns": ["sex"]}
