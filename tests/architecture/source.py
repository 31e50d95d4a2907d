"""What a module says by its names, read in one walk over its tree: many tests ask for it, of every module."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent


@dataclass(frozen=True)
class Source:
    """The names of a module.

    Attributes:
        docstring: What it says of itself.
        imports: What it imports when it runs, with the names that it takes from there.
        typed: What it imports for type checkers alone.
        names: Variables that it uses, and names that it imports.
        attributes: Attributes of whatever it uses.
        inside: Private attributes of other objects than itself.
        given: Every name that it gives or uses: of functions, classes, arguments, attributes and variables.
    """

    docstring: str
    imports: frozenset[str]
    typed: frozenset[str]
    names: frozenset[str]
    attributes: frozenset[str]
    inside: frozenset[str]
    given: frozenset[str]


@cache
def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(SOURCE.rglob("*.py"))


def folder_of(path: Path) -> str:
    """The folder of a module, or its name where it has none."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@cache
def read_source(text: str) -> Source:
    """The names of a module, from its text."""
    runs, typed, names, attributes, inside, given = (set() for _ in range(6))
    tree = ast.parse(text)
    waiting = [(tree, runs)]
    while waiting:
        node, imports = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= _imported(node)
            names |= {alias.name for alias in node.names if isinstance(node, ast.ImportFrom)}
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
            inside |= {node.attr} if _is_inside(node) else set()
        given |= {
            name
            for field in ("name", "arg", "attr", "id")
            if isinstance(name := getattr(node, field, None), str)
        }
        checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        waiting += [
            (child, typed if checked and child in node.body else imports)
            for child in ast.iter_child_nodes(node)
        ]
    return Source(
        ast.get_docstring(tree) or "", *map(frozenset, (runs, typed, names, attributes, inside, given))
    )


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    inner = {f"{node.module}.{alias.name}" for alias in node.names}
    return {node.module, *inner} if node.module and not node.level else set()


def _is_inside(node: ast.Attribute) -> bool:
    private = node.attr.startswith("_") and not node.attr.startswith("__")
    return private and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
