"""How a table reads: layers and rows down the side, columns along the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.release import NOT_APPLICABLE, STATUS_MEANING, STATUSES, WITHHELD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension

#: The heads of errors beside a number.
_ERROR_HEADS = {"relative_standard_error": "RSE", "noise_share": "noise"}
#: The heads of what is derived from a number, where it is not its name.
_HEADS = {"percent": "%"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The variables of a table by where they stand.

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
        """The number of lines."""
        return int(np.prod([dimension.length for dimension in self.side], dtype=np.int64))

    def spread(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of the release as lines of the table."""
        return array.transpose(self.order).reshape(self.height, -1)


def layout_of(release: Release) -> Layout:
    """Where the variables of a release stand."""
    request, dimensions = release.request, release.dimensions
    side = tuple(d for names in (request.layers, request.rows) for d in dimensions if d.name in names)
    top = tuple(d for d in dimensions if d.name in request.columns)
    return Layout(side, top, tuple(dimensions.index(dimension) for dimension in side + top))


def shown_errors(release: Release) -> dict[str, NDArray[np.int64]]:
    """The errors of a weighted table in tenths of a percent; negative where none is shown."""
    found = {"relative_standard_error": release.errors, "noise_share": release.noise_shares}
    return {
        name: np.where(release.missing, -1, tenths) for name, tenths in found.items() if tenths is not None
    }


def beside_texts(release: Release, *, errors: bool) -> list[tuple[str, NDArray[np.object_]]]:
    """What stands beside each number, by its head: errors, percentages, ranks; empty texts where there is none."""
    found = [
        (_ERROR_HEADS[name], _texts([f"{n / 10:.1f} %" for n in tenths.ravel().tolist()], tenths < 0))
        for name, tenths in (shown_errors(release).items() if errors else ())
    ]
    return found + [
        (_HEADS.get(c.name, c.name), _texts([f"{n:,}" for n in c.values.ravel().tolist()], c.missing))
        for c in release.derived
    ]


def _texts(texts: list[str], missing: NDArray[np.bool_]) -> NDArray[np.object_]:
    return np.where(missing, "", np.array(texts, dtype=object).reshape(missing.shape))


def legend_of(release: Release) -> list[str]:
    """What the status letters of a table mean, and what is derived from its numbers."""
    present = [STATUSES[number] for number in np.unique(release.status) if number]
    marks = [f"[{letter}] {STATUS_MEANING[letter]}" for letter in present]
    return marks + [f"{_HEADS.get(c.name, c.name)}: {c.meaning}" for c in release.derived]


def cell_text(value: float, status: int) -> str:
    """A value, its status, or both.

    >>> cell_text(1234, 0), cell_text(0, 1), cell_text(12, 3)
    ('1,234', '[c]', '12 [u]')
    """
    mark = f"[{STATUSES[status]}]" if status else ""
    return mark if status in {WITHHELD, NOT_APPLICABLE} else f"{value:,} {mark}".rstrip()


def depths_of(dimension: Dimension) -> list[int]:
    """For each place how many coarser categories hold it; a total stands on its own."""
    return [output.depth for output in dimension.outputs] + [0] * dimension.total


def lists_of(*arrays: NDArray[Any]) -> list[list[list[Any]]]:
    """Arrays of lines as lists of Python's own numbers."""
    return [array.tolist() for array in arrays]
