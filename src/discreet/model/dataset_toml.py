"""Reading a `dataset.toml`: from its text to a `Dataset`, or to what is wrong with it.

Every key is known, every value has its type, and a mistyped key names the nearest one. What the parts mean
together is checked by `Dataset` itself.

Comes from: the custodian's file. Goes to: `Dataset`.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.errors import BadDescription, nearest
from discreet.model.dataset import Dataset
from discreet.model.declared_dp import declared_dp
from discreet.model.defaults import newest_defaults, with_former_defaults
from discreet.model.engine_section import engine_named
from discreet.model.protection import Protection
from discreet.model.sampling_design import KEYS, sampling_design
from discreet.model.survey import FORMS, OPEN_FORMS, Survey
from discreet.model.variable import Category, CodeList, Hierarchy, StructuralZero, Variable


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
    document = _document(text)
    name = str(document.get("id", ""))
    return Names(name, str(document.get("lineage") or name), str(document.get("version", "1")))


def parse_dataset(text: str, defaults: int | None = None) -> Dataset:
    """Read the text of a `dataset.toml`.

    Args:
        text: The text.
        defaults: The revision of the defaults for keys that it leaves out; today's by default.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    document = with_former_defaults(_document(text), newest_defaults() if defaults is None else defaults)
    allowed = {f.name for f in fields(Dataset)} - {
        "variables",
        "hierarchies",
        "structural_zeros",
        "code_lists",
        "rules",
        "kept_by",
    }
    allowed |= {"variable", "hierarchy", "structural_zero", "code_list", "rule", "engine"}
    _only(document, allowed, "dataset.toml")
    _need(document, ("id", "label", "id_column"), "dataset.toml")
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
        }
    }
    _strings(plain, except_for={"weight_decimals", "key_decimals"})
    dataset = Dataset(
        **plain,
        variables=tuple(_variable(entry) for entry in _tables(document, "variable")),
        hierarchies=tuple(_hierarchy(entry) for entry in _tables(document, "hierarchy")),
        structural_zeros=tuple(_structural_zero(entry) for entry in _tables(document, "structural_zero")),
        code_lists=tuple(_code_list(entry) for entry in _tables(document, "code_list")),
        survey=_survey(document["survey"]) if "survey" in document else None,
        protection=_protection(document.get("protection", {})),
        rules=tuple(_tables(document, "rule")),
        kept_by=engine_named(document.get("engine", {}), BadDescription),
    )
    if dataset.protection.is_dp:
        declared_dp(dataset)
    return dataset


def _document(text: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text, parse_float=Decimal)
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


def _variable(entry: dict[str, Any]) -> Variable:
    _only(entry, {"name", "label", "categories", "column", "not_stated"}, "[[variable]]")
    _need(entry, ("name", "categories"), "[[variable]]")
    where = f'the variable "{entry["name"]}"'
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
        not_stated=None if entry.get("not_stated") is None else str(entry["not_stated"]),
    )


def _category(entry: Any, where: str) -> Category:
    if isinstance(entry, str):
        return Category(entry, entry)
    if not isinstance(entry, dict) or not isinstance(entry.get("code"), str):
        raise BadDescription(
            f"{where} has a category without a code in quotes.", 'Write { code = "1", label = "..." }.'
        )
    _only(entry, {"code", "label", "parent"}, where)
    label = entry.get("label", entry["code"])
    parent = entry.get("parent")
    if not isinstance(label, str) or not (parent is None or isinstance(parent, str)):
        raise BadDescription(f"{where} has a label or parent that is not text.", "Put it in quotes.")
    return Category(entry["code"], label, parent)


def _hierarchy(entry: dict[str, Any]) -> Hierarchy:
    _only(entry, {"name", "label", "levels", "geography"}, "[[hierarchy]]")
    _need(entry, ("name", "levels"), "[[hierarchy]]")
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
    _only(entry, {"label", "where"}, "[[structural_zero]]")
    where = entry.get("where")
    if not isinstance(where, dict) or not all(isinstance(codes, list) for codes in where.values()):
        raise BadDescription("A structural zero has no `where`.", "Add `where = { variable = [codes] }`.")
    conditions = tuple(sorted((name, frozenset(map(str, codes))) for name, codes in where.items()))
    return StructuralZero(str(entry.get("label", "")), conditions)


def _code_list(entry: dict[str, Any]) -> CodeList:
    _only(entry, {"name", "label", "variable", "categories"}, "[[code_list]]")
    _need(entry, ("name", "variable", "categories"), "[[code_list]]")
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


def _survey(entry: Any) -> Survey:
    if not isinstance(entry, dict):
        raise BadDescription("`survey` is not a section.", "Write [survey] before its lines.")
    _only(entry, {f.name for f in fields(Survey)} - {"design"} | KEYS, "[survey]")
    _need(entry, ("sample_size", "population_size", "largest_weight"), "[survey]")
    form = str(entry.get("form", FORMS[0]))
    if form in OPEN_FORMS:
        raise BadDescription(
            f'The weight form "{form}" is not served: its weighted counts undo the noise of the counts.',
            f"Use {', '.join(FORMS[:-1])}: docs/methods/survey-weights.md says which fits your weights.",
        )
    if form not in FORMS:
        raise BadDescription(f'The weight form is "{form}".', nearest(form, FORMS))
    weights = entry.get("stratum_weights", {})
    if not isinstance(weights, dict) or not isinstance(entry["sample_size"], int):
        raise BadDescription(
            "`sample_size` is no whole number, or `stratum_weights` no table.",
            "Write sample_size = 1500 and stratum_weights = { A = 900, B = 300 }.",
        )
    return Survey(
        form,
        entry["sample_size"],
        _fraction(entry["population_size"]),
        _fraction(entry["largest_weight"]),
        _fraction(entry.get("relative_variance", 0)),
        entry.get("stratum"),
        tuple((str(code), _fraction(weight)) for code, weight in weights.items()),
        sampling_design(entry),
        _fraction(entry.get("error_limit", "0.25")),
    )


def _fraction(value: object) -> Fraction:
    """A number of the description as the decimal that was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.")
    try:
        return Fraction(str(value))
    except ValueError:
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.") from None


def _protection(entry: Any) -> Protection:
    if not isinstance(entry, dict):
        raise BadDescription("`protection` is not a section.", "Write [protection] before its lines.")
    allowed = {f.name for f in fields(Protection)}
    _only(entry, allowed, "[protection]")
    values = dict(entry)
    if "modulus" in values:
        values["modulus"] = parse_modulus(values["modulus"])
    for name in ("max_variables", "max_cells", "big_n"):
        if name in values and (not isinstance(values[name], int) or isinstance(values[name], bool)):
            raise BadDescription(f"{name} of [protection] is {values[name]!r}.", "Give a whole number.")
    tables = values.get("fit_to", [])
    if not isinstance(tables, list) or not all(isinstance(each, str) for each in tables):
        raise BadDescription(
            f"fit_to of [protection] is {tables!r}.", 'Give a list, as in ["area", "sex*age"].'
        )
    for name in ("noise", "universe", "budget"):
        if not isinstance(values.get(name, {}), dict):
            raise BadDescription(
                f"[protection.{name}] is not a table.", f"Write [protection.{name}] before its lines."
            )
    if values.get("method") == "dp":
        by_rho = values.get("budget", {}).get("rule") == "zcdp"
        values["noise"] = {"family": "gaussian" if by_rho else "laplace", **values.get("noise", {})}
    if not isinstance(values.get("non_negative", True), bool):
        raise BadDescription("non_negative of [protection] is not true or false.", "Write true or false.")
    return Protection(**values)


def parse_modulus(value: object) -> int:
    """Read a key modulus: a whole number, or a power such as "2^64".

    >>> parse_modulus("2^64") == 2**64
    True
    """
    try:
        if isinstance(value, str):
            base, _, power = value.partition("^")
            return int(base) ** int(power) if power and int(power) <= 64 else int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    except ValueError:
        pass
    raise BadDescription(f"The key modulus is {value!r}.", 'Give a whole number, or a power such as "2^64".')


def _tables(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    entries = document.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadDescription(f"`{name}` is not a list of sections.", f"Write [[{name}]] before each.")
    return entries


def _only(entry: dict[str, Any], allowed: set[str], where: str) -> None:
    for key in entry:
        if key not in allowed:
            raise BadDescription(f'{where} has the unknown key "{key}".', nearest(key, sorted(allowed)))


def _need(entry: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        if key not in entry:
            raise BadDescription(f"{where} lacks `{key}`.", "Add it.")


def _strings(entry: dict[str, Any], *, except_for: set[str]) -> None:
    for key, value in entry.items():
        if key in except_for:
            if not isinstance(value, int) or isinstance(value, bool):
                raise BadDescription(f"`{key}` is {value!r}.", "Give a whole number.")
        elif not isinstance(value, str):
            raise BadDescription(f"`{key}` is {value!r}.", "Put it in quotes.")
