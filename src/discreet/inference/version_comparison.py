"""Two versions of one table compared cell by cell: both numbers, their difference and their ratio, with intervals.

    difference   X - X',  between low - high' and high - low'
    ratio        X / X',  between low / high' and high / low'

[low, high] and [low', high'] are the intervals of the two true counts at level 1 - (1 - level) / 2 (Bonferroni), because the
noise of two versions is dependent: under the cell key method the same people have the same noise in both. A ratio needs a
denominator above its noise (`above_noise`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import above_noise, bonferroni_level
from discreet.model.messages.text import message
from discreet.model.release import Release, subset_release


class DifferenceDocument(TypedDict):
    """A number of two versions with its limits; null where there is none."""

    estimate: float | None
    low: float | None
    high: float | None


_WithComparedCell = TypedDict("_WithComparedCell", {"with": float | None})


class ComparedCellDocument(_WithComparedCell):
    """One cell in two versions; null where it is withheld."""

    codes: list[str]
    value: float | None
    difference: DifferenceDocument
    ratio: DifferenceDocument


_WithCompared = TypedDict("_WithCompared", {"with": str})


class ComparedDocument(_WithCompared):
    """One table in two versions, which their digests name."""

    dimensions: list[str]
    version: str
    level: float
    note: list[str]
    cells: list[ComparedCellDocument]


@dataclass(frozen=True, slots=True)
class CellEstimates:
    """An estimate with limits for each cell, NaN where there is none; an unbounded end is infinite."""

    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions of a table, restricted to the cells that both have.

    Args:
        difference: Of the two true counts, `other` subtracted.
        ratio: Of the two true counts, `other` as denominator.
        level: The minimum coverage probability of each interval.
    """

    release: Release
    other: Release
    difference: CellEstimates
    ratio: CellEstimates
    level: float

    @property
    def note(self) -> str:
        return message(
            "Version {one} compared with {other}. Both numbers of a cell have noise, and it may be the same noise. "
            "Categories that only one version has are left out.",
            one=self.release.digest[:8],
            other=self.other.digest[:8],
        )

    def document(self) -> ComparedDocument:
        """All cells as JSON; null where there is no number or no limit."""
        codes = product(*(dimension.codes for dimension in self.release.dimensions))
        value, other = (_known(each.values, ~each.missing) for each in (self.release, self.other))
        columns = (value, other, _documents(self.difference), _documents(self.ratio))
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
    """Compare two versions of a table in the cells that both have.

    Raises:
        BadRequest: They have different queries, share no category, or their numbers have no intervals.
    """
    release, other = common_cells(release, other)
    missing = release.missing | other.missing
    low, high = every_interval(release, bonferroni_level(level))
    least, most = every_interval(other, bonferroni_level(level))
    unlimited = missing | (low < 0) | (least < 0)
    one, two = (each.before_clipping.astype(np.float64) for each in (release, other))
    difference = CellEstimates(
        np.where(missing, np.nan, one - two),
        np.where(unlimited, np.nan, low - most),
        np.where(unlimited, np.nan, high - least),
    )
    no_base = missing | ~above_noise(other)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = CellEstimates(
            np.where(no_base, np.nan, one / two),
            np.where(unlimited | no_base, np.nan, low / most),
            np.where(unlimited | no_base, np.nan, high / least),
        )
    return VersionComparison(release, other, difference, ratio, level)


def read_version_comparison(
    release: Release, other: Release, document: Mapping[str, Any]
) -> VersionComparison:
    """A comparison of two releases from its JSON document.

    Raises:
        BadRequest: They have different queries, or share no category.
        LookupError, TypeError: The document is malformed.
    """
    release, other = common_cells(release, other)
    by_codes = {tuple(cell["codes"]): cell for cell in document["cells"]}
    cells = [by_codes[codes] for codes in product(*(dimension.codes for dimension in release.dimensions))]
    difference, ratio = (
        _read([cell[name] for cell in cells], release.values.shape) for name in ("difference", "ratio")
    )
    return VersionComparison(release, other, difference, ratio, document["level"])


def _read(cells: list[dict[str, float | None]], shape: tuple[int, ...]) -> CellEstimates:
    estimate, low, high = (
        np.array([cell[name] for cell in cells], dtype=np.float64).reshape(shape)
        for name in ("estimate", "low", "high")
    )
    return CellEstimates(estimate, low, np.where(np.isnan(high) & ~np.isnan(low), np.inf, high))


def common_cells(release: Release, other: Release) -> tuple[Release, Release]:
    """Both tables restricted to the cells that both have."""
    if release.request.identity != other.request.identity:
        raise BadRequest("The two tables answer different questions.", "Ask both for the same table.")
    return _common(release, other), _common(other, release)


def _common(release: Release, other: Release) -> Release:
    theirs = {dimension.name: set(dimension.codes) for dimension in other.dimensions}
    return subset_release(
        release, {d.name: [code for code in d.codes if code in theirs[d.name]] for d in release.dimensions}
    )


def _documents(measured: CellEstimates) -> list[DifferenceDocument]:
    columns = (_known(c, np.isfinite(c)) for c in (measured.estimate, measured.low, measured.high))
    return [{"estimate": e, "low": low, "high": high} for e, low, high in zip(*columns, strict=True)]


def _known(numbers: NDArray[Any], known: NDArray[np.bool_]) -> list[float | None]:
    """The numbers of a table in order; None for the others."""
    pairs = zip(numbers.ravel().tolist(), known.ravel().tolist(), strict=True)
    return [number if shown else None for number, shown in pairs]
