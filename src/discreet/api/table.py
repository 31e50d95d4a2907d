"""A table in Python: a release with methods for files, frames, intervals, tests and charts.

A `TableBackend` computes them: in this process, or on the server that the release came from (`remote.py`). The nonzero
cells of a table are a stream that is saved or read once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.api import frames
from discreet.api.server_url import reject_malformed
from discreet.formats import Format, format_by_name, format_of_file, formats, listing_format
from discreet.model.columns import Listing
from discreet.model.file_io import save
from discreet.model.release import Release
from discreet.model.view import Picture, View

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import xarray as xr

    from discreet.inference.confidence_intervals.count_intervals import Interval
    from discreet.inference.confidence_intervals.table_intervals import Cell
    from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio
    from discreet.inference.version_comparison import VersionComparison
    from discreet.pictures.drawing import Drawing

    Cells = Sequence[Cell]
    Limits = tuple[NDArray[np.int64], NDArray[np.int64]]


class TableBackend:
    """Computes files, intervals, tests and views of a table in this process; `RemoteRegistry` asks a server."""

    def stream(self, release: Release, form: Format) -> Iterator[bytes]:
        """The table as a document, in chunks; a picture with the limits of its numbers."""
        if form.is_picture:
            from discreet.inference.table_view import add_picture

            release = add_picture(release, release.picture or Picture())
        return format_by_name(form.name).stream(release)

    def interval(self, release: Release, cells: Cells, level: float, others: Mapping[str, Cells]) -> Interval:
        """The interval of a sum of cells and others, by name: `of`, `over`, `minus`, `minus_of`."""
        from discreet.inference.confidence_intervals.table_intervals import interval_of

        return interval_of(release, cells, level=level, **others)

    def every_interval(self, release: Release, level: float) -> Limits:
        """The smallest and the largest true count of every cell; -1 where no value is released."""
        from discreet.inference.confidence_intervals.table_intervals import every_interval

        return every_interval(release, level)

    def independence(self, release: Release, options: dict[str, Any]) -> LikelihoodRatio:
        from discreet.inference.hypothesis_tests.independence import independence_test

        return independence_test(release, **options)

    def apply_view(self, release: Release, view: View) -> Release:
        if not view:  # a plain table starts without what a view needs
            return release
        from discreet.inference.table_view import apply_view

        return apply_view(release, view)

    def compare_versions(self, release: Release, other: Release, level: float) -> VersionComparison:
        from discreet.inference.version_comparison import compare

        return compare(release, other, level)


LOCAL_BACKEND = TableBackend()


class Table:
    """A protected table.

    `answers` is the backend: this process, or the server that the release came from.
    """

    def __init__(self, release: Release, answers: TableBackend = LOCAL_BACKEND) -> None:
        self.release, self._answers = release, answers

    @property
    def note(self) -> str:
        """The mandatory note."""
        return self.release.notes[0]

    @property
    def charged(self) -> Mapping[str, Any] | None:
        """The charge for this query and the budget left; None where it was free."""
        return self.release.charged

    def to_pandas(self, *, wide: bool = False) -> pd.DataFrame:
        """One row per cell: codes and labels in their declared order, `value` (missing where withheld) and `status`.

        Where numbers below zero are shown as zero, `signed` has them as they were.
        A weighted table also has `relative_standard_error` and `noise_share` (of its square), in percent.
        `frame.attrs` has the note, the version and how to cite the table.

        Args:
            wide: The values alone, as the table reads: rows and layers as the index, columns along the top.
        """
        return frames.wide_frame(self.release) if wide else frames.long_frame(self.release)

    def to_polars(self) -> pl.DataFrame:
        """The lines of `to_pandas()` in Polars; codes and labels are `Enum` in their declared order."""
        return frames.polars_frame(self.release)

    def to_arrow(self) -> pa.Table:
        """The lines of `to_pandas()` as an Arrow table; its schema's metadata has the note and the citation."""
        from discreet.formats.writers.arrow import arrow_table

        return arrow_table(self.release)

    def to_xarray(self) -> xr.Dataset:
        """One array per number along the variables, with codes and labels as coordinates and the note in `attrs`."""
        return frames.xarray_dataset(self.release)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow PyCapsule protocol: Polars, DuckDB, pandas and others read the table as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def view(
        self,
        *,
        percent: str = "",
        rank: bool = False,
        top: int = 0,
        hide_empty: bool = False,
        sort: str = "",
        ratio: str = "",
        difference: str = "",
        alone: bool = False,
    ) -> Table:
        """The same table with percentages and ranks, or with some of its rows.

        Args:
            percent: Of the `row`, `column` or `table` total, or of a cell: "sex=1,age=_T".
            rank: The rank of each number among the rows of its column.
            top: How many categories of the first row variable are shown, the largest first.
            hide_empty: Leave out rows whose numbers are all 0.
            sort: The order of the first row variable: by `label`, `value` or a column, "sex=1"; "-sex=1" descends.
            ratio: A category, "sex=1": each number over that of this category.
            difference: A category: each number less that of this category.
            alone: Show percentages, ratios and differences in place of the numbers where the table reads as a table.

        Raises:
            BadRequest: The table has no rows, or lacks a total that is needed.
        """
        view = View(percent, rank, top, hide_empty, sort, ratio, difference, alone)
        return Table(self._answers.apply_view(self.release, view), self._answers)

    def percent_intervals(self, percent: str, level: float = 0.95) -> pd.DataFrame:
        """The interval of every percentage: `view(percent=...).to_pandas()` with `percent_low` and `percent_high`."""
        from discreet.inference.table_view import bonferroni_level, percent_limits

        shown = self.view(percent=percent)
        limits = self._answers.every_interval(self.release, bonferroni_level(level))
        frame = shown.to_pandas()
        for name, each in zip(("low", "high"), percent_limits(shown.release, limits), strict=True):
            frame[f"percent_{name}"] = each.ravel()
        return frame

    def difference_from(self, other: Table, level: float = 0.95) -> pd.DataFrame:
        """This version minus another of the same table, cell by cell, with conservative limits.

        Args:
            other: The same query to another version.
            level: Each interval covers the true difference with at least this probability, however the noise is correlated.

        Raises:
            BadRequest: The tables differ in their queries, or their numbers have no intervals.
        """
        return self._version_frame(other, "difference", level)

    def ratio_to(self, other: Table, level: float = 0.95) -> pd.DataFrame:
        """This version over another of the same table; missing where the other is not above its noise."""
        return self._version_frame(other, "ratio", level)

    def _version_frame(self, other: Table, name: str, level: float) -> pd.DataFrame:
        found = self._answers.compare_versions(self.release, other.release, level)
        frame = Table(found.release).to_pandas().drop(columns="status")
        frame["other"] = Table(found.other).to_pandas()["value"]
        measured = getattr(found, name)
        for column, numbers in ((name, measured.estimate), ("low", measured.low), ("high", measured.high)):
            frame[column] = numbers.ravel()
        return frame

    def plot(self, kind: str = "", *, level: float = 0.95, theme: str = "light") -> Drawing:
        """A chart of the table, with the interval of each true number where the noise distribution is known.

        Withheld cells are marked as such. Numbers that were fitted to add up have no interval.

        Args:
            kind: bars, grouped, stacked, lines, pyramid, heat_map, multiples, dots or map; by default the best fit.
            level: Of the intervals.
            theme: light or dark.

        Raises:
            BadRequest: The table does not fit the kind; the message says why.
        """
        from discreet.inference.table_view import add_picture
        from discreet.pictures.chart_data import chart_data
        from discreet.pictures.charts import draw
        from discreet.pictures.drawing import Drawing

        picture = Picture(kind, theme, level)
        return Drawing(draw(chart_data(add_picture(self.release, picture, self._answers.every_interval))))

    def __getattr__(self, name: str) -> Callable[..., str | bytes | None]:
        """`to_csv(path)` and so on, one for every format: written to a path, or returned without one."""
        for form in formats():
            if form.method == name:
                return partial(self._write, form)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(form.method for form in formats())})

    def save(self, path: str | Path) -> None:
        """Write to a file in the format that owns its ending."""
        save(self._stream(format_of_file(path)), path)

    def _stream(self, form: Format, **how: Any) -> Iterator[bytes]:
        """The document; `chart` and `theme` say how a picture is drawn."""
        if not form.is_picture:
            if how:
                raise TypeError(f"{form.method}() draws nothing and takes no {' or '.join(how)}")
            return self._answers.stream(self.release, form)
        return self._answers.stream(replace(self.release, picture=Picture(**how)), form)

    def _write(self, form: Format, path: str | Path | None = None, **how: Any) -> str | bytes | None:
        pieces = self._stream(form, **how)
        if path is not None:
            save(pieces, path)
            return None
        data = b"".join(pieces)
        return data.decode() if form.is_text else data

    def test_independence(self, **options: Any) -> LikelihoodRatio:
        """Test whether the two variables of the table are independent, with the noise taken into account.

        Args:
            options: `model`, `total`, `method`, `replicates` and `seed`, as `independence_test` takes them; a server
                takes none.

        Returns:
            The statistic, its p-value, and the naive test for comparison.

        Raises:
            BadRequest: The table does not have two variables.
        """
        return self._answers.independence(self.release, options)

    def interval(self, *codes: str, level: float = 0.95) -> Interval:
        """The interval of one true count, by its codes in the order of the dimensions: `table.interval("1", "_T")`.

        In a weighted table: of the population total, for sampling and noise together, from the printed errors.

        Raises:
            BadRequest: The cell does not exist, or has no value.
        """
        return self._answers.interval(self.release, [codes], level, {})

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """The interval of every cell by itself: `to_pandas()` with `low` and `high`, missing where withheld."""
        import pandas as pd

        frame, limits_of = self.to_pandas(), self._answers.every_interval(self.release, level)
        for name, limits in zip(("low", "high"), limits_of, strict=True):
            frame[name] = pd.arrays.IntegerArray(limits.ravel(), limits.ravel() < 0)
        return frame

    def sum(self, *cells: Cell, level: float = 0.95) -> Interval:
        """The interval of the true sum of cells that share no people: `table.sum({"sex": "1"}, {"sex": "2"})`."""
        return self._answers.interval(self.release, cells, level, {})

    def share(self, *cells: Cell, of: Sequence[Cell] | Mapping[str, str], level: float = 0.95) -> Interval:
        """The interval of the true share of cells in others: `table.share({"sex": "1"}, of=[{}])`.

        Args:
            cells: The part. A cell is codes by name (one that is not named means its total), codes in the order of
                the dimensions, or text such as "sex=1,age=20-24".
            of: The whole: all its parts, the given cells among them, or one total that holds them.
            level: The chance with which the interval covers the true share, at least.

        Raises:
            BadRequest: Cells that are not there, are withheld, overlap, or share noise.
        """
        return self._answers.interval(self.release, cells, level, {"of": _cell_list(of)})

    def ratio(self, *cells: Cell, over: Sequence[Cell] | Mapping[str, str], level: float = 0.95) -> Interval:
        """The interval of the true sum of cells over that of others: `table.ratio(a, over=b)`."""
        return self._answers.interval(self.release, cells, level, {"over": _cell_list(over)})

    def difference(
        self,
        *cells: Cell,
        minus: Sequence[Cell] | Mapping[str, str],
        of: Sequence[Cell] | Mapping[str, str] = (),
        minus_of: Sequence[Cell] | Mapping[str, str] = (),
        level: float = 0.95,
    ) -> Interval:
        """The interval of the true sum of cells minus that of others: `table.difference(a, minus=[b])`.

        Args:
            cells: As in `share`.
            minus: The cells that are taken off.
            of: Of a weighted table: take shares, of `cells` in these.
            minus_of: The share of `minus` in these; by default in `of`.
            level: The chance with which the interval covers the true difference.
        """
        others = {"of": _cell_list(of), "minus": _cell_list(minus), "minus_of": _cell_list(minus_of)}
        return self._answers.interval(self.release, cells, level, others)

    def text_grid(self, *, errors: bool = False) -> tuple[list[str], list[list[str]]]:
        """Headers and lines as text: rows and layers down the side, columns along the top.

        With `errors`, each number has its relative standard error and the noise's share of it.
        """
        release, layout = self.release, frames.layout_of(self.release)
        side, top = layout.side, layout.top
        shown = frames.annotation_texts(release, errors=errors)
        arrays = (release.values, release.status, *(texts for _, texts in shown))
        values, status, *beside = (layout.spread(array).tolist() for array in arrays)
        headers = [d.label for d in side]
        heads = [" / ".join(labels) for labels in product(*(d.labels for d in top))]
        for head in heads if top else [release.measure.unit(release.dataset)]:
            headers += [head, *(name for name, _ in shown)]
        indented = (
            ["\u2003" * depth + text for depth, text in zip(frames.depths_of(d), d.labels, strict=True)]
            for d in side
        )
        stubs = product(*indented) if side else [()]
        lines = []
        for stub, *numbers in zip(stubs, values, status, *beside, strict=True):
            cells = (
                (frames.cell_text(value, mark, release.measure.decimals), *notes)
                for value, mark, *notes in zip(*numbers, strict=True)
            )
            lines.append([*stub, *chain.from_iterable(cells)])
        return headers, lines

    def legend(self) -> list[str]:
        """The meaning of the status letters and of the derived columns of this table."""
        return frames.legend_of(self.release)

    def error_note(self) -> str:
        """The range of the relative standard errors of a weighted table; empty for counts."""
        errors, shares = (
            tenths[tenths >= 0] / 10
            for tenths in frames.error_columns(self.release).values() or [np.empty(0)] * 2
        )
        if not errors.size:
            return ""
        return (
            f"Relative standard errors (RSE), of sampling and noise together, lie between {errors.min():.1f} and "
            f"{errors.max():.1f} %; the noise makes {shares.min():.1f} to {shares.max():.1f} % of their variance. "
            "All are rounded up."
        )

    def _repr_html_(self) -> str:
        from discreet.api.notebook import figure

        return figure(self.release)

    def __repr__(self) -> str:
        return f"<Table: {self.release.title}, {self.release.cells:,} cells>"


def _cell_list(cells: Sequence[Cell] | Mapping[str, str]) -> Sequence[Cell]:
    return [cells] if isinstance(cells, str | Mapping) else cells


class NonzeroCells:
    """The nonzero cells as they are counted; every other cell is 0."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    @property
    def title(self) -> str:
        return self._listing.title

    @property
    def notes(self) -> tuple[str, ...]:
        return self._listing.notes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The cells as Arrow batches: codes and labels, `value` and `status`."""
        from discreet.formats.writers.arrow import batch_maker

        make = batch_maker(self._listing)
        return (make(cells) for cells in self._listing.cells)

    def save(self, path: str | Path) -> None:
        """Write to a file in the format that owns its ending: csv, parquet or arrows."""
        save(listing_format(format_of_file(path)).stream(self._listing), path)

    def __repr__(self) -> str:
        return f"<NonzeroCells: {self.title}>"


class ServedCells:
    """Nonzero cells of a server: a saved file has the server's bytes; batches are parsed from its Arrow stream.

    `document` returns the server's document of a format as a stream.
    """

    def __init__(self, document: Callable[[Format], Iterator[bytes]]) -> None:
        self._document = document

    @cached_property
    def _reader(self) -> pa.RecordBatchStreamReader:
        import pyarrow as pa

        pieces = self._document(format_by_name("arrow"))
        with reject_malformed():
            return pa.ipc.open_stream(io.BufferedReader(_Inbox(pieces)))

    @property
    def _metadata(self) -> dict[str, Any]:
        reader = self._reader
        with reject_malformed():
            return dict(json.loads(reader.schema.metadata[b"discreet"]))

    @property
    def title(self) -> str:
        return str(self._metadata["title"])

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(map(str, self._metadata["note"]))

    def batches(self) -> Iterator[pa.RecordBatch]:
        reader = self._reader
        with reject_malformed():
            for batch in reader:
                batch.validate(full=True)
                yield batch

    def save(self, path: str | Path) -> None:
        save(self._document(listing_format(format_of_file(path))), path)

    def __repr__(self) -> str:
        return "<ServedCells>"


class _Inbox(io.RawIOBase):
    """A stream of byte chunks as a readable file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, place: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(self._left), len(place))
        place[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
