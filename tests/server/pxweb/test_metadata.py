"""Metadata as JSON-stat, in PxWeb's profile."""

from dataclasses import replace

from jsonstat_validator import validate_jsonstat

from discreet.server.pxweb.code_lists import dimension_of
from discreet.server.pxweb.contents import contents_of
from discreet.server.pxweb.metadata import described_dimensions, metadata_document

#: What PxWebApi's own schema allows at the top.
TOP = {
    "version",
    "class",
    "href",
    "label",
    "source",
    "updated",
    "link",
    "note",
    "role",
    "id",
    "size",
    "dimension",
    "extension",
    "value",
    "status",
}


def test_every_variable_can_be_eliminated_and_nothing_may_be_added_up(px):
    document = px("/tables/town/metadata?outputFormat=json-stat2&defaultSelection=False")
    assert set(document) <= TOP
    assert document["id"] == ["region", "area", "sex", "age", "job", "ContentsCode"]
    assert document["extension"]["px"]["aggregallowed"] is False
    assert document["extension"]["noteMandatory"] == {"0": True}
    assert "randomly adjusted" in document["note"][0]
    assert document["role"] == {"geo": ["region", "area"], "metric": ["ContentsCode"]}
    for name, dimension in document["dimension"].items():
        if name != "ContentsCode":
            assert dimension["extension"]["elimination"] is True
            assert dimension["extension"]["eliminationValueCode"] in dimension["category"]["index"]
        assert dimension["extension"]["codelists"] == dimension["extension"]["codeLists"]
    validate_jsonstat(document)


def test_a_code_list_shows_what_lies_within_what(px):
    document = px("/tables/town/metadata?codelist[AREA]=vs_town_area.region-area")
    assert document["dimension"]["area"]["category"]["child"] == {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}


def test_metadata_of_a_selection_has_what_its_data_have(px):
    default, data = px("/tables/town/metadata?defaultSelection=true"), px("/tables/town/data")
    assert default["dimension"] == data["dimension"]
    body = {
        "tableId": "town",
        "selection": {"selection": [{"variableCode": "age", "valueCodes": ["BOTTOM(2)"]}]},
    }
    query = px("/savedqueries", body)["id"]
    assert (
        px(f"/tables/town/metadata?savedQuery={query}")["dimension"]
        == px(f"/savedqueries/{query}/data")["dimension"]
    )


def test_labels_of_dimensions_are_all_different(px_doors):
    """pxwebpy builds its rows by label. Wrong alternative: labels as they are, of which one would be lost."""
    door = px_doors.door("town")
    dataset = door.dataset
    dimensions = [
        replace(dimension_of(door, "sex"), label="Value"),
        replace(dimension_of(door, "age"), label="contents"),
        replace(dimension_of(door, "job"), label="Value"),
    ]
    described = described_dimensions(dataset, dimensions, contents_of(dataset), "")
    labels = [each["label"].casefold() for each in described.values()]
    assert len({*labels, "value"}) == len(labels) + 1
    assert metadata_document(door, dimensions, contents_of(dataset), "")["size"] == [3, 4, 5, 1]
