"""Sums and means over HTTP: the same numbers in the API, on the page, in PxWebApi, in SDMX and in Python."""

import re

import pytest
from tests.release.firms import FIRMS, firm_records

import discreet
from discreet.workspace.versions.load_version import load_dataset

from .conftest import client_of

QUERY = "rows=region&columns=sector&measure=turnover&statistic=mean"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("firms")
    load_dataset(place, FIRMS, firm_records())
    return place


@pytest.fixture(scope="module")
def client(folder):
    with client_of(folder) as client:
        yield client


@pytest.fixture(scope="module")
def local(folder):
    catalogue = discreet.open(folder)
    return catalogue.table("firms", rows=["region"], columns=["sector"], measure="turnover", statistic="mean")


def test_the_api_and_python_show_the_same_numbers(client, local):
    document = client.get(f"/api/datasets/firms/table?{QUERY}").json()
    assert document["label"] == "Turnover, mean (EUR a year) by region and sector"
    shown = [
        None if gone else value
        for value, gone in zip(local.release.values.flat, local.release.missing.flat, strict=True)
    ]
    assert document["value"] == shown
    assert document["extension"]["query"] == QUERY


def test_the_page_shows_them_and_offers_the_statistics(client, local):
    page = client.get(f"/datasets/firms?{QUERY}")
    assert page.status_code == 200
    assert "Turnover, mean" in page.text
    assert f"{local.release.value('A', '1'):,}" in page.text
    assert re.search(r'aria-current="true"><bdi>Turnover, mean', page.text)
    assert client.get("/datasets/firms?rows=region&measure=turnover.mean").status_code == 200


def test_a_wrong_statistic_is_a_bad_request_with_advice(client):
    answer = client.get(f"/api/datasets/firms/table?{QUERY.replace('mean', 'meen')}")
    assert answer.status_code == 400
    assert "meen" in answer.text
    answer = client.get("/api/datasets/firms/table?rows=region&measure=turnover")
    assert answer.status_code == 400
    assert "needs a statistic" in answer.text


def test_pxwebapi_has_them_as_contents_with_unit_and_decimals(client, local):
    metadata = client.get("/api/pxweb/v2/tables/firms/metadata").json()
    (contents,) = metadata["role"]["metric"]
    unit = metadata["dimension"][contents]["category"]["unit"]["turnover.mean"]
    assert (unit["base"], unit["decimals"]) == ("EUR a year", 2)


def test_sdmx_has_a_dataflow_of_each_statistic(client):
    text = client.get("/api/sdmx/dataflow/DISCREET/firms-turnover_mean").text
    assert "firms-turnover_mean" in text
