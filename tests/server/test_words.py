"""What pages say: in the language of the reader, with its numbers, lists and plurals."""

import pytest
from babel import Locale
from babel.numbers import format_decimal

from discreet.model.told import Label, joined, told, told_number
from discreet.server.words import SPEECH, Language, Speech, day, languages, number, say, say_number, spoken


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

    token = SPEECH.set(Speech(Language("de", Locale("de"), Catalogue())))
    yield
    SPEECH.reset(token)


def test_a_text_holds_its_values_and_braces_of_a_text_without_values_stay():
    assert say("{rows} by {columns}", rows="Sex", columns="{age}") == "Sex by {age}"
    assert say("{not a value}") == "{not a value}"


def test_a_number_chooses_the_form():
    assert say_number("{count} area of {name}", "{count} areas of {name}", 1, name="R") == "1 area of R"
    assert say_number("{count} area of {name}", "{count} areas of {name}", 0, name="R") == "0 areas of R"


def test_a_sentence_of_the_core_is_said_in_the_language_and_stays_english_as_text(german):
    names = (Label("Sex", {"de": "Geschlecht"}), Label("Age", {"fr": "Âge"}))
    sentence = told("{cells:,} cells by {names:lower}", cells=3600, names=names)
    assert say(sentence) == "3.600 Zellen nach Geschlecht und Age"  # nouns keep their capitals in German
    assert sentence == "3,600 cells by sex and age"
    assert say("{names:either}", names=("a", "b", "c")) == "a, b oder c"
    assert say(joined([told("All."), told_number("{count} cell", "{count} cells", 1)])) == "Alle. 1 Zelle"
    assert say("Not in the catalogue.") == "Not in the catalogue."


def test_only_what_was_told_is_translated(german):
    assert spoken("All.") == "All."  # a label of a dataset is never looked up in a catalogue
    assert spoken(7) == 7
    assert spoken(told("All.")) == "Alle."


@pytest.mark.parametrize("name", ["en_GB", "de", "fr", "hi", "ar", "sv"])
def test_numbers_are_those_of_babel(name):
    """Numbers of a large table are written by a replacement of separators; Babel is slow and surely right."""
    locale = Locale.parse(name)
    token = SPEECH.set(Speech(Language(name, locale, None)))
    try:
        for value in (0, 7, -1234, 1_234_567, 123_456_789, 0.5, -1234.75):
            slow = format_decimal(value, locale=locale, numbering_system="latn", decimal_quantization=False)
            digits = slow.replace("-", "−").replace("\u200e", "")
            assert number(value).replace("\u200e", "").replace("−−", "−") == digits
    finally:
        SPEECH.reset(token)


def test_the_days_of_a_language(german):
    assert (day("2026-03-01"), day("Frühling"), number(-1234)) == ("1. März 2026", "Frühling", "−1.234")


def test_every_file_of_the_catalogues_is_a_language():
    assert list(languages()) == ["en", "de"]
    assert (languages()["de"].name, languages()["de"].direction) == ("Deutsch", "ltr")
