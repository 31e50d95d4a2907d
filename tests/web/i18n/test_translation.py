"""A dataset and a release in a language: labels and sentences, and no number.

Texts in the language of the reader, and links that keep it.
"""

import json

import numpy as np
import pytest
from babel import Locale
from babel.numbers import format_decimal
from fastapi.testclient import TestClient

from discreet.model.messages.text import Label, join_sentences, message, plural_message, sentences_of
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.context import RequestContext, use_context
from discreet.web.i18n.translation import (
    Language,
    RequestLanguage,
    add_language_to_links,
    display_date,
    display_number,
    gettext,
    has_languages,
    language_menu,
    languages,
    localise,
    ngettext,
    release_in_language,
    translate_dataset,
    translate_release,
)
from discreet.web.urls import SiteUrl
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
def in_german():
    with use_context(RequestContext(language=RequestLanguage(languages()["de"], chosen=True))):
        yield


def test_the_numbers_of_a_release_are_the_same_objects_in_every_language(workspace, in_german):
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
    assert "Leute von Kleinstadt" in page.text


def test_a_refusal_names_labels_of_the_language(client):
    wrong = client.get("/datasets/people?rows=age&filter=sex=9&lang=de")
    assert wrong.status_code == 400
    assert "hat keine Ausprägung" in wrong.text


@pytest.fixture
def german(monkeypatch):
    """A small catalogue, and a reader of it."""
    entries = {
        "{cells:,} cells by {names:lower}": "{cells:,} Zellen nach {names:lower}",
        "All.": "Alle.",
        "{count} cell": "{count} Zelle",
        "{count} cells": "{count} Zellen",
    }

    class Catalogue:
        def gettext(self, text):
            return entries.get(text, text)

        def ngettext(self, one, many, count):
            return self.gettext(one if count == 1 else many)

    language = RequestLanguage(Language("de", Locale("de"), Catalogue()))
    with use_context(RequestContext(language=language)):
        yield


def test_a_text_holds_its_values_and_braces_of_a_text_without_values_stay():
    assert gettext("{rows} by {columns}", rows="Sex", columns="{age}") == "Sex by {age}"
    assert gettext("{not a value}") == "{not a value}"


def test_a_number_chooses_the_form():
    assert ngettext("{count} area of {name}", "{count} areas of {name}", 1, name="R") == "1 area of R"
    assert ngettext("{count} area of {name}", "{count} areas of {name}", 0, name="R") == "0 areas of R"


def test_a_sentence_of_the_core_is_said_in_the_language_and_stays_english_as_text(german):
    names = (Label("Sex", {"de": "Geschlecht"}), Label("Age", {"fr": "Âge"}))
    sentence = message("{cells:,} cells by {names:lower}", cells=3600, names=names)
    assert gettext(sentence) == "3.600 Zellen nach Geschlecht und Age"  # nouns keep their capitals in German
    assert sentence == "3,600 cells by sex and age"
    assert gettext("{names:either}", names=("a", "b", "c")) == "a, b oder c"
    assert (
        gettext(join_sentences([message("All."), plural_message("{count} cell", "{count} cells", 1)]))
        == "Alle. 1 Zelle"
    )
    assert gettext("Not in the catalogue.") == "Not in the catalogue."


def test_joined_sentences_stay_separable_in_a_language(german):
    note = join_sentences(["Some, e.g. two.", join_sentences([message("Total"), "Three."])])
    assert sentences_of(gettext(note)) == ("Some, e.g. two.", gettext(message("Total")), "Three.")
    assert gettext(note) == " ".join(sentences_of(gettext(note)))


def test_only_what_was_told_is_translated(german):
    assert localise("All.") == "All."  # a label of a dataset is never looked up in a catalogue
    assert localise(7) == 7
    assert localise(message("All.")) == "Alle."


@pytest.mark.parametrize("name", ["en_GB", "de", "fr", "hi", "ar", "sv"])
def test_numbers_are_those_of_babel(name):
    """Numbers of a large table are written by a replacement of separators; Babel is slow and surely right."""
    locale = Locale.parse(name)
    with use_context(RequestContext(language=RequestLanguage(Language(name, locale, None)))):
        for value in (0, 7, -1234, 1_234_567, 123_456_789, 0.5, -1234.75):
            slow = format_decimal(value, locale=locale, numbering_system="latn", decimal_quantization=False)
            digits = slow.replace("-", "−").replace("\u200e", "")
            assert display_number(value).replace("\u200e", "").replace("−−", "−") == digits


def test_the_days_of_a_language(german):
    assert (display_date("2026-03-01"), display_date("Frühling"), display_number(-1234)) == (
        "1. März 2026",
        "Frühling",
        "−1.234",
    )


def test_every_file_of_the_catalogues_is_a_language():
    assert list(languages()) == ["en", "de"]
    assert (languages()["de"].name, languages()["de"].direction) == ("Deutsch", "ltr")


def test_an_empty_text_stays_empty():
    """Wrong: a catalogue's entry for the empty text, which is its header; pickers showed it as an error."""
    with use_context(RequestContext(language=RequestLanguage(languages()["de"]))):
        assert gettext("") == ""


@pytest.fixture
def speak():
    """Answer in a language, at a server below /t."""
    with use_context(RequestContext(site_url=SiteUrl("https://x.org", "/t"))) as context:

        def start(code, *, chosen):
            path, query = "/t/datasets/x", "rows=a%26b&top=3"
            context.language = RequestLanguage(languages()[code], chosen, path, query)

        yield start


PAGE = (
    '<a href="/t/datasets/x?rows=sex&amp;top=3#table">a</a><a href="https://x.org/t/">b</a><a href="#main">c</a>'
    '<a href="https://elsewhere.org/t/">d</a><a href="//elsewhere.org/">e</a><a href="/t/openapi.json">f</a>'
    '<a href="/t/api/datasets/x/table?rows=sex&amp;format=csv">g</a><a href="/t/datasets/x?lang=en">h</a>'
    '<form class="x" method="get" action="/t/datasets/x">'
)


def test_a_chosen_language_is_kept_by_every_link_of_ours_and_no_other(speak):
    speak("de", chosen=True)
    assert add_language_to_links(PAGE) == (
        '<a href="/t/datasets/x?rows=sex&amp;top=3&amp;lang=de#table">a</a><a href="https://x.org/t/?lang=de">b</a>'
        '<a href="#main">c</a><a href="https://elsewhere.org/t/">d</a><a href="//elsewhere.org/">e</a>'
        '<a href="/t/openapi.json">f</a><a href="/t/api/datasets/x/table?rows=sex&amp;format=csv&amp;lang=de">g</a>'
        '<a href="/t/datasets/x?lang=en">h</a><form class="x" method="get" action="/t/datasets/x">'
        '<input type="hidden" name="lang" value="de">'
    )


def test_a_language_that_the_browser_asked_for_is_named_by_downloads_only(speak):
    speak("de", chosen=False)
    assert add_language_to_links(PAGE) == PAGE.replace("format=csv", "format=csv&amp;lang=de")
    speak("en", chosen=False)
    assert add_language_to_links(PAGE) == PAGE


def test_text_that_looks_like_a_link_is_left_alone(speak):
    speak("de", chosen=True)
    assert add_language_to_links("<p>write href=&quot;/t/&quot;</p>") == "<p>write href=&quot;/t/&quot;</p>"


def test_the_menu_has_this_page_in_every_language(speak):
    speak("de", chosen=True)
    assert [(each.code, address, now) for each, address, now in language_menu()] == [
        ("en", "/t/datasets/x?rows=a%26b&top=3&lang=en", False),
        ("de", "/t/datasets/x?rows=a%26b&top=3&lang=de", True),
    ]


def test_addresses_for_programs_speak_no_language_but_for_labels():
    assert has_languages("/")
    assert has_languages("/api/datasets/x")
    assert has_languages("/api/datasets/x/table")
    assert not has_languages("/api/v2/tables")
    assert not has_languages("/static/x.css")
    assert not has_languages("/api/datasets/x/budget")
