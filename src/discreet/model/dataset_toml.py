"""Reading a `dataset.toml`: from its text to a `Dataset`, or to what is wrong with it.

Every key is known, every value has its type, and a mistyped key names the nearest one. What the parts mean
together is checked by `Dataset` itself.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.errors import BadDescription
from discreet.model.about import about_of
from discreet.model.access import access_of
from discreet.model.dataset import Dataset
from discreet.model.declared_dp import declared_dp
from discreet.model.defaults import newest_defaults, with_former_defaults
from discreet.model.engine_section import engine_named
from discreet.model.file_section import file_options
from discreet.model.labels import with_labels
from discreet.model.protection_section import protection_of
from discreet.model.publish_section import publish_of
from discreet.model.recodes import Recodes, missing_of, recodes_of
from discreet.model.section import need, only
from discreet.model.survey_section import survey_of
from discreet.model.variable import Category, CodeList, Hierarchy, StructuralZero, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.model.boundaries import Boundaries


class Names(NamedTuple):
    """What a description calls itself, before anything else of it is read."""

    id: str
    lineage: str
    version: str


def names_of(text: str) -> Names:
    """The id, the lineage and the version of a description.

    >>> names_of('id = "town"')
    Names(id='town', lineage='town', version='1')
    """
    document = description_document(text)
    name = str(document.get("id", ""))
    return Names(name, str(document.get("lineage") or name), str(document.get("version", "1")))


def parse_dataset(
    text: str, defaults: int | None = None, boundaries: Mapping[str, Boundaries] = MappingProxyType({})
) -> Dataset:
    """Read the text of a `dataset.toml`.

    Args:
        text: The text.
        defaults: The revision of the defaults for keys that it leaves out; today's by default.
        boundaries: By variable, where they are kept already.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    return dataset_of(description_document(text), defaults, boundaries)


def dataset_of(
    description: dict[str, Any],
    defaults: int | None = None,
    boundaries: Mapping[str, Boundaries] = MappingProxyType({}),
) -> Dataset:
    """The dataset of a description that was read from its text.

    Args:
        description: As `description_document` gives it.
        defaults: The revision of the defaults for keys that it leaves out; today's by default.
        boundaries: By variable, where they are kept already.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    plain_document = with_former_defaults(description, newest_defaults() if defaults is None else defaults)
    document = with_labels(plain_document)
    allowed = {f.name for f in fields(Dataset)} - {
        "variables",
        "hierarchies",
        "structural_zeros",
        "code_lists",
        "rules",
        "kept_by",
        "boundaries",
    }
    allowed |= {"variable", "hierarchy", "structural_zero", "code_list", "rule", "engine"}
    only(document, allowed, "dataset.toml")
    need(document, ("id", "label", "id_column"), "dataset.toml")
    plain = {
        k: v
        for k, v in document.items()
        if k
        not in {
            "variable",
            "hierarchy",
            "structural_zero",
            "code_list",
            "protection",
            "survey",
            "rule",
            "engine",
            "file",
            "about",
            "publish",
            "access",
        }
    }
    _strings(plain, except_for={"weight_decimals", "key_decimals"})
    dataset = Dataset(
        **plain,
        variables=tuple(_variable(entry) for entry in _tables(document, "variable")),
        hierarchies=tuple(_hierarchy(entry) for entry in _tables(document, "hierarchy")),
        structural_zeros=tuple(_structural_zero(entry) for entry in _tables(document, "structural_zero")),
        code_lists=tuple(_code_list(entry) for entry in _tables(document, "code_list")),
        survey=survey_of(document["survey"]) if "survey" in document else None,
        protection=protection_of(document.get("protection", {}), document.get("survey")),
        rules=tuple(_tables(document, "rule")),
        kept_by=engine_named(document.get("engine", {}), BadDescription),
        boundaries=boundaries,
        file=file_options(document.get("file", {})),
        about=about_of(document.get("about", {})),
        publish=publish_of(document.get("publish", {})),
        access=access_of(document.get("access", {})),
    )
    if dataset.protection.is_dp:
        declared_dp(dataset)
    return dataset


def description_document(text: str) -> dict[str, Any]:
    """What a description says, as plain values; its comments are not among them.

    Raises:
        BadDescription: It is no TOML.
    """
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise BadDescription(
            f"dataset.toml is not valid TOML: {error}.", "Mend the line that it names."
        ) from None
    except RecursionError:
        raise BadDescription(
            "dataset.toml is nested too deeply.", "Write sections, not nested lists."
        ) from None
    protection = document.get("protection")
    budget = protection.pop("budget", None) if isinstance(protection, dict) else None
    plain: dict[str, Any] = _with_floats(document)
    if budget is not None:
        plain["protection"]["budget"] = budget
    return plain


def _with_floats(value: Any) -> Any:
    """Decimals as floats: only amounts of a budget stay the decimals that were written."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _with_floats(each) for key, each in value.items()}
    return [_with_floats(each) for each in value] if isinstance(value, list) else value


#: What a variable tells people, beside its label.
_WORDS = ("topic", "description", "universe", "notes", "source", "classification")


def _variable(entry: dict[str, Any]) -> Variable:
    known = {"name", "label", "categories", "categories_file", "column", "not_stated", "missing", "values"}
    only(entry, known | {"unlisted", "categories_from", "boundaries", *_WORDS}, "[[variable]]")
    need(entry, ("name",), "[[variable]]")
    where = f'the variable "{entry["name"]}"'
    if "categories_file" in entry:
        raise BadDescription(
            f"{where} names a file of categories, and no folder to look for it is known.",
            "Give the description as a file; `categories_file` stands on a line of its own.",
        )
    need(entry, ("categories",), "[[variable]]")
    if not isinstance(entry["categories"], list):
        raise BadDescription(
            f"The categories of {where} are not a list.", 'Write [{ code = "1", label = "..." }, ...].'
        )
    categories = tuple(_category(category, where) for category in entry["categories"])
    codes = tuple(category.code for category in categories)
    return Variable(
        name=str(entry["name"]),
        label=str(entry.get("label", entry["name"])),
        categories=categories,
        column=str(entry.get("column", "")),
        not_stated=None if entry.get("not_stated") is None else str(entry["not_stated"]),
        unlisted=None if entry.get("unlisted") is None else str(entry["unlisted"]),
        categories_from=_text(entry, "categories_from", where),
        boundaries=str(entry.get("boundaries", "")),
        **{word: _text(entry, word, where) for word in _WORDS},
        missing=missing_of(entry.get("missing", []), where),
        recodes=recodes_of(entry["values"], codes, where) if "values" in entry else Recodes(),
    )


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    if not isinstance(entry.get(key, ""), str):
        raise BadDescription(f"The {key} of {where} is not text.", "Put it in quotes.")
    if key == "classification" and not str(entry.get(key, "https://")).startswith(("https://", "http://")):
        raise BadDescription(f"The classification of {where} is no web address.", "Begin it with https://.")
    return str(entry.get(key, ""))


def _category(entry: Any, where: str) -> Category:
    if isinstance(entry, str):
        return Category(entry, entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("code"), str):
        raise BadDescription(
            f"{where} has a category without a code in quotes.", 'Write { code = "1", label = "..." }.'
        )
    only(entry, {"code", "label", "parent"}, where)
    label = entry.get("label", entry["code"])
    parent = entry.get("parent")
    if not isinstance(label, str) or not (parent is None or isinstance(parent, str)):
        raise BadDescription(f"{where} has a label or parent that is not text.", "Put it in quotes.")
    return Category(entry["code"], label, parent)


def _hierarchy(entry: dict[str, Any]) -> Hierarchy:
    only(entry, {"name", "label", "levels", "geography"}, "[[hierarchy]]")
    need(entry, ("name", "levels"), "[[hierarchy]]")
    if not isinstance(entry["levels"], list):
        raise BadDescription(
            "The levels of a hierarchy are not a list.", 'Write levels = ["coarse", "fine"].'
        )
    levels = tuple(str(level) for level in entry["levels"])
    return Hierarchy(
        str(entry["name"]),
        str(entry.get("label", entry["name"])),
        levels,
        bool(entry.get("geography", False)),
    )


def _structural_zero(entry: dict[str, Any]) -> StructuralZero:
    only(entry, {"label", "where", "move_to"}, "[[structural_zero]]")
    where = entry.get("where")
    if not isinstance(where, dict) or not all(isinstance(codes, list) for codes in where.values()):
        raise BadDescription("A structural zero has no `where`.", "Add `where = { variable = [codes] }`.")
    conditions = tuple(sorted((name, frozenset(map(str, codes))) for name, codes in where.items()))
    moved = entry.get("move_to", {})
    if not isinstance(moved, dict) or not all(isinstance(code, str) for code in moved.values()):
        raise BadDescription(
            f"`move_to` of a structural zero is {moved!r}.", 'Write move_to = { variable = "code" }.'
        )
    return StructuralZero(str(entry.get("label", "")), conditions, tuple(sorted(moved.items())))


def _code_list(entry: dict[str, Any]) -> CodeList:
    only(entry, {"name", "label", "variable", "categories"}, "[[code_list]]")
    need(entry, ("name", "variable", "categories"), "[[code_list]]")
    groups = []
    for category in entry["categories"] if isinstance(entry["categories"], list) else [None]:
        members = category.get("members") if isinstance(category, dict) else None
        if not isinstance(category, dict) or "code" not in category or not isinstance(members, list):
            raise BadDescription(
                f'The code list "{entry["name"]}" has a category without code and members.',
                'Write categories = [{ code = "A", label = "...", members = ["1", "2"] }].',
            )
        code = str(category["code"])
        groups.append((code, str(category.get("label", code)), tuple(map(str, members))))
    name = str(entry["name"])
    return CodeList(name, str(entry.get("label", name)), str(entry["variable"]), tuple(groups))


def _tables(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    entries = document.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadDescription(f"`{name}` is not a list of sections.", f"Write [[{name}]] before each.")
    return entries


def _strings(entry: dict[str, Any], *, except_for: set[str]) -> None:
    for key, value in entry.items():
        if key in except_for:
            if not isinstance(value, int) or isinstance(value, bool):
                raise BadDescription(f"`{key}` is {value!r}.", "Give a whole number.")
        elif not isinstance(value, str):
            raise BadDescription(f"`{key}` is {value!r}.", "Put it in quotes.")
