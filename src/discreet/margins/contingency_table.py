"""Contingency tables as tidy CSV, and the four tables of the paper.

A tidy file has one column for each variable and a last column `count`; missing combinations count zero, repeated ones are
added. The categories of a variable are those of the file, in numerical order if all are numbers and otherwise in the order
of the file.

Source: Yang, Fienberg & Rinaldo (2012), Tables 3-6 and 7 (the models); `data/README.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, NotFound
from discreet.model.file_io import parse_rows, read_rows, whole_number

#: The paper's tables with the margins of their models (Table 7).
PAPER_TABLES = {
    "edwards": "AD,AB,BE,CE,CF",
    "czech": "BF,ADE,ABCE",
    "rochdale": "ACE,ACG,ADG,BDH,BF,BE,CEF,CFG",
    "journey": "AB,AC,BC",
}
MOST_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """Non-negative counts with the names and categories of their variables, one axis for each variable."""

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        shape = tuple(len(labels) for labels in self.categories)
        if len(self.names) != len(self.categories) or self.counts.shape != shape:
            raise BadData(
                f"Counts of shape {self.counts.shape} do not fit variables {self.names} of {shape}."
            )
        if self.counts.size and int(self.counts.min()) < 0:
            raise BadData("A count is below zero.", "Give whole numbers from 0.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each variable."""
        return self.counts.shape

    @property
    def total(self) -> int:
        """The sample size n."""
        return int(self.counts.sum())


def paper_table(name: str) -> ContingencyTable:
    """One of the paper's tables: edwards, czech, rochdale or journey.

    >>> paper_table("czech").total
    1841
    """
    if name not in PAPER_TABLES:
        raise NotFound(f'"{name}" is not a table of the papers.', f"Known: {', '.join(PAPER_TABLES)}.")
    text = files("discreet.margins").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return parse_table(text.splitlines(), name)


def read_table(path: Path) -> ContingencyTable:
    """A tidy CSV file."""
    if not path.is_file():
        raise NotFound(
            f'"{path}" is neither a file nor a table of the papers.', f"Known: {', '.join(PAPER_TABLES)}."
        )
    return _table(read_rows(path), path.name)


def parse_table(lines: Iterable[str], source: str) -> ContingencyTable:
    """Read tidy CSV lines: a header of variable names and `count`, then one line for each cell."""
    return _table(parse_rows(lines, source), source)


def _table(rows: list[list[str]], source: str) -> ContingencyTable:
    if not rows or len(rows[0]) < 2 or rows[0][-1].strip() != "count":
        raise BadData(f'{source} needs a header whose last column is "count".', "As in: sex,age,count")
    names = tuple(cell.strip() for cell in rows[0][:-1])
    cells = [_cell(row, len(names), source, number) for number, row in enumerate(rows[1:], start=2)]
    if not cells:
        raise BadData(f"{source} has a header and no counts.", "Write one line for each cell.")
    if len(set(names)) != len(names) or not all(names):
        raise BadData(f"{source} names a variable twice, or not at all: {', '.join(names)}.")
    categories = tuple(_categories([labels[j] for labels, _ in cells]) for j in range(len(names)))
    shape = tuple(len(labels) for labels in categories)
    if any(k < 2 for k in shape) or math.prod(shape) > MOST_CELLS:
        raise BadData(
            f"{source} has the shape {shape}: every variable needs 2 categories or more, "
            f"and the table at most {MOST_CELLS:,} cells."
        )
    counts = np.zeros(shape, dtype=np.int64)
    places = [{label: i for i, label in enumerate(labels)} for labels in categories]
    for labels, count in cells:
        counts[tuple(place[label] for place, label in zip(places, labels, strict=True))] += count
    return ContingencyTable(names, categories, counts)


def _cell(row: list[str], variables: int, source: str, number: int) -> tuple[tuple[str, ...], int]:
    if len(row) != variables + 1:
        raise BadData(f"Line {number} of {source} has {len(row)} columns; the header has {variables + 1}.")
    count = whole_number(row[-1])
    if count is None or count < 0:
        raise BadData(f"Line {number} of {source}: a count must be a whole number from 0 to 2^53.")
    return tuple(cell.strip() for cell in row[:-1]), count


def _categories(labels: list[str]) -> tuple[str, ...]:
    found = list(dict.fromkeys(labels))
    if all(whole_number(label) is not None for label in found):
        found.sort(key=int)
    return tuple(found)
