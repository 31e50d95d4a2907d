"""Write the text of a `dataset.toml` from plain values, one category per line.

Source: TOML 1.0, "String" and "Array of Tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.records.draft.toml_text import toml_string


@dataclass(frozen=True, slots=True)
class Category:
    """One category of a variable, with its parent in the coarser level where there is one."""

    code: str
    label: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a demo dataset: name, label, categories in order, topic, definition, file with their shapes."""

    name: str
    label: str
    categories: tuple[Category, ...]
    topic: str = ""
    description: str = ""
    boundaries: str = ""

    @property
    def codes(self) -> list[str]:
        """The codes of the categories, in order."""
        return [category.code for category in self.categories]


@dataclass(frozen=True, slots=True)
class Zero:
    """A combination of categories that cannot occur."""

    label: str
    where: Mapping[str, Sequence[str]]


def number_categories(labels: str) -> tuple[Category, ...]:
    """Categories with running numbers as codes, from their labels between semicolons.

    >>> [category.code for category in number_categories("Male; Female")]
    ['1', '2']
    """
    return tuple(Category(str(number), label) for number, label in enumerate(labels.split("; "), 1))


def toml_list(texts: Iterable[str]) -> str:
    """A TOML array of strings on one line.

    >>> toml_list(["0-4", "5-9"])
    '["0-4", "5-9"]'
    """
    return "[" + ", ".join(map(toml_string, texts)) + "]"


def header(pairs: Mapping[str, str | int]) -> str:
    r"""The top of the file: one key a line.

    >>> header({"id": "census", "weight_decimals": 4})
    'id = "census"\nweight_decimals = 4\n'
    """
    values = ((key, toml_string(value) if isinstance(value, str) else value) for key, value in pairs.items())
    return "".join(f"{key} = {value}\n" for key, value in values)


def variable_block(variable: Variable) -> str:
    """The `[[variable]]` table of one variable, one category a line."""
    lines = "".join(f"  {_category(category)},\n" for category in variable.categories)
    about = {"name": variable.name, "label": variable.label}
    about |= {"topic": variable.topic} if variable.topic else {}
    about |= {"description": variable.description} if variable.description else {}
    about |= {"boundaries": variable.boundaries} if variable.boundaries else {}
    return f"[[variable]]\n{header(about)}categories = [\n{lines}]\n"


def _category(category: Category) -> str:
    text = f"{{ code = {toml_string(category.code)}, label = {toml_string(category.label)}"
    return f"{text}, parent = {toml_string(category.parent)} }}" if category.parent else text + " }"


def hierarchy_block(name: str, label: str, levels: Sequence[str], *, geography: bool) -> str:
    """The `[[hierarchy]]` table: levels from coarse to fine."""
    top = f"[[hierarchy]]\nname = {toml_string(name)}\nlabel = {toml_string(label)}\n"
    return f"{top}levels = {toml_list(levels)}\ngeography = {str(geography).lower()}\n"


def zero_block(zero: Zero) -> str:
    """The `[[structural_zero]]` table of one impossible combination."""
    where = ", ".join(f"{name} = {toml_list(codes)}" for name, codes in zero.where.items())
    return f"[[structural_zero]]\nlabel = {toml_string(zero.label)}\nwhere = {{ {where} }}\n"
