"""A table in Python: a release with conveniences for notebooks and analysis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.formats import format_of_file, formats, named_format
from discreet.model.release import NOT_APPLICABLE, STATUS_MEANING, STATUSES, WITHHELD
from discreet.model.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from discreet.inference.cell_targets import Cell
    from discreet.inference.intervals import Interval
    from discreet.inference.likelihood_ratio import LikelihoodRatio
    from discreet.model.release import Derived, Release
    from discreet.model.shape import Dimension

#: The most rows and columns that a notebook shows.
SHOWN = 60
#: What stands above a number beside the values, where it is not its name.
_HEADS = {"percent": "%"}


class Table:
    """A protected table.

    Args:
        release: What was released.
    """

    def __init__(self, release: Release) -> None:
        self.release = release

    @property
    def note(self) -> str:
        """What every reader must be told."""
        return self.release.notes[0]

    @property
    def charged(self) -> Mapping[str, Any] | None:
        """What the account was charged for this answer, and what it has left; None where it was free."""
        return self.release.charged

    def to_pandas(self) -> pd.DataFrame:
        """One line a cell: codes, labels, `value` (missing where withheld) and `status`.

        Where numbers below zero are shown as zero, `signed` has them as they were.
        A weighted table also has `relative_standard_error` and `noise_share` (of its square), in percent.
        """
        import pandas as pd  # noqa: PLC0415 - slow to import, and only wanted here

        release = self.release
        columns: dict[str, Any] = {}
        for axis, dimension in enumerate(release.dimensions):
            along = tuple(-1 if a == axis else 1 for a in range(release.values.ndim))
            places = np.arange(dimension.length).reshape(along)
            place = np.broadcast_to(places, release.values.shape).ravel()
            columns[dimension.name] = pd.Categorical.from_codes(place, list(dimension.codes), ordered=False)
            columns[f"{dimension.name}_label"] = np.array(dimension.labels, dtype=object)[place]
        status = release.status.ravel()
        columns["value"] = pd.arrays.IntegerArray(release.values.ravel().copy(), release.missing.ravel())
        columns["status"] = np.array(STATUSES, dtype=object)[status]
        if release.signed is not None:
            columns["signed"] = pd.arrays.IntegerArray(release.signed.ravel().copy(), release.missing.ravel())
        for name, tenths in self._errors().items():
            columns[name] = np.where(tenths < 0, np.nan, tenths / 10).ravel()
        for column in release.derived:
            array = pd.arrays.IntegerArray if column.values.dtype.kind == "i" else pd.arrays.FloatingArray
            columns[column.name] = array(column.values.ravel().copy(), column.missing.ravel())
        return pd.DataFrame(columns)

    def view(self, *, percent: str = "", rank: bool = False, top: int = 0, hide_empty: bool = False) -> Table:
        """The same table with percentages and ranks beside its numbers, or with some of its rows.

        Args:
            percent: Of the `row`, `column` or `table` total, or of a cell: "sex=1,age=_T".
            rank: The rank of each number among the rows of its column.
            top: How many categories of the first row variable are shown, the largest first.
            hide_empty: Leave out rows whose numbers are all 0.

        Raises:
            BadRequest: The table has no rows, or not the total that is needed.
        """
        from discreet.inference.viewed import viewed  # noqa: PLC0415 - only wanted here

        return Table(viewed(self.release, View(percent, rank, top, hide_empty)))

    def percent_intervals(self, percent: str, level: float = 0.95) -> pd.DataFrame:
        """The interval of every percentage: `view(percent=...).to_pandas()` with `percent_low` and `percent_high`."""
        from discreet.inference.viewed import percent_limits  # noqa: PLC0415 - only wanted here

        frame = self.view(percent=percent).to_pandas()
        for name, limits in zip(("low", "high"), percent_limits(self.release, percent, level), strict=True):
            frame[f"percent_{name}"] = limits.ravel()
        return frame

    def difference_from(self, other: Table, level: float = 0.95) -> pd.DataFrame:
        """This version minus another of the same table, cell by cell, with conservative limits.

        Args:
            other: The same question, asked of another version.
            level: Each interval covers the true difference with at least this chance, whatever the noise has in common.

        Raises:
            BadRequest: The tables answer different questions, or their numbers have no intervals.
        """
        return self._compared(other, "difference", level)

    def ratio_to(self, other: Table, level: float = 0.95) -> pd.DataFrame:
        """This version over another of the same table; missing where the other is not above its noise."""
        return self._compared(other, "ratio", level)

    def _compared(self, other: Table, name: str, level: float) -> pd.DataFrame:
        from discreet.inference.compared import compare  # noqa: PLC0415 - only wanted here

        found = compare(self.release, other.release, level)
        frame = Table(found.release).to_pandas().drop(columns="status")
        frame["other"] = Table(found.other).to_pandas()["value"]
        measured = getattr(found, name)
        for column, numbers in ((name, measured.estimate), ("low", measured.low), ("high", measured.high)):
            frame[column] = numbers.ravel()
        return frame

    def _errors(self) -> dict[str, NDArray[np.int64]]:
        """The errors of a weighted table in tenths of a percent; negative where none is shown."""
        release = self.release
        found = {"relative_standard_error": release.errors, "noise_share": release.noise_shares}
        return {
            name: np.where(release.missing, -1, tenths)
            for name, tenths in found.items()
            if tenths is not None
        }

    def __getattr__(self, name: str) -> Callable[..., str | bytes | None]:
        """`to_csv(path)` and so on, one for every format: written to a path, or returned without one."""
        for form in formats():
            if form.method == name:
                return partial(self._write, form.name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(form.method for form in formats())})

    def save(self, path: str | Path) -> None:
        """Write to a file in the format that owns its ending."""
        Path(path).write_bytes(format_of_file(path).write(self.release))

    def _write(self, name: str, path: str | Path | None = None) -> str | bytes | None:
        form = named_format(name)
        data = form.write(self.release)
        if path is None:
            return data.decode() if form.is_text else data
        Path(path).write_bytes(data)
        return None

    def test_independence(self, **options: Any) -> LikelihoodRatio:
        """Whether the two variables of the table are independent; the noise is allowed for.

        Args:
            options: `model`, `total`, `method`, `replicates` and `seed`, as `independence_test` takes them.

        Returns:
            The statistic, its p-value, and the naive test beside it.

        Raises:
            BadRequest: The table does not have two variables.
        """
        from discreet.inference.independence import independence_test  # noqa: PLC0415 - only wanted here

        return independence_test(self.release, **options)

    def interval(self, *codes: str, level: float = 0.95) -> Interval:
        """The interval of one true count, by its codes in the order of the dimensions: `table.interval("1", "_T")`.

        Of a weighted table: of the population's total, for sampling and noise together, from what is printed.

        Raises:
            BadRequest: The cell is not there, or it has no value.
        """
        from discreet.inference.cell_targets import interval_of  # noqa: PLC0415 - only wanted here

        return interval_of(self.release, [codes], level=level)

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """The interval of every cell by itself: `to_pandas()` with `low` and `high`, missing where withheld."""
        import pandas as pd  # noqa: PLC0415 - slow to import, and only wanted here

        from discreet.inference.cell_targets import every_interval  # noqa: PLC0415 - only wanted here

        frame = self.to_pandas()
        for name, limits in zip(("low", "high"), every_interval(self.release, level), strict=True):
            frame[name] = pd.arrays.IntegerArray(limits.ravel(), limits.ravel() < 0)
        return frame

    def sum(self, *cells: Cell, level: float = 0.95) -> Interval:
        """The interval of the true sum of cells that share no people: `table.sum({"sex": "1"}, {"sex": "2"})`."""
        from discreet.inference.cell_targets import interval_of  # noqa: PLC0415 - only wanted here

        return interval_of(self.release, cells, level=level)

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
        from discreet.inference.cell_targets import interval_of  # noqa: PLC0415 - only wanted here

        return interval_of(self.release, cells, of=_listed(of), level=level)

    def ratio(self, *cells: Cell, over: Sequence[Cell] | Mapping[str, str], level: float = 0.95) -> Interval:
        """The interval of the true sum of cells over that of others: `table.ratio(a, over=b)`."""
        from discreet.inference.cell_targets import interval_of  # noqa: PLC0415 - only wanted here

        return interval_of(self.release, cells, over=_listed(over), level=level)

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
        from discreet.inference.cell_targets import interval_of  # noqa: PLC0415 - only wanted here

        return interval_of(
            self.release,
            cells,
            of=_listed(of),
            minus=_listed(minus),
            minus_of=_listed(minus_of),
            level=level,
        )

    def text_grid(self, *, errors: bool = False) -> tuple[list[str], list[list[str]]]:
        """Headers and lines as text: rows and layers down the side, columns along the top.

        Args:
            errors: Put the relative standard error and the noise's share of it beside each number.
        """
        release, request = self.release, self.release.request
        side = [d for d in release.dimensions if d.name in request.layers]
        side += [d for d in release.dimensions if d.name in request.rows]
        top = [d for d in release.dimensions if d.name in request.columns]
        order = [release.dimensions.index(dimension) for dimension in side + top]
        height = int(np.prod([d.length for d in side], dtype=np.int64))
        values = release.values.transpose(order).reshape(height, -1)
        status = release.status.transpose(order).reshape(height, -1)
        shown = _error_texts(self._errors()) if errors else []
        shown += [(_HEADS.get(c.name, c.name), _derived_texts(c)) for c in release.derived]
        beside = [texts.transpose(order).reshape(height, -1).tolist() for _, texts in shown]
        headers = [d.label for d in side]
        heads = [" / ".join(labels) for labels in product(*(d.labels for d in top))]
        for head in heads if top else [release.dataset.unit]:
            headers += [head, *(name for name, _ in shown)]
        stubs = product(*(_indented(d) for d in side)) if side else [()]
        lines = [
            [*stub, *(text for cell in map(_texts, *numbers) for text in cell)]
            for stub, *numbers in zip(stubs, values.tolist(), status.tolist(), *beside, strict=True)
        ]
        return headers, lines

    def legend(self) -> list[str]:
        """What the status letters in this table mean, and what stands beside its numbers."""
        marks = [
            f"[{STATUSES[s]}] {STATUS_MEANING[STATUSES[s]]}" for s in np.unique(self.release.status) if s
        ]
        return marks + [f"{_HEADS.get(c.name, c.name)}: {c.meaning}" for c in self.release.derived]

    def error_note(self) -> str:
        """Of a weighted table: how large its relative standard errors are; empty for counts."""
        errors, shares = (tenths[tenths >= 0] / 10 for tenths in self._errors().values() or [np.empty(0)] * 2)
        if not errors.size:
            return ""
        return (
            f"Relative standard errors (RSE), of sampling and noise together, lie between {errors.min():.1f} and "
            f"{errors.max():.1f} %; the noise makes {shares.min():.1f} to {shares.max():.1f} % of their variance. "
            "All are rounded up."
        )

    def _repr_html_(self) -> str:
        headers, lines = self.text_grid()
        stubs = len(self.release.request.layers + self.release.request.rows)
        head = "".join(f'<th scope="col">{escape(h)}</th>' for h in headers[: SHOWN + stubs])
        body = "".join(
            "<tr>"
            + "".join(f'<th scope="row" style="text-align:left">{escape(c)}</th>' for c in line[:stubs])
            + "".join(f'<td style="text-align:right">{escape(c)}</td>' for c in line[stubs : SHOWN + stubs])
            + "</tr>"
            for line in lines[:SHOWN]
        )
        cut = len(lines) > SHOWN or len(headers) > SHOWN + stubs
        more = "<p>Shown in part; <code>.to_pandas()</code> has all of it.</p>" if cut else ""
        legend = "".join(f"<p>{escape(text)}</p>" for text in self.legend())
        return (
            f"<figure><figcaption><b>{escape(self.release.title)}</b><br>{escape(self.release.dataset.source)}"
            f"</figcaption><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{legend}"
            f"<p><small>{escape(' '.join(self.release.notes))}</small></p></figure>"
        )

    def __repr__(self) -> str:
        return f"<Table: {self.release.title}, {self.release.cells:,} cells>"


def _listed(cells: Sequence[Cell] | Mapping[str, str]) -> Sequence[Cell]:
    """A list of cells; one cell, as text or by name, is a list of one."""
    return [cells] if isinstance(cells, str | Mapping) else cells


def _texts(value: float, status: int, *beside: str) -> list[str]:
    """A cell, and what stands beside it."""
    return [_cell(value, status), *beside]


def _error_texts(errors: Mapping[str, NDArray[np.int64]]) -> list[tuple[str, NDArray[np.object_]]]:
    """Errors in tenths of a percent as text."""
    texts = [
        [("" if n < 0 else f"{n / 10:.1f} %") for n in each.ravel().tolist()] for each in errors.values()
    ]
    shapes = [each.shape for each in errors.values()]
    arrays = [np.array(t, dtype=object).reshape(shape) for t, shape in zip(texts, shapes, strict=True)]
    return [*zip(("RSE", "noise"), arrays, strict=False)]


def _derived_texts(column: Derived) -> NDArray[np.object_]:
    """Percentages and ranks as text; empty where there is none."""
    texts = np.array([f"{number:,}" for number in column.values.ravel().tolist()], dtype=object)
    return np.where(column.missing, "", texts.reshape(column.values.shape))


def _cell(value: float, status: int) -> str:
    """A value, its status, or both."""
    mark = f"[{STATUSES[status]}]" if status else ""
    return mark if status in {WITHHELD, NOT_APPLICABLE} else f"{value:,} {mark}".rstrip()


def _indented(dimension: Dimension) -> list[str]:
    """Labels down the side: a finer level of a hierarchy stands within the coarser one above it."""
    depths = [output.depth for output in dimension.outputs] + [0] * dimension.total
    return ["\u2003" * depth + label for depth, label in zip(depths, dimension.labels, strict=True)]
