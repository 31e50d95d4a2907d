"""Two versions of one table, cell by cell: both numbers, their difference and their ratio, with intervals.

    difference   X - X',  between low - high' and high - low'
    ratio        X / X',  between low / high' and high / low'

where [low, high] and [low', high'] are the intervals of the two true counts at level 1 - (1 - level) / 2. Both hold
together with a chance of at least `level`, whatever their noise has in common (Bonferroni). It has much in common: under the
cell key method a cell with the same people has the same noise in both versions, and one with a person less has noise that
depends on the other in a way that is not told. A root of summed squares would rest on independence, which does not hold.
There is a ratio where the number below is above its noise (`viewed.above_noise`).

Both tables are asked through their doors: what is not answered is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import above_noise, bonferroni_level
from discreet.model.messages.text import message
from discreet.model.release import Release, subset_release


@dataclass(frozen=True, slots=True)
class CellEstimates:
    """A number for every cell with its limits, NaN where there is none; an end without a limit is infinite."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions of a table, the same cells in both.

    Args:
        release: The one.
        other: The version it is compared with.
        difference: Of the two true counts, the other taken off.
        ratio: Of the two true counts, the other below.
        level: The interval of each number covers the truth with at least this chance.
    """

    release: Release
    other: Release
    difference: CellEstimates
    ratio: CellEstimates
    level: float

    @property
    def note(self) -> str:
        """What a reader must be told of the two numbers."""
        return message(
            "Version {one} compared with {other}. Both numbers of a cell have noise, and it may be the same noise. "
            "Categories that only one version has are left out.",
            one=self.release.digest[:8],
            other=self.other.digest[:8],
        )

    def document(self) -> dict[str, Any]:
        """All cells as JSON; null where there is no number or no limit."""
        codes = product(*(dimension.codes for dimension in self.release.dimensions))
        columns = (
            _numbers(self.release),
            _numbers(self.other),
            _documents(self.difference),
            _documents(self.ratio),
        )
        return {
            "dimensions": [dimension.name for dimension in self.release.dimensions],
            "version": self.release.digest,
            "with": self.other.digest,
            "level": self.level,
            "note": [*self.release.notes, self.note],
            "cells": [
                {"codes": list(cell), "value": value, "with": other, "difference": difference, "ratio": ratio}
                for cell, value, other, difference, ratio in zip(codes, *columns, strict=True)
            ],
        }


def compare(release: Release, other: Release, level: float = DEFAULT_LEVEL) -> VersionComparison:
    """Compare two versions of a table, in the cells that both have.

    Raises:
        BadRequest: They answer different questions, share no category, or their numbers have no intervals.
    """
    release, other = common_cells(release, other)
    missing = release.missing | other.missing
    low, high = every_interval(release, bonferroni_level(level))
    least, most = every_interval(other, bonferroni_level(level))
    unlimited = missing | (low < 0) | (least < 0)
    one, two = (each.before_clipping.astype(np.float64) for each in (release, other))
    difference = CellEstimates(_where(~missing, one - two), *_limits(unlimited, low - most, high - least))
    divides = ~missing & above_noise(other)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = one / two, low / most.astype(np.float64), high / least.astype(np.float64)
    ratio = CellEstimates(_where(divides, quotients[0]), *_limits(unlimited | ~divides, *quotients[1:]))
    return VersionComparison(release, other, difference, ratio, level)


def read_version_comparison(
    release: Release, other: Release, document: Mapping[str, Any]
) -> VersionComparison:
    """The comparison of two releases that somebody else made, from its document.

    Raises:
        BadRequest: They answer different questions, or share no category.
        LookupError, TypeError: The document is not as it should be.
    """
    release, other = common_cells(release, other)
    told = {tuple(cell["codes"]): cell for cell in document["cells"]}
    cells = [told[codes] for codes in product(*(dimension.codes for dimension in release.dimensions))]
    difference, ratio = (
        _read([cell[name] for cell in cells], release.values.shape) for name in ("difference", "ratio")
    )
    return VersionComparison(release, other, difference, ratio, document["level"])


def _read(cells: list[dict[str, float | None]], shape: tuple[int, ...]) -> CellEstimates:
    """What `_documents` wrote; where there is a lower limit alone, the upper one is infinite."""
    estimate, low, high = (
        np.array([cell[name] for cell in cells], dtype=np.float64).reshape(shape)
        for name in ("estimate", "low", "high")
    )
    return CellEstimates(estimate, low, np.where(np.isnan(high) & ~np.isnan(low), np.inf, high))


def common_cells(release: Release, other: Release) -> tuple[Release, Release]:
    """Both tables in the cells that both have.

    Raises:
        BadRequest: They answer different questions, or share no category.
    """
    if release.request.identity != other.request.identity:
        raise BadRequest("The two tables answer different questions.", "Ask both for the same table.")
    return _common(release, other), _common(other, release)


def _common(release: Release, other: Release) -> Release:
    """The cells of a release that another has too."""
    theirs = {dimension.name: set(dimension.codes) for dimension in other.dimensions}
    return subset_release(
        release, {d.name: [code for code in d.codes if code in theirs[d.name]] for d in release.dimensions}
    )


def _where(known: NDArray[np.bool_], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(known, numbers, np.nan)


def _limits(
    none: NDArray[np.bool_], low: NDArray[np.generic], high: NDArray[np.generic]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return _where(~none, low.astype(np.float64)), _where(~none, high.astype(np.float64))


def _numbers(release: Release) -> list[float | None]:
    """The released numbers as they are shown."""
    missing = release.missing.ravel().tolist()
    return [
        None if none else value for value, none in zip(release.values.ravel().tolist(), missing, strict=True)
    ]


def _documents(measured: CellEstimates) -> list[dict[str, float | None]]:
    columns = (measured.estimate, measured.low, measured.high)
    lists = ([number if np.isfinite(number) else None for number in c.ravel().tolist()] for c in columns)
    return [{"estimate": e, "low": low, "high": high} for e, low, high in zip(*lists, strict=True)]
