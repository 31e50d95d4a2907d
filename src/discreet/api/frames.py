"""A release as a frame: pandas long and wide, Polars, Arrow, xarray. All have the columns of the tidy CSV.

Categories keep their declared order, the total last, so that sorting and plotting do too. What must be told travels along:
`frame.attrs` in pandas, the schema's metadata in Arrow, `attrs` in xarray. Polars has no place for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.api.layout import layout_of
from discreet.model.columns import numbers_of, places_of
from discreet.model.provenance import provenance
from discreet.model.registry import Extra
from discreet.model.release import STATUSES

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import xarray as xr
    from numpy.typing import NDArray

    from discreet.model.columns import Numbers
    from discreet.model.release import Release
    from discreet.model.shape import Dimension


def long_frame(release: Release) -> pd.DataFrame:
    """One line a cell: codes and labels as ordered categories, `value`, `status`, and the numbers beside."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for dimension, places in places_of(release):
        columns[dimension.name] = _ordered(dimension.codes, places)
        columns[f"{dimension.name}_label"] = _ordered(dimension.labels, places)
    value, *beside = numbers_of(release)
    columns[value.name] = _nullable(value)
    columns["status"] = np.array(STATUSES, dtype=object)[release.status.ravel()]
    columns |= {numbers.name: _nullable(numbers) for numbers in beside}
    frame = pd.DataFrame(columns)
    frame.attrs = told(release)
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
    frame.attrs = told(release)
    return frame


def polars_frame(release: Release) -> pl.DataFrame:
    """The long frame in Polars: codes and labels as `Enum` in their declared order.

    Raises:
        MissingExtra: Polars is not installed.
    """
    Extra("discreet[polars]", ("polars",)).refuse_missing("to_polars()")
    import polars as pl

    from discreet.formats.arrow import arrow_table

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
    return xr.Dataset(arrays, coordinates, told(release))


def told(release: Release) -> dict[str, Any]:
    """All that must be told of a table, by name; notes, promises and status letters are one text each."""
    words: dict[str, Any] = {}
    for name, text in provenance(release):
        words[name] = f"{words[name]} {text}" if name in words else text
    return words


def _ordered(texts: tuple[str, ...], places: NDArray[np.int32]) -> pd.Categorical:
    """Texts as ordered categories; where two places have one label, they are one category."""
    import pandas as pd

    categories = list(dict.fromkeys(texts))
    position = {text: place for place, text in enumerate(categories)}
    codes = np.array([position[text] for text in texts], dtype=np.int32)[places]
    return pd.Categorical.from_codes(codes, categories, ordered=True)


def _nullable(numbers: Numbers) -> Any:
    """Whole numbers as `Int64`, missing where there is none; others as floats."""
    import pandas as pd

    if numbers.values.dtype == np.int64:
        return pd.arrays.IntegerArray(numbers.values.copy(), numbers.missing.copy())
    return _floats(numbers)


def _floats(numbers: Numbers) -> NDArray[np.float64]:
    return np.where(numbers.missing, np.nan, numbers.values)


def _index(dimensions: tuple[Dimension, ...], unit: str) -> pd.Index:
    """The labels along one side; what is counted, where no variable stands there."""
    import pandas as pd

    if not dimensions:
        return pd.Index([unit])
    names = [dimension.label for dimension in dimensions]
    ordered = [_ordered(d.labels, np.arange(d.length, dtype=np.int32)) for d in dimensions]
    if len(ordered) == 1:
        return pd.CategoricalIndex(ordered[0], name=names[0])
    places = np.indices([d.length for d in dimensions]).reshape(len(dimensions), -1)
    return pd.MultiIndex.from_arrays(
        [categories[place] for categories, place in zip(ordered, places, strict=True)], names=names
    )
