"""The assessed table: its true inner counts, laid out as layers x rows x columns. Confidential.

Totals and coarser levels are left out because they repeat the cells; structural zeros are in no measure. The row variables
together are one variable, and so are the column variables. A table without columns takes its last row variable, or else its
layers, as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.release import table_title
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.records.tabulate import tabulate
from discreet.release.dataset_service import DatasetService, unlock_service
from discreet.release.dry_run import try_request

#: Maximum size of an assessed table: every replicate has this size.
MOST_CELLS = 200_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subject:
    """The true counts of a table, and its public properties. Like an exact table it cannot be printed.

    Args:
        counts: Layers x rows x columns, without totals.
        possible: Which cells can occur.
        clip: Whether released counts below zero are shown as zero.
        title: The title of the table.
        sides: The labels of rows, columns and layers in tests of independence.
        refusal: Why the rules would refuse the table; None if they would not.
    """

    counts: NDArray[np.int64]
    possible: NDArray[np.bool_]
    clip: bool = True
    title: str = "A table"
    sides: tuple[str, str, str] = ("rows", "columns", "")
    refusal: str | None = None

    def __post_init__(self) -> None:
        if self.counts.ndim != 3 or self.counts.shape != self.possible.shape:
            raise ValueError("counts and possible are laid out as layers x rows x columns")
        if not self.possible.any():
            raise BadRequest("No cell of this table can occur.", "Choose other categories.")
        if self.counts.size > MOST_CELLS:
            raise BadRequest(
                f"The table has {self.counts.size:,} cells without totals.",
                f"An assessment takes at most {MOST_CELLS:,}: use fewer variables or a coarser level.",
            )

    def __repr__(self) -> str:
        return f"<Subject of {' x '.join(map(str, self.counts.shape))} cells, confidential>"

    @property
    def flat(self) -> NDArray[np.int64]:
        """The counts of all possible cells, flattened."""
        return np.asarray(self.counts[self.possible])

    @property
    def two_way(self) -> bool:
        """Whether both rows and columns have more than one category."""
        return bool(min(self.counts.shape[1:]) > 1)


def subject_of(door: DatasetService, request: TableRequest) -> Subject:
    """Count the table of a request, as a release would.

    A table that the rules refuse is assessed as well, because whether to allow it may be the question.

    Raises:
        BadRequest: The request is invalid, weighted, or too large.
    """
    if request.measure != "count":
        raise BadRequest(
            "Weighted tables are not assessed.",
            "Assess their sample counts, or their errors (survey_errors).",
        )
    stored = unlock_service(door)
    refusal = try_request(stored, request).refusal
    asked = canonical(replace(request, totals=False), stored.dataset)
    shape = table_shape(asked, stored.dataset)
    leaves = [dimension.leaves for dimension in shape.dimensions]
    sizes = dict(zip(asked.variables, map(len, leaves), strict=True))
    if np.prod([float(size) for size in sizes.values()]) > MOST_CELLS:
        raise BadRequest(
            f"The table has more than {MOST_CELLS:,} cells.", "Use fewer variables or a coarser level."
        )
    inner = np.ix_(*leaves)
    rows, columns, layers = sides_of(asked)
    order = [asked.variables.index(name) for name in (*layers, *rows, *columns)]
    lengths = [
        int(np.prod([sizes[name] for name in side], dtype=np.int64)) for side in (layers, rows, columns)
    ]
    labels = {dimension.name: dimension.label for dimension in shape.dimensions}
    counts = tabulate(stored.engine, shape).counts[inner]
    possible = ~structural_zeros(shape, stored.dataset)[inner]
    return Subject(
        counts=counts.transpose(order).reshape(lengths),
        possible=possible.transpose(order).reshape(lengths),
        clip=stored.dataset.protection.clips,
        title=table_title(stored.dataset, shape.dimensions, asked),
        sides=tuple(" x ".join(labels[name] for name in side) for side in (rows, columns, layers)),  # type: ignore[arg-type]
        refusal=None if refusal is None else refusal.message,
    )


def sides_of(request: TableRequest) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Rows, columns and layers, rearranged so that there are two sides where possible.

    >>> from discreet.model.request import TableRequest
    >>> sides_of(TableRequest("town", rows=("sex", "age"), layers=("region",)))
    (['sex'], ['age'], ['region'])
    """
    rows, columns, layers = list(request.rows), list(request.columns), list(request.layers)
    if not rows:
        rows, columns = columns, []
    if not rows:
        rows, layers = layers, []
    if not columns and len(rows) > 1:
        columns = [rows.pop()]
    if not columns:
        columns, layers = layers, []
    return rows, columns, layers
