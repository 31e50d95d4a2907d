"""Every text that a reader can meet has its translation, with the same values and the plural forms of its language."""

import runpy
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from discreet.errors import all_errors
from discreet.model.messages.text import Message
from discreet.rules.rule import kinds
from discreet.web.i18n.translation import LOCALE, languages
from discreet.web.problems import error_explanations

TEXTS = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "texts"), run_name="texts")
CATALOGUES = sorted(LOCALE.glob("*.po"))


@pytest.fixture(scope="module")
def wanted() -> Catalog:
    """Every text of the program, found by Babel's own extractors."""
    return TEXTS["texts"]()


def _read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def _values(text: str) -> set[tuple[str, str, str]]:
    """The values of a text; a plural form may leave out its number."""
    found = {(name, spec or "", change or "") for _, name, spec, change in Formatter().parse(text) if name}
    return found - {("count", "", "")}


def faults(wanted: Catalog, catalogue: Catalog) -> list[str]:
    """What is wrong with a catalogue, text by text."""
    found = []
    for message in wanted:
        known = catalogue.get(message.id) if message.id else None
        if not message.id:
            continue
        singular, *plural = [message.id] if isinstance(message.id, str) else message.id
        strings = () if known is None else known.string
        told = [strings] if isinstance(strings, str) else list(strings)
        if not told or not all(told) or known.fuzzy:
            found.append(f"no translation: {singular}")
        elif plural and len(told) != catalogue.num_plurals:
            found.append(f"{len(told)} of {catalogue.num_plurals} plural forms: {singular}")
        elif "{" in singular and any(_values(text) != _values([singular, *plural][-1]) for text in told):
            found.append(f"other values: {singular}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_every_text_has_a_sound_translation(wanted, path):
    assert len(list(wanted)) > 600
    assert faults(wanted, _read(path)) == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.stem)
def test_no_catalogue_keeps_what_nobody_says(wanted, path):
    gone = [message.id for message in _read(path) if message.id and wanted.get(message.id) is None]
    assert gone == []  # `scripts/texts` takes them out


@pytest.mark.parametrize(
    ("text", "wrong", "fault"),
    [
        ("{a:,} cells", "", "no translation"),
        ("{a:,} cells", "Zellen", "other values"),
        ("{a:,} cells", "{b:,} Zellen", "other values"),
        ("{a:,} cells", "{a} Zellen", "other values"),
        (("{count} cell", "{count} cells"), ("{count} Zelle", ""), "no translation"),
    ],
)
def test_a_fault_of_each_kind_is_found(text, wrong, fault):
    wanted, catalogue = Catalog(), Catalog(locale="de")
    wanted.add(text)
    catalogue.add(text, wrong)
    assert [each.partition(":")[0] for each in faults(wanted, catalogue)] == [fault]


def test_every_error_and_every_rule_is_explained_in_german():
    """What the pages under /errors say, and what a rule that refuses is called."""
    german = languages()["de"]
    for code, (kind, meaning) in error_explanations().items():
        assert german.catalogue.gettext(meaning) != meaning, code
        assert isinstance(kind.title, Message), code
        assert german.translate(kind.title) != kind.title, code
    assert {kind.code for kind in all_errors()} <= set(error_explanations())
    for kind in kinds().values():
        assert kind.refusal_code() in error_explanations() or not kind.refuses()
