"""Labels in several languages: the sections `[labels.de]` of a `dataset.toml`.

    [labels.de]
    label = "Volkszählung"                          also description, unit, population, source
    topics = { People = "Personen" }
    [labels.de.variable.sex]
    label = "Geschlecht"                            also description
    categories = { 1 = "Männlich", 2 = "Weiblich" }
    [labels.de.hierarchy.place]                     label
    [labels.de.code_list.broad]                     label, categories

A category may carry its own translations, `{ code = "1", label = "Male", label_de = "Männlich" }`, like the columns of a
code file. Untranslated labels stay. Names and codes never change, and no number depends on a label.
"""

from __future__ import annotations

import re
from typing import Any

from discreet.errors import BadDescription
from discreet.model.description.sections import refuse_unknown_keys
from discreet.model.messages.text import Label, nearest

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")
_BESIDE = "label_"
#: Translatable keys of the dataset, and of its sections.
_OWN = ("label", "description", "unit", "population", "source")
_SECTIONS = {
    "variable": ("label", "description", "categories"),
    "hierarchy": ("label",),
    "code_list": ("label", "categories"),
}


def attach_labels(document: dict[str, Any]) -> dict[str, Any]:
    """The description with every translated label as a `Label`.

    Raises:
        BadDescription: A translation has no original.
    """
    sections = document.pop("labels", {})
    for entry in (*_entries(document, "variable").values(), *_entries(document, "code_list").values()):
        if isinstance(entry.get("categories"), list):
            entry["categories"] = [_beside(category) for category in entry["categories"]]
    for language, given in _table(sections, "labels").items():
        if not _LANGUAGE.match(language):
            raise BadDescription(
                f"[labels.{language}] names no language.", "Write the code of one, as in [labels.de]."
            )
        _translate(document, language, _table(given, f"labels.{language}"))
    return document


def _translate(document: dict[str, Any], language: str, given: dict[str, Any]) -> None:
    where = f"labels.{language}"
    refuse_unknown_keys(given, (*_OWN, *_SECTIONS, "topics"), f"[{where}]")
    for key in _OWN:
        if key in given:
            _tell(document, key, language, given[key], where)
    for topic, text in _table(given.get("topics", {}), f"{where}.topics").items():
        same = [entry for entry in _entries(document, "variable").values() if entry.get("topic") == topic]
        if not same:
            raise BadDescription(f'[{where}.topics] names "{topic}".', "Name the topic of a variable.")
        for entry in same:
            _tell(entry, "topic", language, text, f"{where}.topics")
    for kind, keys in _SECTIONS.items():
        known = _entries(document, kind)
        for name, texts in _table(given.get(kind, {}), f"{where}.{kind}").items():
            place = f"{where}.{kind}.{name}"
            if name not in known:
                raise BadDescription(f"[{place}] translates what is not there.", nearest(name, known))
            _translate_entry(known[name], language, _table(texts, place), keys, place)


def _translate_entry(
    entry: dict[str, Any], language: str, texts: dict[str, Any], keys: tuple[str, ...], where: str
) -> None:
    refuse_unknown_keys(texts, keys, f"[{where}]")
    for key in ("label", "description"):
        if key in texts:
            entry.setdefault("label", str(entry.get("name")))
            _tell(entry, key, language, texts[key], where)
    by_code = {category["code"]: category for category in _list(entry, "categories") if "code" in category}
    for code, text in _table(texts.get("categories", {}), f"{where}.categories").items():
        if code not in by_code:
            raise BadDescription(
                f"[{where}.categories] names the code {code!r}.", nearest(code, map(str, by_code))
            )
        by_code[code].setdefault("label", code)
        _tell(by_code[code], "label", language, text, f"{where}.categories")


def _tell(entry: dict[str, Any], key: str, language: str, text: object, where: str) -> None:
    """Add a translation to a text of the description."""
    now = entry.get(key)
    if not isinstance(now, str):
        raise BadDescription(f"[{where}] translates `{key}`, which is not there.", "Leave it out.")
    if not isinstance(text, str) or not text.strip():
        raise BadDescription(f"[{where}] has the text {text!r}.", "Put it in quotes.")
    others = dict(now.others) if isinstance(now, Label) else {}
    entry[key] = Label(str.__str__(now), {**others, language: text})


def _beside(category: Any) -> Any:
    """A category as a table whose label includes the translations `label_xx`; other values are returned unchanged."""
    if isinstance(category, str):
        return {"code": category}
    if not isinstance(category, dict):
        return category
    found = {key: text for key, text in category.items() if key.startswith(_BESIDE)}
    if not found:
        return category
    plain = {key: value for key, value in category.items() if key not in found}
    for key, text in found.items():
        plain.setdefault("label", plain.get("code"))
        _tell(plain, "label", key.removeprefix(_BESIDE), text, f"the category {plain.get('code')!r}")
    return plain


def _entries(document: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {str(entry["name"]): entry for entry in _list(document, kind) if "name" in entry}


def _list(entry: dict[str, Any], key: str) -> list[Any]:
    found = entry.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadDescription(f"[{where}] is not a table.", f"Write [{where}] before its lines.")
    return value
