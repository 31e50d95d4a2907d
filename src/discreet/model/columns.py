"""A listing: the cells of a table whose number is not 0, as a stream. Every cell that is not listed has the number 0.

A listing says the same as the whole table, whose cells may be too many to be laid out. It is read once, block by block.

A release as columns: one line a cell, in the order of the cells, the last variable fastest.

    places_of(release, lines)   for each variable, which of its categories each line has
    numbers_of(release, lines)  value, and beside it signed, errors, percent and rank where there are any
    blocks(release)             the lines, some at a time

Every format that has lines writes these columns, so that all of them say the same. A large table is written block by
block, so that no more than a block of it is ever there as columns or as text.

A `Listing` has lines too, those of its cells that are not 0: they come as blocks and are read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.measure import Measure
from discreet.model.messages.text import one_line
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release, table_title
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension


@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Some cells.

    Args:
        places: For each dimension the place of its category in every cell.
        values: Their numbers.
        status: Index into `release.STATUSES`.
        signed: The numbers before those below zero are shown as zero; None where none can be.
        errors: As those of a `Release`.
        noise_shares: As those of a `Release`.
    """

    places: tuple[NDArray[np.int32], ...]
    values: NDArray[Any]
    status: NDArray[np.uint8]
    signed: NDArray[Any] | None = None
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The cells of a table whose number is not 0, and all that must be told of it.

    Args:
        dataset: The public description.
        digest: Which version it is of.
        request: The canonical request.
        dimensions: The variables in the order of the cells.
        notes: What every reader must be told; the first is mandatory.
        promise: What the protection promises, in plain sentences.
        measure: What the numbers say.
        nothing: No cell, with all columns that cells have.
        cells: The cells; they can be taken once.
    """

    dataset: Dataset
    digest: str
    request: TableRequest
    dimensions: tuple[Dimension, ...]
    notes: tuple[str, ...]
    promise: tuple[str, ...]
    measure: Measure
    nothing: ListedCells
    cells: Iterator[ListedCells]
    selection: None = None

    @property
    def title(self) -> str:
        """What is counted, by what."""
        return table_title(self.dataset, self.dimensions, self.request, self.measure)

    @property
    def query(self) -> str:
        """The parameters of an address that list these cells again."""
        return urlencode([*self.request.to_query(), ("nonzero", "yes")], safe=",=")

    def __repr__(self) -> str:
        return one_line(self, f"{self.title}: cells that are not 0, version {self.digest[:8]}")


#: Some lines of a release: from one to another, or by their numbers.
Lines = slice | NDArray[np.int64]
#: The same, or as a listing gives them.
Part = Lines | ListedCells

#: Lines that a format makes at a time.
BLOCK = 8_192
EVERY, NONE = slice(None), slice(0, 0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers.

    Args:
        name: Its name in every format.
        meaning: What it tells, in a sentence.
        values: Whole numbers or floats, one a line; 0 where `missing`, so that no file can hold what is withheld.
        missing: Which lines have no number.
    """

    name: str
    meaning: str
    values: NDArray[np.int64] | NDArray[np.float64]
    missing: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if not np.isfinite(self.values).all():
            raise ValueError("a released number is finite")
        object.__setattr__(self, "values", np.where(self.missing, self.values.dtype.type(0), self.values))

    def listed(self) -> list[float | None]:
        """The numbers as Python has them; None where there is none."""
        numbers = self.values.astype(object)
        numbers[self.missing] = None
        return [*numbers.tolist()]


def blocks(release: Release, size: int | None = None) -> Iterator[slice]:
    """All lines, at most so many at a time; `BLOCK` where nothing is said."""
    step = size or BLOCK
    for start in range(0, release.cells, step):
        yield slice(start, min(start + step, release.cells))


def parts(release: Release | Listing, size: int | None = None) -> Iterator[Part]:
    """All lines of a release or a listing, some at a time."""
    return release.cells if isinstance(release, Listing) else blocks(release, size)


def places_of(
    release: Release | Listing, lines: Part = EVERY
) -> Iterator[tuple[Dimension, NDArray[np.int32]]]:
    """Each variable with the place of its category in every line."""
    if isinstance(release, Listing) or isinstance(lines, ListedCells):
        yield from zip(release.dimensions, _part(release, lines).places, strict=True)
        return
    numbers = np.arange(*lines.indices(release.cells)) if isinstance(lines, slice) else lines
    places = np.unravel_index(numbers, release.values.shape)
    for dimension, each in zip(release.dimensions, places, strict=True):
        yield dimension, each.astype(np.int32)


def statuses_of(release: Release | Listing, lines: Part = EVERY) -> NDArray[np.uint8]:
    """The status of each line, as an index into `STATUSES`."""
    return _part(release, lines).status


def numbers_of(release: Release | Listing, lines: Part = EVERY) -> list[Numbers]:
    """The value of each line, and the numbers beside it; errors in percent. `NONE` for names and meanings alone."""
    part = _part(release, lines)
    missing = np.isin(part.status, (WITHHELD, NOT_APPLICABLE))
    columns = [Numbers("value", release.measure.title(release.dataset), part.values, missing)]
    if part.signed is not None:
        meaning = "The value before numbers below zero are shown as zero; use it to add up."
        columns.append(Numbers("signed", meaning, part.signed, missing))
    for name, meaning, tenths in (
        ("relative_standard_error", "Of sampling and noise together, in percent, rounded up.", part.errors),
        ("noise_share", "The noise's part of the error's variance, in percent.", part.noise_shares),
    ):
        if tenths is not None:
            percent = tenths / 10
            columns.append(Numbers(name, meaning, percent, missing | (percent < 0)))
    if isinstance(release, Listing) or isinstance(lines, ListedCells):
        return columns
    return columns + [
        Numbers(c.name, c.meaning, c.values.flat[lines], c.missing.flat[lines]) for c in release.derived
    ]


def _part(release: Release | Listing, lines: Part) -> ListedCells:
    """The cells of some lines."""
    if isinstance(lines, ListedCells):
        return lines
    if isinstance(release, Listing):
        return release.nothing
    return ListedCells(
        (),
        release.values.flat[lines],
        release.status.flat[lines],
        None if release.signed is None else release.signed.flat[lines],
        None if release.errors is None else release.errors.flat[lines],
        None if release.noise_shares is None else release.noise_shares.flat[lines],
    )
