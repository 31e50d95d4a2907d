"""Small sections of `dataset.toml`: `[about]`, `[engine]`, `[file]`, `[publish]`, and the checks all sections share.

    [about]
    publisher = "Statistics Example"
    licence = "https://creativecommons.org/licenses/by/4.0/"
    temporal = "2026-03-01"

    [publish]
    variables = ["region", "sex", "age"]      every table of these variables
    up_to = 2                                 with at most two of them
    tables = ["district*sex", "district*age*job"]
    universe = true                           of a joint dp universe: its noisy numbers, which answer all its tables
    [publish.levels]
    district = ["region", "district"]         the levels at which a variable is shown

No number depends on `[about]` and `[publish]`: `discreet relabel` may change them after a load.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

from discreet.errors import BadDescription, DiscreetError
from discreet.model.grammar import variables_of
from discreet.model.messages.text import nearest


def check_section(
    value: Any, name: str, known: Collection[str], error: type[DiscreetError] = BadDescription
) -> dict[str, Any]:
    """The value as a section `[name]`, if it is one and all its keys are known.

    >>> check_section({"publisher": "Office"}, "about", ["publisher"])
    {'publisher': 'Office'}
    """
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
    """Parse `[about]`.

    >>> parse_about({"publisher": "Office", "keywords": ["census"]}).as_json()
    {'publisher': 'Office', 'keywords': ['census']}
    """
    for key, value in check_section(section, "about", [field.name for field in fields(About)]).items():
        listed = value if key == "keywords" and isinstance(value, list) else [value]
        if (key == "keywords") != isinstance(value, list) or not all(
            isinstance(each, str) for each in listed
        ):
            wanted = "a list of texts" if key == "keywords" else "text in quotes"
            raise BadDescription(f"`{key}` of [about] is {value!r}.", f"Give {wanted}.")
    return About(**{**section, "keywords": tuple(section.get("keywords", ()))})


def parse_engine(section: Any, error: type[DiscreetError]) -> str:
    """The kind in `[engine]`, of `dataset.toml` or `workspace.toml`; empty if none is named.

    >>> from discreet.errors import BadDescription
    >>> parse_engine({"kind": "duckdb"}, BadDescription)
    'duckdb'
    """
    kind = check_section(section, "engine", ["kind"], error).get("kind", "")
    if not isinstance(kind, str):
        raise error(f"`kind` of [engine] is {kind!r}.", "Put it in quotes.")
    return kind


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How the file of records is read; an empty option is detected.

    Args:
        encoding: Of a CSV file, by its Python name: "utf-8", "cp1252".
        delimiter: The separator of a CSV file: one character.
        decimal: The decimal sign of a CSV file, "." or ",".
        table: The sheet of a workbook, or the table of a database.
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
        if self.decimal not in {"", ".", ","}:
            raise BadDescription(f"The decimal sign is {self.decimal!r}.", 'Use "." or ",".')

    def given(self) -> dict[str, str]:
        """The options that are not empty."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name))}


def parse_file_options(section: Any) -> FileOptions:
    """Parse `[file]`.

    >>> parse_file_options({"encoding": "cp1252"}).given()
    {'encoding': 'cp1252'}
    """
    for key, value in check_section(section, "file", [f.name for f in fields(FileOptions)]).items():
        if not isinstance(value, str):
            raise BadDescription(f"`{key}` of [file] is {value!r}.", "Put it in quotes.")
    return FileOptions(**section)


PUBLISH_KEYS = ("variables", "up_to", "tables", "levels", "universe")


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
    """Parse `[publish]`.

    >>> parse_publish({"variables": ["sex", "age"], "tables": ["sex*job"]}).tables
    (('sex', 'job'),)
    """
    check_section(section, "publish", PUBLISH_KEYS)
    up_to, universe, levels = (
        section.get("up_to", 2),
        section.get("universe", False),
        section.get("levels", {}),
    )
    if isinstance(up_to, bool) or not isinstance(up_to, int) or up_to < 1:
        raise BadDescription(f"up_to of [publish] is {up_to!r}.", "Give a whole number of at least 1.")
    if not isinstance(universe, bool):
        raise BadDescription(f"universe of [publish] is {universe!r}.", "Write true or false.")
    if not isinstance(levels, dict):
        raise BadDescription("[publish.levels] is not a table.", "Write [publish.levels] before its lines.")
    return Publish(
        _once("variables", _texts("variables", section.get("variables", []))),
        up_to,
        tuple(
            _once(word, variables_of(word)) or _once("tables", ("",))
            for word in _texts("tables", section.get("tables", []))
        ),
        tuple(
            (str(name), _once(name, _texts(f"levels.{name}", own))) for name, own in sorted(levels.items())
        ),
        universe,
    )


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadDescription(f"{key} of [publish] is {value!r}.", 'Give a list, as in ["area", "sex"].')
    return tuple(value)


def _once(key: str, names: Iterable[str]) -> tuple[str, ...]:
    found = tuple(names)
    if len(set(found)) != len(found) or not all(found):
        raise BadDescription(
            f"{key!r} of [publish] names a variable twice, or none.",
            "Name each variable once, as in sex*age.",
        )
    return found
