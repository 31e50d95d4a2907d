"""A release as columns: one line per cell, the last variable varying fastest.

Every format with lines writes these columns. A large table is written block by block, so that only one block of it is in
memory as columns or text. A `Listing` has only the cells that are not 0, as a stream of blocks that is read once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.messages.text import one_line
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release, table_title
from discreet.model.request import Measure, TableRequest
from discreet.model.shape import Dimension


@dataclass(frozen=True, slots=True, eq=False)
class ListedCells:
    """Some cells: the places of their categories by dimension, values, status and the optional columns of a `Release`."""

    places: tuple[NDArray[np.int32], ...]
    values: NDArray[Any]
    status: NDArray[np.uint8]
    signed: NDArray[Any] | None = None
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The cells of a table that are not 0, for tables too large to lay out; every other cell is 0.

    `cells` is a stream of blocks that can be read once; `nothing` is an empty block with all columns.
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
        return table_title(self.dataset, self.dimensions, self.request, self.measure)

    @property
    def query(self) -> str:
        """The query string that lists these cells again."""
        return urlencode([*self.request.to_query(), ("nonzero", "yes")], safe=",=")

    def __repr__(self) -> str:
        return one_line(self, f"{self.title}: cells that are not 0, version {self.digest[:8]}")


#: Lines of a release: a slice, or their numbers.
Lines = slice | NDArray[np.int64]
#: The same, or a block of a listing.
Part = Lines | ListedCells

#: Lines per block.
BLOCK = 8_192
EVERY, NONE = slice(None), slice(0, 0)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers: its name in every format, its meaning, and one value per line.

    Lines without a number are `missing`; their value is 0, so that no file can hold a withheld number.
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
        """The numbers as Python objects; None where missing."""
        numbers = self.values.astype(object)
        numbers[self.missing] = None
        return [*numbers.tolist()]


def blocks(release: Release, size: int | None = None) -> Iterator[slice]:
    """All lines in blocks of `size`, by default `BLOCK`."""
    step = size or BLOCK
    for start in range(0, release.cells, step):
        yield slice(start, min(start + step, release.cells))


def parts(release: Release | Listing, size: int | None = None) -> Iterator[Part]:
    """All lines of a release or a listing, block by block."""
    return release.cells if isinstance(release, Listing) else blocks(release, size)


def places_of(
    release: Release | Listing, lines: Part = EVERY
) -> Iterator[tuple[Dimension, NDArray[np.int32]]]:
    """Each variable with the position of its category in every line."""
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
    """The values and the optional columns; errors in percent. `NONE` gives names and meanings without lines."""
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
    if not isinstance(release, Listing) and not isinstance(lines, ListedCells):
        derived = ((c, c.values.flat[lines], c.missing.flat[lines]) for c in release.derived)
        columns += [Numbers(c.name, c.meaning, values, gone) for c, values, gone in derived]
    return columns


def _part(release: Release | Listing, lines: Part) -> ListedCells:
    if isinstance(lines, ListedCells):
        return lines
    if isinstance(release, Listing):
        return release.nothing
    optional = (release.signed, release.errors, release.noise_shares)
    some: list[Any] = [None if array is None else array.flat[lines] for array in optional]
    return ListedCells((), release.values.flat[lines], release.status.flat[lines], *some)
