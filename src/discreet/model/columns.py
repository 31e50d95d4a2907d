"""A release as columns: one line a cell, in the order of the cells, the last variable fastest.

    places_of(release)   for each variable, which of its categories each line has
    numbers_of(release)  value, and beside it signed, errors, percent and rank where there are any

Every format that has lines writes these columns, so that all of them say the same.

Comes from: `Release`. Goes to: `formats`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension


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
        object.__setattr__(self, "values", np.where(self.missing, self.values.dtype.type(0), self.values))

    def listed(self) -> list[float | None]:
        """The numbers as Python has them; None where there is none."""
        numbers = self.values.astype(object)
        numbers[self.missing] = None
        return [*numbers.tolist()]


def places_of(release: Release) -> Iterator[tuple[Dimension, NDArray[np.int32]]]:
    """Each variable with the place of its category in every line."""
    lengths = release.values.shape
    for axis, dimension in enumerate(release.dimensions):
        along = tuple(-1 if a == axis else 1 for a in range(len(lengths)))
        places = np.arange(dimension.length, dtype=np.int32).reshape(along)
        yield dimension, np.broadcast_to(places, lengths).ravel()


def numbers_of(release: Release) -> list[Numbers]:
    """The value of each line, and the numbers beside it; errors in percent."""
    missing = release.missing.ravel()
    columns = [Numbers("value", release.title, release.values.ravel(), missing)]
    if release.signed is not None:
        meaning = "The value before numbers below zero are shown as zero; use it to add up."
        columns.append(Numbers("signed", meaning, release.signed.ravel(), missing))
    for name, meaning, tenths in (
        (
            "relative_standard_error",
            "Of sampling and noise together, in percent, rounded up.",
            release.errors,
        ),
        ("noise_share", "The noise's part of the error's variance, in percent.", release.noise_shares),
    ):
        if tenths is not None:
            percent = tenths.ravel() / 10
            columns.append(Numbers(name, meaning, percent, missing | (percent < 0)))
    columns += [Numbers(c.name, c.meaning, c.values.ravel(), c.missing.ravel()) for c in release.derived]
    return columns
