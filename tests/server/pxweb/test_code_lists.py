"""Levels and declared groupings as code lists."""

import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.server.pxweb.code_lists import code_lists


@pytest.fixture
def dataset(town):
    return parse_dataset(town.description)


def test_every_level_is_a_code_list(dataset):
    assert [(each.id, each.type, each.levels) for each in code_lists(dataset, "area")] == [
        ("vs_town_area", "Valueset", ()),
        ("agg_town_area.region", "Aggregation", ("region",)),
        ("vs_town_area.region-area", "Valueset", ("region", "area")),
    ]
    assert [each.id for each in code_lists(dataset, "age")] == ["vs_town_age", "agg_town_age.grown"]
    assert code_lists(dataset, "sex") == []


@pytest.mark.slow
def test_a_document_maps_every_value_to_categories(px):
    grown = px("/codelists/agg_town_age.grown")
    assert [(value["code"], value["valueMap"]) for value in grown["values"]] == [
        ("grown", ["adult", "old"]),
        ("_T", ["child", "adult", "old"]),
    ]
    assert grown["type"] == "Aggregation"


def test_values_are_those_that_the_data_have(px):
    """Wrong alternative: values of the level alone, of which the total that the data have is none."""
    for variable, name in (
        ("area", "agg_town_area.region"),
        ("area", "vs_town_area.region-area"),
        ("job", "agg_town_job.work"),
    ):
        listed = [value["code"] for value in px(f"/codelists/{name}")["values"]]
        data = px(f"/tables/town/data?valuecodes[{variable}]=*&codelist[{variable}]={name}")
        assert list(data["dimension"][variable]["category"]["index"]) == listed


def test_ids_are_found_in_any_case_and_unknown_ones_are_not_found(px):
    assert px("/codeLists/AGG_Town_area.region")["id"] == "agg_town_area.region"
    assert px.refusal("/codelists/agg_town_sex")[:2] == (404, "not-found")
