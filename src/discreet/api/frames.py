"""A release as a table layout and as frames: pandas long and wide, Polars, Arrow, xarray.

All frames have the columns of the tidy CSV. Categories keep their declared order, the total last. The mandatory notes
are in the metadata: `frame.attrs` in pandas, the schema in Arrow, `attrs` in xarray; Polars has no place for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.columns import Numbers, numbers_of, places_of
from discreet.model.messages.sentences import provenance
from discreet.model.plugins import Extra
from discreet.model.release import NOT_APPLICABLE, STATUS_MEANING, STATUSES, WITHHELD, Release
from discreet.model.shape import Dimension

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import xarray as xr


#: The heads of errors beside a number.
_ERROR_HEADS = {"relative_standard_error": "RSE", "noise_share": "noise"}
#: The heads of what is derived from a number, where it is not its name.
_HEADS = {"percent": "%"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The variables of a table by position.

    Args:
        side: Down the side, outer first: layers, then rows.
        top: Along the top, outer first.
        order: The axes of the release's arrays in the order of `side` and `top`.
    """

    side: tuple[Dimension, ...]
    top: tuple[Dimension, ...]
    order: tuple[int, ...]

    @property
    def height(self) -> int:
        return int(np.prod([dimension.length for dimension in self.side], dtype=np.int64))

    def spread(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of the release as lines of the table."""
        return array.transpose(self.order).reshape(self.height, -1)


def layout_of(release: Release) -> Layout:
    """The layout of a release."""
    request, dimensions = release.request, release.dimensions
    side = tuple(d for names in (request.layers, request.rows) for d in dimensions if d.name in names)
    top = tuple(d for d in dimensions if d.name in request.columns)
    return Layout(side, top, tuple(dimensions.index(dimension) for dimension in side + top))


def error_columns(release: Release) -> dict[str, NDArray[np.int64]]:
    """The errors of a weighted table in tenths of a percent; negative where none is shown."""
    found = {"relative_standard_error": release.errors, "noise_share": release.noise_shares}
    return {name: np.where(release.missing, -1, each) for name, each in found.items() if each is not None}


def annotation_texts(release: Release, *, errors: bool) -> list[tuple[str, NDArray[np.object_]]]:
    """Errors, percentages and ranks of each number as text, by heading; empty where there is none."""
    found = [
        (_ERROR_HEADS[name], _text_array([f"{n / 10:.1f} %" for n in tenths.ravel().tolist()], tenths < 0))
        for name, tenths in (error_columns(release).items() if errors else ())
    ]
    return found + [
        (_HEADS.get(c.name, c.name), _text_array([f"{n:,}" for n in c.values.ravel().tolist()], c.missing))
        for c in release.derived
    ]


def _text_array(texts: list[str], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    return np.where(missing, "", np.array(texts, dtype=object).reshape(missing.shape))


def legend_of(release: Release) -> list[str]:
    """The meaning of the status letters and of the derived columns of a table."""
    # not np.unique, which imports masked arrays: a command prints a legend for every table
    counts = np.bincount(release.status.ravel(), minlength=len(STATUSES))
    present = [letter for letter, count in zip(STATUSES, counts, strict=True) if letter and count]
    marks = [f"[{letter}] {STATUS_MEANING[letter]}" for letter in present]
    return marks + [f"{_HEADS.get(c.name, c.name)}: {c.meaning}" for c in release.derived]


def cell_text(value: float, status: int, decimals: int = 0) -> str:
    """A value, its status, or both; `decimals` are those of a numeric variable.

    >>> cell_text(1234, 0), cell_text(0, 1), cell_text(12, 3), cell_text(0.5, 0, 2)
    ('1,234', '[c]', '12 [u]', '0.50')
    """
    mark = f"[{STATUSES[status]}]" if status else ""
    number = f"{value:,.{decimals}f}" if decimals else f"{value:,}"
    return mark if status in {WITHHELD, NOT_APPLICABLE} else f"{number} {mark}".rstrip()


def depths_of(dimension: Dimension) -> list[int]:
    """The number of coarser categories that contain each place; 0 for a total."""
    return [output.depth for output in dimension.outputs] + [0] * dimension.total


def long_frame(release: Release) -> pd.DataFrame:
    """One row per cell: codes and labels as ordered categories, `value`, `status`, and the other numbers."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for dimension, places in places_of(release):
        columns[dimension.name] = _ordinal(dimension.codes, places)
        columns[f"{dimension.name}_label"] = _ordinal(dimension.labels, places)
    value, *beside = numbers_of(release)
    columns[value.name] = _nullable(value)
    columns["status"] = np.array(STATUSES, dtype=object)[release.status.ravel()]
    columns |= {numbers.name: _nullable(numbers) for numbers in beside}
    frame = pd.DataFrame(columns)
    frame.attrs = table_metadata(release)
    return frame


def wide_frame(release: Release) -> pd.DataFrame:
    """The values as the table reads: labels of layers and rows as the index, labels of columns along the top."""
    import pandas as pd

    layout = layout_of(release)
    value = _nullable(numbers_of(release)[0])
    places = layout.spread(np.arange(release.cells).reshape(release.values.shape))
    top = _index(layout.top, release.dataset.unit)
    columns = {column: value[places[:, column]] for column in range(len(top))}
    frame = pd.DataFrame(columns, index=_index(layout.side, release.dataset.unit))
    frame.columns = top
    frame.attrs = table_metadata(release)
    return frame


def polars_frame(release: Release) -> pl.DataFrame:
    """The long frame in Polars: codes and labels as `Enum` in their declared order.

    Raises:
        MissingExtra: Polars is not installed.
    """
    Extra("discreet[polars]", ("polars",)).refuse_missing("to_polars()")
    import polars as pl

    from discreet.formats.writers.arrow import arrow_table

    frame = pl.DataFrame(pl.from_arrow(arrow_table(release)))
    kinds: dict[str, Any] = {"status": pl.Enum(STATUSES)}
    for dimension in release.dimensions:
        kinds[dimension.name] = pl.Enum(dimension.codes)
        kinds[f"{dimension.name}_label"] = pl.Enum(list(dict.fromkeys(dimension.labels)))
    return frame.with_columns(pl.col(name).cast(pl.String).cast(kind) for name, kind in kinds.items())


def xarray_dataset(release: Release) -> xr.Dataset:
    """One array a number, along the variables of the table; not a number where nothing is released.

    Raises:
        MissingExtra: xarray is not installed.
    """
    Extra("discreet[xarray]", ("xarray",)).refuse_missing("to_xarray()")
    import xarray as xr

    names = [dimension.name for dimension in release.dimensions]
    coordinates: dict[str, Any] = {}
    for dimension in release.dimensions:
        about = {"long_name": dimension.label}
        coordinates[dimension.name] = (dimension.name, list(dimension.codes), about)
        coordinates[f"{dimension.name}_label"] = (dimension.name, list(dimension.labels), about)
    arrays: dict[str, Any] = {
        numbers.name: (names, _floats(numbers).reshape(release.values.shape), {"long_name": numbers.meaning})
        for numbers in numbers_of(release)
    }
    arrays["status"] = (names, np.array(STATUSES)[release.status])
    return xr.Dataset(arrays, coordinates, table_metadata(release))


def table_metadata(release: Release) -> dict[str, Any]:
    """The mandatory notes of a table by name; notes, promises and status letters are one text each."""
    words: dict[str, Any] = {}
    for name, text in provenance(release):
        words[name] = f"{words[name]} {text}" if name in words else text
    return words


def _ordinal(texts: tuple[str, ...], places: NDArray[np.int32]) -> pd.Categorical:
    """Ordered categories; places with the same label are one category."""
    import pandas as pd

    codes, categories = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(codes[places], categories, ordered=True)


def _nullable(numbers: Numbers) -> Any:
    """Whole numbers as `Int64`, missing where there is none; others as floats."""
    import pandas as pd

    if numbers.values.dtype == np.int64:
        return pd.arrays.IntegerArray(numbers.values.copy(), numbers.missing.copy())
    return _floats(numbers)


def _floats(numbers: Numbers) -> NDArray[np.float64]:
    return np.where(numbers.missing, np.nan, numbers.values)


def _index(dimensions: tuple[Dimension, ...], unit: str) -> pd.Index:
    """The labels along one side; the unit where there is no variable."""
    import pandas as pd

    if not dimensions:
        return pd.Index([unit])
    names = [dimension.label for dimension in dimensions]
    ordered = [_ordinal(d.labels, np.arange(d.length, dtype=np.int32)) for d in dimensions]
    if len(ordered) == 1:
        return pd.CategoricalIndex(ordered[0], name=names[0])
    places = np.indices([d.length for d in dimensions]).reshape(len(dimensions), -1)
    return pd.MultiIndex.from_arrays(
        [categories[place] for categories, place in zip(ordered, places, strict=True)], names=names
    )
