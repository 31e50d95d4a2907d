"""The description of a dataset: what is counted, by which variables, under which protection.

Everything here is public knowledge, declared by the custodian in `dataset.toml`; nothing is read off the
records. `parse_dataset` reads the file's text and checks it as a whole.

Comes from: `dataset.toml`. Goes to: every stage.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription, UnknownVariable, nearest
from discreet.model.protection import Protection
from discreet.model.survey import CELLKEY_FORMS, Survey
from discreet.model.variable import Category, CodeList, Hierarchy, StructuralZero, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.model.levels import Group


@dataclass(frozen=True)
class Dataset:
    """One dataset as described; see docs/reference/dataset-toml.md for each field."""

    id: str
    label: str
    variables: tuple[Variable, ...]
    id_column: str
    description: str = ""
    source: str = ""
    version: str = "1"
    reference_date: str = ""
    unit: str = "records"
    population: str = ""
    lineage: str = ""
    weight_column: str | None = None
    weight_decimals: int = 4
    key_column: str | None = None
    key_decimals: int = 0
    hierarchies: tuple[Hierarchy, ...] = ()
    structural_zeros: tuple[StructuralZero, ...] = ()
    code_lists: tuple[CodeList, ...] = ()
    survey: Survey | None = None
    protection: Protection = Protection()  # noqa: RUF009 - frozen value
    #: The [[rule]] sections as they stand; `rules.declared.parse_rules` reads them.
    rules: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        if not _is_id(self.id):
            raise BadDescription(
                f"The dataset id {self.id!r} is not usable.",
                "Use lower-case letters, digits and hyphens, starting with a letter, at most 64.",
            )
        if not self.lineage:
            object.__setattr__(self, "lineage", self.id)
        if len({variable.name.lower() for variable in self.variables}) != len(self.variables):
            raise BadDescription(
                "Two variables have the same name, or names that differ in capitals only.",
                "Give every variable its own name.",
            )
        if not self.variables:
            raise BadDescription("The dataset has no variables.", "Add a [[variable]] section for each.")
        if not 0 <= self.weight_decimals <= 9 or not 0 <= self.key_decimals <= 9:
            raise BadDescription(
                f"weight_decimals is {self.weight_decimals} and key_decimals is {self.key_decimals}.",
                "Both must lie between 0 and 9.",
            )
        for hierarchy in self.hierarchies:
            self._check_hierarchy(hierarchy)
        if self.survey is not None:
            self._check_survey(self.survey)
        for zero in self.structural_zeros:
            self._check_zero(zero)
        for code_list in self.code_lists:
            self._check_code_list(code_list)

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    def variable(self, name: str) -> Variable:
        """The variable of a name; an unknown name is an error that names the nearest."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownVariable(
                f'The dataset "{self.id}" has no variable "{name}".', nearest(name, self._by_name)
            ) from None

    @cached_property
    def geography(self) -> frozenset[str]:
        """The variables that are levels of a geography."""
        return frozenset(level for h in self.hierarchies if h.geography for level in h.levels)

    @cached_property
    def finest_geography(self) -> str | None:
        """The finest level of the geography, by which records are sorted."""
        return next((h.levels[-1] for h in self.hierarchies if h.geography), None)

    @cached_property
    def known_levels(self) -> dict[tuple[str, str], tuple[Group, ...]]:
        """The levels of variables that have been worked out; `levels` fills it."""
        return {}

    def _check_hierarchy(self, hierarchy: Hierarchy) -> None:
        for coarse, fine in zip(hierarchy.levels, hierarchy.levels[1:], strict=False):
            parents = self._level(hierarchy, coarse)
            for category in self._level(hierarchy, fine).categories:
                if category.parent is None or category.parent not in parents:
                    raise BadDescription(
                        f'The category {category.code!r} of "{fine}" has the parent {category.parent!r}, '
                        f'which "{coarse}" does not have.',
                        f'Give every category of "{fine}" a parent that is a code of "{coarse}".',
                    )

    def _level(self, hierarchy: Hierarchy, name: str) -> Variable:
        if name not in self._by_name:
            raise BadDescription(
                f'The hierarchy "{hierarchy.name}" has the level "{name}", which is no variable.',
                nearest(name, self._by_name),
            )
        return self._by_name[name]

    def _check_survey(self, survey: Survey) -> None:
        if self.weight_column is None:
            raise BadDescription("[survey] needs weights.", "Name their column with `weight_column`.")
        if survey.stratum is None:
            return
        if survey.stratum not in self._by_name:
            raise BadDescription(
                f'[survey] names the variable "{survey.stratum}".', nearest(survey.stratum, self._by_name)
            )
        codes = self._by_name[survey.stratum].codes
        given = [code for code, _ in survey.stratum_weights]
        if set(given) != set(codes):
            raise BadDescription(
                f'The stratum weights are of {given[:5]}, the categories of "{survey.stratum}" are {codes[:5]}.',
                "Give every category one weight.",
            )

    def _check_code_list(self, code_list: CodeList) -> None:
        if code_list.variable not in self._by_name:
            raise BadDescription(
                f'The code list "{code_list.name}" is of the variable "{code_list.variable}".',
                nearest(code_list.variable, self._by_name),
            )
        taken = [*self._by_name, *(other.name for other in self.code_lists)]
        if taken.count(code_list.name) > 1:
            raise BadDescription(
                f'"{code_list.name}" names a code list and something else.',
                "Give every code list its own name.",
            )
        own = self._by_name[code_list.variable]
        unknown = [member for _, _, group in code_list.groups for member in group if member not in own]
        if unknown:
            raise BadDescription(
                f'The code list "{code_list.name}" groups {unknown[0]!r}, which "{own.name}" does not have.',
                nearest(unknown[0], own.codes),
            )

    def _check_zero(self, zero: StructuralZero) -> None:
        if not zero.where:
            raise BadDescription(
                "A structural zero names no variable.", "Add `where = { variable = [codes] }`."
            )
        for name, codes in zero.where:
            if name not in self._by_name:
                raise BadDescription(
                    f'A structural zero names the variable "{name}".', nearest(name, self._by_name)
                )
            unknown = sorted(codes - set(self._by_name[name].codes))
            if unknown or not codes:
                raise BadDescription(
                    f'A structural zero names {unknown[:3] or "no codes"} of "{name}".',
                    "List codes of that variable's categories.",
                )


def parse_dataset(text: str) -> Dataset:
    """Read the text of a `dataset.toml`.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadDescription(
            f"dataset.toml is not valid TOML: {error}.", "Mend the line that it names."
        ) from None
    allowed = {f.name for f in fields(Dataset)} - {
        "variables",
        "hierarchies",
        "structural_zeros",
        "code_lists",
        "rules",
    }
    allowed |= {"variable", "hierarchy", "structural_zero", "code_list", "rule"}
    _only(document, allowed, "dataset.toml")
    _need(document, ("id", "label", "id_column"), "dataset.toml")
    plain = {
        k: v
        for k, v in document.items()
        if k not in {"variable", "hierarchy", "structural_zero", "code_list", "protection", "survey", "rule"}
    }
    _strings(plain, except_for={"weight_decimals", "key_decimals"})
    return Dataset(
        **plain,
        variables=tuple(_variable(entry) for entry in _tables(document, "variable")),
        hierarchies=tuple(_hierarchy(entry) for entry in _tables(document, "hierarchy")),
        structural_zeros=tuple(_structural_zero(entry) for entry in _tables(document, "structural_zero")),
        code_lists=tuple(_code_list(entry) for entry in _tables(document, "code_list")),
        survey=_survey(document["survey"]) if "survey" in document else None,
        protection=_protection(document.get("protection", {})),
        rules=tuple(_tables(document, "rule")),
    )


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
    _only(entry, {f.name for f in fields(Survey)}, "[survey]")
    _need(entry, ("sample_size", "population_size", "largest_weight"), "[survey]")
    form = str(entry.get("form", CELLKEY_FORMS[0]))
    if form not in CELLKEY_FORMS:
        raise BadDescription(f'The weight form is "{form}".', nearest(form, CELLKEY_FORMS))
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
    )


def _fraction(value: object) -> Fraction:
    """A number of the description as the decimal that was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.")
    try:
        return Fraction(str(value))
    except ValueError:
        raise BadDescription(f"[survey] has the number {value!r}.", "Give a number.") from None


def _protection(entry: dict[str, Any]) -> Protection:
    allowed = {f.name for f in fields(Protection)}
    _only(entry, allowed, "[protection]")
    values = dict(entry)
    if "modulus" in values:
        values["modulus"] = parse_modulus(values["modulus"])
    for name in ("max_variables", "max_cells", "big_n"):
        if name in values and (not isinstance(values[name], int) or isinstance(values[name], bool)):
            raise BadDescription(f"{name} of [protection] is {values[name]!r}.", "Give a whole number.")
    if not isinstance(values.get("noise", {}), dict):
        raise BadDescription(
            "[protection.noise] is not a table.", 'Write [protection.noise] and `family = "maxent"`.'
        )
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


def _is_id(text: str) -> bool:
    return (
        0 < len(text) <= 64
        and text[0] in "abcdefghijklmnopqrstuvwxyz"
        and all(c in "abcdefghijklmnopqrstuvwxyz0123456789-" for c in text)
    )
