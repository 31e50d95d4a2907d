"""Small sections of `dataset.toml`: `[about]`, `[engine]`, `[file]`, `[publish]`, `[labels.xx]`, and shared checks.

docs/reference/dataset-toml.md has an example of each. No number depends on `[about]`, `[publish]` and labels:
`discreet relabel` may change them after a load.

A category may carry its own translations, `{ code = "1", label = "Male", label_de = "Männlich" }`, like the columns of a
code file. Untranslated labels stay; names and codes never change.
"""

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

from discreet.errors import BadDescription, DiscreetError
from discreet.model.grammar import variables_of
from discreet.model.messages.text import Label, nearest


def check_section(
    value: Any, name: str, known: Collection[str], error: type[DiscreetError] = BadDescription
) -> dict[str, Any]:
    """The value as a section `[name]`, if it is one and all its keys are known."""
    if not isinstance(value, dict):
        raise error(f"`{name}` is not a section.", f"Write [{name}] before its lines.")
    refuse_unknown_keys(value, known, f"[{name}]", error)
    return value


def refuse_unknown_keys(
    entry: Iterable[str], known: Collection[str], where: str, error: type[DiscreetError] = BadDescription
) -> None:
    """Refuse a key that is not known."""
    for key in entry:
        if key not in known:
            listed = sorted(known) if isinstance(known, set) else known
            raise error(f'{where} has the unknown key "{key}".', nearest(key, listed))


def require_keys(entry: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
    """Refuse an entry that lacks a key."""
    for key in keys:
        if key not in entry:
            raise BadDescription(f"{where} lacks `{key}`.", "Add it.")


_ADVICE: dict[type, str] = {
    str: "Put it in quotes.",
    int: "Give a whole number.",
    bool: "Write true or false.",
}


def check_type(value: Any, kind: type, what: str, error: type[DiscreetError] = BadDescription) -> None:
    """Refuse a value that is no text, whole number or truth value; `what` is its name in the error."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise error(f"{what} is {value!r}.", _ADVICE[kind])


def check_texts(value: Any, what: str, advice: str) -> None:
    """Refuse a value that is no list of texts."""
    check_value(is_texts(value), value, what, advice)


def check_value(fits: object, value: Any, what: str, advice: str) -> None:
    """Refuse a value that does not fit; `what` is its name in the error."""
    if not fits:
        raise BadDescription(f"{what} is {value!r}.", advice)


def refuse_first(*checks: tuple[object, str, str]) -> None:
    """Refuse by the first check that is true; each has its sentence and advice."""
    for wrong, text, advice in checks:
        if wrong:
            raise BadDescription(text, advice)


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


@dataclass(frozen=True, slots=True)
class About:
    """Metadata for people and catalogues; `contact` is an e-mail address or a URL, `temporal` one or two dates."""

    publisher: str = ""
    licence: str = ""
    contact: str = ""
    keywords: tuple[str, ...] = ()
    spatial: str = ""
    temporal: str = ""
    next_update: str = ""

    def as_json(self) -> dict[str, Any]:
        """The entries that are not empty."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if name == "keywords" else value for name, value in found.items() if value}


def parse_about(section: Any) -> About:
    """Parse `[about]`."""
    for key, value in check_section(section, "about", [field.name for field in fields(About)]).items():
        if key == "keywords":
            check_texts(value, f"`{key}` of [about]", "Give a list of texts.")
        else:
            check_type(value, str, f"`{key}` of [about]")
    return About(**{**section, "keywords": tuple(section.get("keywords", ()))})


def parse_engine(section: Any, error: type[DiscreetError]) -> str:
    """The kind in `[engine]`, of `dataset.toml` or `workspace.toml`; empty if none is named."""
    kind = check_section(section, "engine", ["kind"], error).get("kind", "")
    check_type(kind, str, "`kind` of [engine]", error)
    return str(kind)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How the file of records is read; an empty option is detected.

    `encoding` is a Python name such as "cp1252", `decimal` is "." or ","; `table` is the sheet of a workbook, or the table
    of a database.
    """

    encoding: str = ""
    delimiter: str = ""
    decimal: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        if self.encoding:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise BadDescription(
                    f"There is no encoding {self.encoding!r}.", 'Use "utf-8", "cp1252", "cp1250", "utf-16".'
                ) from None
        if len(self.delimiter) > 1 or self.delimiter in {'"', "\n", "\r"}:
            raise BadDescription(
                f"The delimiter {self.delimiter!r} is not one character.", 'Use ",", ";", "|" or "\\t".'
            )
        check_value(self.decimal in {"", ".", ","}, self.decimal, "The decimal sign", 'Use "." or ",".')

    def given(self) -> dict[str, str]:
        """The options that are not empty."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}


def parse_file_options(section: Any) -> FileOptions:
    """Parse `[file]`."""
    for key, value in check_section(section, "file", [f.name for f in fields(FileOptions)]).items():
        check_type(value, str, f"`{key}` of [file]")
    return FileOptions(**section)


@dataclass(frozen=True, slots=True)
class Publish:
    """The tables that are published, as `[publish]` declares them."""

    variables: tuple[str, ...] = ()
    up_to: int = 2
    tables: tuple[tuple[str, ...], ...] = ()
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    universe: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is published."""
        return not (self.variables or self.tables or self.universe)

    def margins(self) -> Iterator[tuple[str, ...]]:
        """The tables by their variables, smaller ones first, each once."""
        most = range(1, min(self.up_to, len(self.variables)) + 1)
        some = [names for size in most for names in combinations(self.variables, size)]
        seen = set()
        for names in (*some, *self.tables):
            if frozenset(names) not in seen:
                seen.add(frozenset(names))
                yield names

    @property
    def variable_names(self) -> list[str]:
        """All variables that the section names."""
        return [*self.variables, *(name for table in self.tables for name in table), *dict(self.levels)]


def parse_publish(section: Any) -> Publish:
    """Parse `[publish]`."""
    check_section(section, "publish", [f.name for f in fields(Publish)])
    up_to, universe = section.get("up_to", 2), section.get("universe", False)
    positive = isinstance(up_to, int) and not isinstance(up_to, bool) and up_to >= 1
    check_value(positive, up_to, "up_to of [publish]", "Give a whole number of at least 1.")
    check_type(universe, bool, "universe of [publish]")
    levels = sorted(_table(section.get("levels", {}), "publish.levels").items())
    words = _texts("tables", section.get("tables", []))
    return Publish(
        _once("variables", _texts("variables", section.get("variables", []))),
        up_to,
        tuple(_once(word, variables_of(word)) or _once("tables", ("",)) for word in words),
        tuple((str(name), _once(name, _texts(f"levels.{name}", own))) for name, own in levels),
        universe,
    )


def _texts(key: str, value: Any) -> tuple[str, ...]:
    fits = is_texts(value) and all(each.strip() for each in value)
    check_value(fits, value, f"{key} of [publish]", 'Give a list, as in ["area", "sex"].')
    return tuple(value)


def _once(key: str, names: Iterable[str]) -> tuple[str, ...]:
    found = tuple(names)
    if len(set(found)) != len(found) or not all(found):
        raise BadDescription(
            f"{key!r} of [publish] names a variable twice, or none.",
            "Name each variable once, as in sex*age.",
        )
    return found


_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")
_BESIDE = "label_"
CATEGORY_KEYS = frozenset({"code", "label", "parent"})
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
    by_code = _entries(entry, "categories", "code")
    for code, text in _table(texts.get("categories", {}), f"{where}.categories").items():
        if code not in by_code:
            raise BadDescription(f"[{where}.categories] names the code {code!r}.", nearest(code, by_code))
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
    if not isinstance(category, dict) or category.keys() <= CATEGORY_KEYS:
        return category
    found = {key: text for key, text in category.items() if key.startswith(_BESIDE)}
    plain = {key: value for key, value in category.items() if key not in found}
    for key, text in found.items():
        plain.setdefault("label", plain.get("code"))
        _tell(plain, "label", key.removeprefix(_BESIDE), text, f"the category {plain.get('code')!r}")
    return plain


def _entries(document: dict[str, Any], kind: str, key: str = "name") -> dict[str, dict[str, Any]]:
    found = document.get(kind)
    tables = (each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()
    return {str(entry[key]): entry for entry in tables if key in entry}


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadDescription(f"[{where}] is not a table.", f"Write [{where}] before its lines.")
    return value
