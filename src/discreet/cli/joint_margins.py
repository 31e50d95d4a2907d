"""The margins of a dataset on the screen: a table for each, what they cost, and what a reader must be told."""

from __future__ import annotations

from itertools import product
from typing import Any

from rich.text import Text

from discreet.cli.console import messages, output
from discreet.cli.grid import print_grid


def show_joint(found: dict[str, Any]) -> None:
    """Print the released margins, or before a release what each method's error would be."""
    messages.print(charge_sentence(found["charged"]), markup=False, soft_wrap=True)
    if found["runs"]:
        for label, table in found["runs"][0]["margins"].items():
            _show_margin(_names(label, found["categories"]), table, found["categories"])
    else:
        lines = [[method, f"{error:.2f}"] for method, error in found["expected_error"].items()]
        print_grid(output, "Expected absolute error of a cell", ["Method", "E|error|"], lines, 1)
    for note in found["notes"]:
        output.print(Text(note), style="dim")


def charge_sentence(charged: dict[str, Any]) -> str:
    """What was charged, would be charged, or was paid before.

    >>> charge_sentence({"family": "b", "epsilon": 0.1, "delta": 0.0, "repeat": False, "spent": True, "left": 0.4})
    'Charged epsilon 0.1, delta 0 to the budget "b"; epsilon 0.4 is left.'
    """
    amount = f"epsilon {charged['epsilon']:.12g}, delta {charged['delta']:.3g}"
    if not charged["spent"]:
        return f'It would charge {amount} to the budget "{charged["family"]}", unless it was charged before.'
    left = f"epsilon {charged['left']:.12g} is left"
    if charged["repeat"]:
        return f'Charged nothing: it was charged to the budget "{charged["family"]}" before; {left}.'
    return f'Charged {amount} to the budget "{charged["family"]}"; {left}.'


def _names(label: str, categories: dict[str, list[str]]) -> list[str]:
    """The variables of a margin's label: names of one letter stand side by side, others have a star between them."""
    if label in categories:
        return [label]
    return label.split("*") if "*" in label else list(label)


def _show_margin(names: list[str], table: list[Any], categories: dict[str, list[str]]) -> None:
    """One margin: its last variable along the top, the others down the side."""
    if len(names) == 1:
        lines = [[code, _number(value)] for code, value in zip(categories[names[0]], table, strict=True)]
        print_grid(output, names[0], [names[0], "count"], lines, 1)
        return
    lines = []
    for place in product(*(range(len(categories[name])) for name in names[:-1])):
        row: Any = table
        for position in place:
            row = row[position]
        codes = [categories[name][position] for name, position in zip(names, place, strict=False)]
        lines.append([*codes, *map(_number, row)])
    headers = [*names[:-1], *categories[names[-1]]]
    print_grid(output, " by ".join(names), headers, lines, len(names) - 1)


def _number(value: float | None) -> str:
    """A released number; `c` where it is withheld."""
    if value is None:
        return "c"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
