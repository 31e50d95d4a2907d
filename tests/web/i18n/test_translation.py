"""A dataset and a release in a language: labels and sentences, and no number."""

import json

import numpy as np
import pytest
from fastapi.testclient import TestClient

from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.context import RequestContext, use_context
from discreet.web.i18n.translation import (
    RequestLanguage,
    languages,
    release_in_language,
    translate_dataset,
    translate_release,
)
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

from ..conftest import Page, people_description, people_records

GERMAN = """
[labels.de]
label = "Leute von Kleinstadt"
unit = "Personen"
[labels.de.variable.sex]
label = "Geschlecht"
categories = { 1 = "Männlich", 2 = "<b>Weiblich</b> \\u202e" }
"""
ADDRESS = "/api/datasets/people/table?rows=age&columns=sex"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spoken")
    load_dataset(folder, people_description() + GERMAN, people_records())
    return Workspace(folder, threads=1)


@pytest.fixture(scope="module")
def client(workspace):
    return TestClient(create_app(DatasetRegistry(workspace), read_options(workspace.folder)))


@pytest.fixture
def german():
    with use_context(RequestContext(language=RequestLanguage(languages()["de"], chosen=True))):
        yield


def test_the_numbers_of_a_release_are_the_same_objects_in_every_language(workspace, german):
    plain = DatasetRegistry(workspace).open("people").release(TableRequest("people", ("age",), ("sex",)))
    told = translate_release(plain)
    assert told.values is plain.values
    assert told.status is plain.status
    assert told.title == "Personen nach Age und Geschlecht"
    assert told.dimensions[1].labels[0] == "Männlich"
    assert told.dimensions[0].labels[-1] == "Insgesamt"
    assert [d.codes for d in told.dimensions] == [d.codes for d in plain.dimensions]
    assert (told.digest, told.request) == (plain.digest, plain.request)
    assert release_in_language(plain).title == told.title
    assert translate_dataset(plain.dataset) is translate_dataset(plain.dataset)  # made once
    with use_context(RequestContext(language=RequestLanguage(languages()["de"], chosen=False))):
        assert release_in_language(plain) is plain  # programs that name no language


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_download_in_german_has_other_labels_and_the_same_numbers(client, form):
    plain, german = (client.get(f"{ADDRESS}&format={form}{lang}") for lang in ("", "&lang=de"))
    assert "Männlich" in german.text
    assert "Männlich" not in plain.text
    assert plain.headers["etag"] != german.headers["etag"]
    if form == "json":
        one, other = json.loads(plain.text), json.loads(german.text)
        assert np.array_equal(one["value"], other["value"])
        assert one["dimension"]["sex"]["category"]["index"] == other["dimension"]["sex"]["category"]["index"]
        assert other["label"] == "Personen nach Age und Geschlecht"
    else:
        columns = [[line.split(",")[-2:] for line in each.text.splitlines()[1:]] for each in (plain, german)]
        assert columns[0] == columns[1]


def test_a_description_and_a_page_are_in_the_language_and_hostile_labels_stay_text(client):
    assert client.get("/api/datasets/people?lang=de").json()["label"] == "Leute von Kleinstadt"
    page = client.get("/datasets/people?rows=sex&lang=de")
    parsed = Page(page)
    assert "<b>Weiblich</b>" not in page.text
    assert any("<b>Weiblich</b>" in text for text in parsed.texts("th"))
    assert "Leute von Kleinstadt" in parsed.texts("h1")


def test_a_refusal_names_labels_of_the_language(client):
    wrong = client.get("/datasets/people?rows=age&filter=sex=9&lang=de")
    assert wrong.status_code == 400
    assert "hat keine Ausprägung" in wrong.text
