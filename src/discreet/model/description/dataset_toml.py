"""Parse `dataset.toml` into a `Dataset`, and compare two descriptions key by key.

Unknown keys are refused with the nearest known one; `Dataset` checks how the sections fit together.
"""

import re
import secrets
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from discreet.errors import BadDescription
from discreet.model import limits
from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset, parse_access
from discreet.model.description import sections
from discreet.model.magnitude import parse_measure
from discreet.model.protection import parse_protection
from discreet.model.revision import add_former_defaults, newest_defaults
from discreet.model.survey import parse_survey
from discreet.model.universe import dp_terms
from discreet.model.variable import (
    Category,
    CodeList,
    Hierarchy,
    Recodes,
    StructuralZero,
    Variable,
    parse_missing,
    parse_recodes,
)

#: The types of plain keys that are no texts.
_TYPES = {"weight_decimals": int, "key_decimals": int, "unchecked_draft": bool}


class Names(NamedTuple):
    """The names of a description."""

    id: str
    lineage: str
    version: str


def parse_names_only(text: str) -> Names:
    """The id, lineage and version of a description, without parsing the rest."""
    document = parse_toml(text)
    name = str(document.get("id", ""))
    return Names(name, str(document.get("lineage") or name), str(document.get("version", "1")))


def parse_dataset(
    text: str, defaults: int | None = None, boundaries: Mapping[str, Boundaries] = MappingProxyType({})
) -> Dataset:
    """Parse the text of a `dataset.toml`.

    `defaults` is the revision of the defaults for missing keys, by default the newest; `boundaries` are given by variable
    if they are stored already.
    """
    return dataset_from_document(parse_toml(text), defaults, boundaries)


def dataset_from_document(
    description: dict[str, Any],
    defaults: int | None = None,
    boundaries: Mapping[str, Boundaries] = MappingProxyType({}),
) -> Dataset:
    """The dataset of a parsed document; the arguments are those of `parse_dataset`."""
    former = add_former_defaults(description, newest_defaults() if defaults is None else defaults)
    document = sections.attach_labels(former)
    lists = {field for field, _ in _LISTS.values()}
    scalars = (
        {field.name for field in fields(Dataset)} - lists - _SECTIONS - {"rules", "kept_by", "boundaries"}
    )
    sections.refuse_unknown_keys(document, scalars | _SECTIONS | {*_LISTS}, "dataset.toml")
    sections.require_keys(document, ("id", "label", "id_column"), "dataset.toml")
    plain = {key: value for key, value in document.items() if key in scalars}
    for key, value in plain.items():
        sections.check_type(value, _TYPES.get(key, str), f"`{key}`")
    plain |= {field: tuple(map(parse, _tables(document, key))) for key, (field, parse) in _LISTS.items()}
    dataset = Dataset(
        **plain,
        survey=parse_survey(document["survey"]) if "survey" in document else None,
        protection=parse_protection(document.get("protection", {}), document.get("survey")),
        rules=tuple(_tables(document, "rule")),
        kept_by=sections.parse_engine(document.get("engine", {}), BadDescription),
        boundaries=boundaries,
        file=sections.parse_file_options(document.get("file", {})),
        about=sections.parse_about(document.get("about", {})),
        publish=sections.parse_publish(document.get("publish", {})),
        access=parse_access(document.get("access", {})),
    )
    if dataset.protection.is_dp:
        dp_terms(dataset)
    return dataset


def parse_toml(text: str) -> dict[str, Any]:
    """A description as plain values; amounts of the budget stay decimals.

    Raises:
        BadDescription: It is not valid TOML.
    """
    text = text.removeprefix("\ufeff")
    _refuse_long_labels(text)
    short, lists = _lift_categories(text)
    try:
        try:
            document = tomllib.loads(short, parse_float=Decimal)
        except tomllib.TOMLDecodeError:  # for the line numbers of the file
            document, lists = tomllib.loads(text, parse_float=Decimal), {}
    except tomllib.TOMLDecodeError as error:
        raise BadDescription(
            f"dataset.toml is not valid TOML: {error}.", "Mend the line that it names."
        ) from None
    except RecursionError:
        raise BadDescription(
            "dataset.toml is nested too deeply.", "Write sections, not nested lists."
        ) from None
    except (ValueError, ArithmeticError):
        raise BadDescription(
            "dataset.toml has a number with thousands of digits.", "No number of a description needs them."
        ) from None
    protection = document.get("protection")
    budget = protection.pop("budget", None) if isinstance(protection, dict) else None
    plain: dict[str, Any] = _plain_values(document, lists)
    if budget is not None:
        plain["protection"]["budget"] = budget
    return plain


def _refuse_long_labels(text: str) -> None:
    """Refuse a text in quotes that no page can show; `tomllib` takes seconds for 10 MB."""
    most = limits.LONGEST_LABEL
    for number, line in enumerate(text.splitlines() if len(text) > most else (), 1):
        if len(line) > most and max(map(len, line.split('"'))) > most:
            raise BadDescription(
                f"Line {number:,} of dataset.toml has a text of more than {most:,} characters.",
                "Write a shorter one.",
            )


_TEXT = r'"([^"\\\x00-\x08\x0a-\x1f\x7f]*)"'
_CATEGORY = re.compile(rf"  \{{ code = {_TEXT}(?:, label = {_TEXT})?(?:, parent = {_TEXT})? \}},?\n")
_LINE = _CATEGORY.pattern.replace("([", "[").replace("]*)", "]*").removesuffix(r",?\n")
#: A list of categories as Discreet writes it, one per line.
_CATEGORIES = re.compile(rf"^categories = \[\n((?:{_LINE},\n)*{_LINE},?\n)\]$", re.MULTILINE)


def _lift_categories(text: str) -> tuple[str, dict[str, list[dict[str, str]]]]:
    """The text with a unique string in place of each plain list of categories, and the lists by these strings.

    A description has thousands of areas, and `tomllib` is slow: one regular expression takes a fifth of its time. A text
    with multi-line strings stays whole, because such a list may be part of one.
    """
    lists: dict[str, list[dict[str, str]]] = {}
    if '"""' in text or "'''" in text:
        return text, lists
    token = secrets.token_hex(16)

    def lift(found: re.Match[str]) -> str:
        name = f"{token}-{len(lists)}"
        keys = ("code", "label", "parent")
        lists[name] = [
            {key: value for key, value in zip(keys, each.groups(), strict=True) if value is not None}
            for each in _CATEGORY.finditer(found[1])
        ]
        return f'categories = "{name}"'

    return _CATEGORIES.sub(lift, text), lists


def _plain_values(value: Any, lists: Mapping[str, list[dict[str, str]]]) -> Any:
    """Decimals as floats, and lifted lists in their places."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain_values(each, lists) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain_values(each, lists) for each in value]
    return lists.get(value, value) if isinstance(value, str) else value


#: Metadata of a variable.
_WORDS = ("topic", "description", "universe", "notes", "source", "classification")


def _variable(entry: dict[str, Any]) -> Variable:
    known = {"name", "label", "categories", "categories_file", "column", "not_stated", "missing", "values"}
    sections.refuse_unknown_keys(
        entry, known | {"unlisted", "categories_from", "boundaries", *_WORDS}, "[[variable]]"
    )
    sections.require_keys(entry, ("name",), "[[variable]]")
    where = f'the variable "{entry["name"]}"'
    if "categories_file" in entry:
        raise BadDescription(
            f"{where} names a file of categories, and no folder to look for it is known.",
            "Give the description as a file; `categories_file` stands on a line of its own.",
        )
    sections.require_keys(entry, ("categories",), "[[variable]]")
    if not isinstance(entry["categories"], list):
        raise BadDescription(
            f"The categories of {where} are not a list.", 'Write [{ code = "1", label = "..." }, ...].'
        )
    categories = tuple(_category(category, where) for category in entry["categories"])
    return Variable(
        name=str(entry["name"]),
        label=str(entry.get("label", entry["name"])),
        categories=categories,
        column=str(entry.get("column", "")),
        **{key: str(entry[key]) for key in ("not_stated", "unlisted") if key in entry},
        categories_from=_text(entry, "categories_from", where),
        boundaries=str(entry.get("boundaries", "")),
        **{word: _text(entry, word, where) for word in _WORDS},
        missing=parse_missing(entry.get("missing", []), where),
        recodes=parse_recodes(entry["values"], tuple(c.code for c in categories), where)
        if "values" in entry
        else Recodes(),
    )


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    text = entry.get(key, "")
    if not isinstance(text, str):
        raise BadDescription(f"The {key} of {where} is not text.", "Put it in quotes.")
    if key == "classification" and key in entry and not text.startswith(("https://", "http://")):
        raise BadDescription(f"The classification of {where} is no web address.", "Begin it with https://.")
    return text


def _category(entry: Any, where: str) -> Category:
    if isinstance(entry, str):
        return Category(entry, entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("code"), str):
        raise BadDescription(
            f"{where} has a category without a code in quotes.", 'Write { code = "1", label = "..." }.'
        )
    if not entry.keys() <= sections.CATEGORY_KEYS:
        sections.refuse_unknown_keys(entry, sorted(sections.CATEGORY_KEYS), where)
    label = entry.get("label", entry["code"])
    parent = entry.get("parent")
    if not isinstance(label, str) or not (parent is None or isinstance(parent, str)):
        raise BadDescription(f"{where} has a label or parent that is not text.", "Put it in quotes.")
    return Category(entry["code"], label, parent)


def _hierarchy(entry: dict[str, Any]) -> Hierarchy:
    sections.refuse_unknown_keys(entry, {"name", "label", "levels", "geography"}, "[[hierarchy]]")
    sections.require_keys(entry, ("name", "levels"), "[[hierarchy]]")
    if not isinstance(entry["levels"], list):
        advice = 'Write levels = ["coarse", "fine"].'
        raise BadDescription("The levels of a hierarchy are not a list.", advice)
    name, levels = str(entry["name"]), tuple(map(str, entry["levels"]))
    return Hierarchy(name, str(entry.get("label", name)), levels, bool(entry.get("geography", False)))


def _structural_zero(entry: dict[str, Any]) -> StructuralZero:
    sections.refuse_unknown_keys(entry, {"label", "where", "move_to"}, "[[structural_zero]]")
    where = entry.get("where")
    if not isinstance(where, dict) or not all(isinstance(codes, list) for codes in where.values()):
        raise BadDescription("A structural zero has no `where`.", "Add `where = { variable = [codes] }`.")
    conditions = tuple(sorted((name, frozenset(map(str, codes))) for name, codes in where.items()))
    moved = entry.get("move_to", {})
    fits = isinstance(moved, dict) and all(isinstance(code, str) for code in moved.values())
    sections.check_value(
        fits, moved, "`move_to` of a structural zero", 'Write move_to = { variable = "code" }.'
    )
    return StructuralZero(str(entry.get("label", "")), conditions, tuple(sorted(moved.items())))


def _code_list(entry: dict[str, Any]) -> CodeList:
    sections.refuse_unknown_keys(entry, {"name", "label", "variable", "categories"}, "[[code_list]]")
    sections.require_keys(entry, ("name", "variable", "categories"), "[[code_list]]")
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


#: Sections of a description; and its lists of sections, with the field that each fills and its parser.
_SECTIONS = {"protection", "survey", "engine", "file", "about", "publish", "access", "rule"}
_LISTS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "variable": ("variables", _variable),
    "hierarchy": ("hierarchies", _hierarchy),
    "structural_zero": ("structural_zeros", _structural_zero),
    "code_list": ("code_lists", _code_list),
    "measure": ("measures", parse_measure),
}


_NAMES = ("name", "code", "id")
#: The value of a missing key.
NOTHING = None


@dataclass(frozen=True, slots=True)
class Change:
    """A key that differs between two descriptions; `before` and `after` are `NOTHING` where it is missing.

    `path` has the keys from the top, as `("variable", "sex", "label")`.
    """

    path: tuple[str, ...]
    before: Any
    after: Any

    @property
    def place(self) -> str:
        """The path in one word: `variable.sex.label`."""
        return ".".join(self.path)


def description_changes(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[Change]:
    """All keys that differ, in the order of the first description.

    Lists of tables are compared by the names or codes of their entries, and by order.

    >>> changes = description_changes({"variable": [{"name": "sex", "label": "Sex"}]}, {"variable": [{"name": "sex"}]})
    >>> [(change.place, change.before, change.after) for change in changes]
    [('variable.sex.label', 'Sex', None)]
    """
    first, second = _by_key(before), _by_key(after)
    if first is None or second is None:
        if before != after or type(before) is not type(after):
            yield Change(path, before, after)
        return
    for key in [*first, *(key for key in second if key not in first)]:
        if key not in first or key not in second:
            yield Change((*path, key), first.get(key, NOTHING), second.get(key, NOTHING))
        else:
            yield from description_changes(first[key], second[key], (*path, key))
    orders = [[key for key in each if key in first and key in second] for each in (first, second)]
    if isinstance(before, list) and orders[0] != orders[1]:
        yield Change((*path, "order"), orders[0], orders[1])


def _by_key(value: Any) -> dict[str, Any] | None:
    """A table by its keys, a list of tables by the names of its entries; None for other values."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
        return None
    names = [
        next((str(entry[name]) for name in _NAMES if name in entry), str(n)) for n, entry in enumerate(value)
    ]
    return dict(zip(names, value, strict=True)) if len(set(names)) == len(names) else None
