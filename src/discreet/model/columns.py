"""A release as columns: one line a cell, in the order of the cells, the last variable fastest.

    places_of(release, lines)   for each variable, which of its categories each line has
    numbers_of(release, lines)  value, and beside it signed, errors, percent and rank where there are any
    blocks(release)             the lines, some at a time

Every format that has lines writes these columns, so that all of them say the same. A large table is written block by
block, so that no more than a block of it is ever there as columns or as text.

Comes from: `Release`. Goes to: `formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.release import NOT_APPLICABLE, WITHHELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension

    #: Some lines of a release: from one to another, or by their numbers.
    Lines = slice | NDArray[np.int64]

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


def places_of(release: Release, lines: Lines = EVERY) -> Iterator[tuple[Dimension, NDArray[np.int32]]]:
    """Each variable with the place of its category in every line."""
    numbers = np.arange(*lines.indices(release.cells)) if isinstance(lines, slice) else lines
    places = np.unravel_index(numbers, release.values.shape)
    for dimension, each in zip(release.dimensions, places, strict=True):
        yield dimension, each.astype(np.int32)


def numbers_of(release: Release, lines: Lines = EVERY) -> list[Numbers]:
    """The value of each line, and the numbers beside it; errors in percent. `NONE` for names and meanings alone."""
    missing = np.isin(release.status.flat[lines], (WITHHELD, NOT_APPLICABLE))
    columns = [Numbers("value", release.measure.title(release.dataset), release.values.flat[lines], missing)]
    if release.signed is not None:
        meaning = "The value before numbers below zero are shown as zero; use it to add up."
        columns.append(Numbers("signed", meaning, release.signed.flat[lines], missing))
    for name, meaning, tenths in (
        (
            "relative_standard_error",
            "Of sampling and noise together, in percent, rounded up.",
            release.errors,
        ),
        ("noise_share", "The noise's part of the error's variance, in percent.", release.noise_shares),
    ):
        if tenths is not None:
            percent = tenths.flat[lines] / 10
            columns.append(Numbers(name, meaning, percent, missing | (percent < 0)))
    columns += [
        Numbers(c.name, c.meaning, c.values.flat[lines], c.missing.flat[lines]) for c in release.derived
    ]
    return columns
