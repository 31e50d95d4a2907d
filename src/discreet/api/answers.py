"""What a table is asked beyond its numbers: files, intervals and tests. Here they are computed from the release.

A table of a server asks the server instead (`remote.py`), which knows the law of the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from discreet.formats import named_format
from discreet.model.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from discreet.formats import Format
    from discreet.inference.cell_targets import Cell
    from discreet.inference.compared import Compared
    from discreet.inference.intervals import Interval
    from discreet.inference.likelihood_ratio import LikelihoodRatio
    from discreet.model.release import Release
    from discreet.model.view import View

    Cells = Sequence[Cell]
    Limits = tuple[NDArray[np.int64], NDArray[np.int64]]


class Answers(Protocol):
    """Whoever answers what is asked of a table."""

    def stream(self, release: Release, form: Format) -> Iterator[bytes]:
        """The table as a document, in pieces."""

    def interval(self, release: Release, cells: Cells, level: float, others: Mapping[str, Cells]) -> Interval:
        """The interval of a sum of cells beside others: by name `of`, `over`, `minus`, `minus_of`."""

    def every_interval(self, release: Release, level: float) -> Limits:
        """The smallest and the largest true count of every cell; -1 where no value is released."""

    def independence(self, release: Release, options: dict[str, Any]) -> LikelihoodRatio:
        """Whether the two variables of the table are independent."""

    def viewed(self, release: Release, view: View) -> Release:
        """The table with percentages and ranks beside its numbers, or with some of its rows."""

    def compared(self, release: Release, other: Release, level: float) -> Compared:
        """Two versions of the table, cell by cell."""


class ComputedHere:
    """Answers that follow from a release which knows the law of its noise."""

    def stream(self, release: Release, form: Format) -> Iterator[bytes]:
        """The table as a document, in pieces; a picture with the limits of its numbers."""
        if form.is_picture:
            from discreet.inference.pictured import pictured

            release = pictured(release, release.picture or Picture())
        return named_format(form.name).stream(release)

    def interval(self, release: Release, cells: Cells, level: float, others: Mapping[str, Cells]) -> Interval:
        """The interval of a sum of cells beside others: by name `of`, `over`, `minus`, `minus_of`."""
        from discreet.inference.cell_targets import interval_of

        return interval_of(release, cells, level=level, **others)

    def every_interval(self, release: Release, level: float) -> Limits:
        """The smallest and the largest true count of every cell; -1 where no value is released."""
        from discreet.inference.cell_targets import every_interval

        return every_interval(release, level)

    def independence(self, release: Release, options: dict[str, Any]) -> LikelihoodRatio:
        """Whether the two variables of the table are independent."""
        from discreet.inference.independence import independence_test

        return independence_test(release, **options)

    def viewed(self, release: Release, view: View) -> Release:
        """The table with percentages and ranks beside its numbers, or with some of its rows."""
        if not view:  # a plain table starts without what a view needs
            return release
        from discreet.inference.viewed import viewed

        return viewed(release, view)

    def compared(self, release: Release, other: Release, level: float) -> Compared:
        """Two versions of the table, cell by cell."""
        from discreet.inference.compared import compare

        return compare(release, other, level)


COMPUTED_HERE = ComputedHere()
