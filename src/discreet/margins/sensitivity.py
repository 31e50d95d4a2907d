"""Contingency tables as tidy CSV, the four tables of the paper, and the sensitivity of coefficients.

A tidy file has one column for each variable and a last column `count`; missing combinations count zero, repeated ones are
added. The categories of a variable are those of the file, in numerical order if all are numbers and otherwise in the order
of the file.

The L1 sensitivity says how much one person can change all coefficients together. In integers (c_S of `bases`), for a
person in cell x:

    add/remove, Fourier:       Σ_S |±1|                           = |B|
    add/remove, Efron-Stein:   Σ_S Π_{j∈S} ‖k_j e - 1‖₁           = Σ_S Π_{j∈S} 2(k_j - 1)
    replace-one x by y:        Σ_S ‖c_S(x) - c_S(y)‖₁, largest over the set D of variables that differ.

Theorem 2 of the paper takes every entry of f^{S,x} for ±1/Π k_j; where y agrees with x the entry is
Π_{j∈S} (k_j - 1) times that. A spare factor of two hides it for few categories; for more (journey: 4, 4
and 16) the paper's scale is too small. `paper_epsilon` returns the ε that it really gives.

Source: Yang, Fienberg & Rinaldo (2012), Theorems 1 and 2, corrected, and Tables 3-7; `data/README.md`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadRequest, NotFound
from discreet.margins.bases import number_of_coefficients, require_binary
from discreet.margins.margin_set import Axes, MarginSet
from discreet.model.file_io import parse_rows, read_rows, whole_number
from discreet.model.messages.text import nearest

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

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    @property
    def total(self) -> int:
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


Neighbours = Literal["add-remove", "replace-one"]
Basis = Literal["fourier", "efron-stein"]

#: The most variables for which all 2^k sets of differing variables are tried.
MOST_VARIABLES = 20


def require_neighbours(neighbours: str) -> None:
    """Refuse an unknown neighbouring relation."""
    if neighbours not in get_args(Neighbours):
        raise BadRequest(
            f'Neighbours "{neighbours}" are not known.', nearest(neighbours, get_args(Neighbours))
        )


def integer_sensitivity(wanted: MarginSet, basis: str, neighbours: str) -> int:
    """The L1 sensitivity of all integer coefficients together.

    >>> from discreet.margins.margin_set import MarginSet
    >>> journey = MarginSet(("A", "B", "C"), (4, 4, 16), ((0, 1), (0, 2), (1, 2)))
    >>> integer_sensitivity(journey, "efron-stein", "add-remove") / 256
    1.71484375
    >>> integer_sensitivity(journey, "efron-stein", "replace-one") / 256
    2.625
    """
    require_neighbours(neighbours)
    if basis == "fourier":
        require_binary(wanted)
    if neighbours == "replace-one":
        changes = _fourier_changes if basis == "fourier" else _efron_stein_changes
        total = sum(changes_by_difference(wanted, part, changes(wanted, part)) for part in wanted.closure)
        return round(float(np.asarray(total)[1:].max()))
    if basis == "fourier":
        return len(wanted.closure)
    return sum(math.prod(2 * (k - 1) for k in wanted.margin_shape(part)) for part in wanted.closure)


def coefficient_scaling(wanted: MarginSet, basis: str) -> float:
    """The factor from the paper's coefficients to integers: 2^(k/2), or Π k_j."""
    return math.sqrt(wanted.table_cells) if basis == "fourier" else float(wanted.table_cells)


def sensitivity(wanted: MarginSet, basis: str, neighbours: str) -> float:
    """The L1 sensitivity in the paper's units."""
    return integer_sensitivity(wanted, basis, neighbours) / coefficient_scaling(wanted, basis)


def paper_sensitivity(wanted: MarginSet, basis: str) -> float:
    """The sensitivity that the paper uses: 2|B|/2^(k/2) (Theorem 1), or Σ_S 2/Π_{j∉S} k_j (Theorem 2).

    The first is valid for both neighbouring relations, and loose. The second can be too small if a variable has more
    than two categories.
    """
    if basis == "fourier":
        require_binary(wanted)
        return 2 * len(wanted.closure) / math.sqrt(wanted.table_cells)
    return 2 * number_of_coefficients(wanted) / wanted.table_cells


def paper_epsilon(wanted: MarginSet, basis: str, neighbours: str, epsilon: float) -> float:
    """The ε that the paper's scale really gives: ε · (true sensitivity) / (published sensitivity)."""
    return epsilon * sensitivity(wanted, basis, neighbours) / paper_sensitivity(wanted, basis)


def changes_by_difference(
    wanted: MarginSet, part: Axes, by_pattern: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The change of one margin for every set D of differing variables (bit j of the index: variable j).

    `by_pattern` has its change for each pattern of differing variables within it (bit i of the pattern: its i-th variable).
    """
    variables = len(wanted.shape)
    if variables > MOST_VARIABLES:
        raise BadRequest(
            f"{variables} variables: the worst replacement is searched among 2^{variables} cases.",
            f"Take add-remove neighbours, or at most {MOST_VARIABLES} variables.",
        )
    index = np.arange(2**variables)
    pattern = sum((((index >> axis) & 1) << i for i, axis in enumerate(part)), np.zeros_like(index))
    return np.asarray(by_pattern[pattern])


def _fourier_changes(_wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """|c_S(x) - c_S(y)| is 2 where x and y differ in an odd number of the variables of S, else 0."""
    return np.array([2.0 * (pattern.bit_count() % 2) for pattern in range(2 ** len(part))])


def _efron_stein_changes(wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """‖⊗a - ⊗b‖₁ for a_j = k e_x - 1 and b_j = k e_y - 1, by the pattern of differing variables."""
    changes = []
    for pattern in range(2 ** len(part)):
        sizes = [(k, pattern >> i & 1) for i, k in enumerate(wanted.margin_shape(part))]
        agree = math.prod(2 * (k - 1) for k, differs in sizes if not differs)
        changes.append(float(agree * _tensor_distance([k for k, differs in sizes if differs])))
    return np.array(changes)


def _tensor_distance(shape: list[int]) -> int:
    """‖⊗a - ⊗b‖₁ if every axis differs: at x it has (k-1, -1), at y (-1, k-1), elsewhere (-1, -1)."""
    kinds = [((k - 1, -1, 1), (-1, k - 1, 1), (-1, -1, k - 2)) for k in shape]
    return sum(
        abs(math.prod(a for a, _, _ in combination) - math.prod(b for _, b, _ in combination))
        * math.prod(times for _, _, times in combination)
        for combination in product(*kinds)
    )
