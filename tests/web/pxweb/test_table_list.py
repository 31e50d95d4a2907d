"""The server and its tables in PxWeb's words."""

import datetime as dt

import pytest

from discreet.formats import formats
from discreet.web.pxweb import table_list as tables
from discreet.web.pxweb.output import FORMATS
from discreet.workspace.options import read_options


class MuchLater(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(days=3)


def test_config_tells_the_limits_that_hold_and_the_formats_that_are_served(px):
    config = px("/config")
    assert config["apiVersion"] == "2.0.0"
    assert (config["maxDataCells"], config["maxCallsPerTimeWindow"], config["timeWindow"]) == (
        100_000,
        10_000,
        10,
    )
    assert config["dataFormats"] == list(FORMATS)
    assert {FORMATS[name] for name in config["dataFormats"]} <= {form.name for form in formats()}
    for name in config["dataFormats"]:
        assert px.get(f"/tables/town/data?outputFormat={name}").status_code == 200
    assert px.refusal("/tables/town/data?outputFormat=json-px")[0] == 400


def test_the_licence_is_that_of_the_workspace(px_workspace):
    options = read_options(px_workspace.folder, licence="https://example.org/licence")
    assert tables.config_document(options, [])["license"] == "https://example.org/licence"


def test_every_dataset_is_a_table(px):
    listed = px("/tables?lang=en")
    assert [table["id"] for table in listed["tables"]] == ["survey", "town"]
    assert listed["page"]["totalElements"] == 2
    town = px("/tables/town")
    assert town["language"] == "en"
    assert {"id", "label", "updated", "firstPeriod", "lastPeriod", "variableNames", "links"} <= set(town)
    assert {link["rel"] for link in town["links"]} == {"self", "metadata", "data"}


def test_pages_hold_every_table_once(px):
    pages = [px(f"/tables?pageSize=1&pageNumber={number}") for number in (1, 2)]
    assert [table["id"] for page in pages for table in page["tables"]] == ["survey", "town"]
    assert [[link["rel"] for link in page["page"]["links"]] for page in pages] == [["next"], ["previous"]]
    assert px.refusal("/tables?pageSize=1&pageNumber=3")[:2] == (404, "not-found")


def test_a_search_finds_tables_by_every_word(px):
    assert [table["id"] for table in px("/tables?query=TOWN survey")["tables"]] == ["survey"]
    assert [table["id"] for table in px("/tables?query=sex")["tables"]] == ["survey", "town"]
    assert px("/tables?query=rain")["page"] == {
        "pageNumber": 1,
        "pageSize": 20,
        "totalElements": 0,
        "totalPages": 1,
        "links": [],
    }


def test_a_table_was_updated_when_it_was_loaded(px, monkeypatch):
    loaded = px("/tables/town")["updated"]
    assert [table["updated"] for table in px("/tables?pastDays=1")["tables"]][-1] == loaded
    monkeypatch.setattr(tables, "datetime", MuchLater)
    assert px("/tables?pastDays=1")["page"]["totalElements"] == 0


@pytest.mark.parametrize(
    "text", ["pageSize=0", "pageSize=x", "pageNumber=-1", "pageSize=100000", "pastDays=0", "pastDays=x"]
)
def test_numbers_are_checked(px, text):
    assert px.refusal(f"/tables?{text}")[0] == 400
