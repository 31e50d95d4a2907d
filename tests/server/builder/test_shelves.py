"""Topics, definitions, chips and their menus."""

from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.model.variable import Category, Hierarchy, Variable
from discreet.server.builder.shelves import shelves

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
    assert [chip.chosen for chip in columns.chips] == [""]
    moves = {move.label: move.href for move in rows.chips[0].moves}
    assert moves["Move to columns"] == "/datasets/town?columns=area"
    assert moves["Show by: Region, with parts"] == "/datasets/town?rows=area&levels=area=region,area"


def test_links_keep_the_view_and_the_version():
    drawn = shelves(TOWN, TableRequest("town", ("sex",)), [("percent", "row"), ("version", "7")])
    assert drawn.swap == "/datasets/town?columns=sex&percent=row&version=7"


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
        "Show a table with it",
        "/datasets/town?rows=trade",
        (),
    )
    chips = [chip for shelf in drawn.axes for chip in shelf.chips if chip.chosen]
    assert [(chip.pick, chip.remove) for chip in chips] == [("", ""), ("", "")]
    assert drawn.swap == "/datasets/town?rows=job&columns=sex"
    assert not drawn.filters
    everything = shelves(TOWN, TableRequest("town", ("sex",), ("job",)))
    assert everything.filters
    assert all(chip.pick and chip.remove for shelf in everything.axes for chip in shelf.chips if chip.chosen)
