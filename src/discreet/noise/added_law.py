"""The law of a table of which some cells were added up from others: what such a sum is made of says its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadRequest
from discreet.model.noise_law import NoiseLaw
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.model.noise_law import CellLaw


@dataclass(frozen=True, eq=False)
class AddedLaw(NoiseLaw):
    """The law of the counted cells; the cells that were added up have none of their own.

    Args:
        counted: The law of the cells before anything was added up.
        added: Which cells are sums of others.
    """

    counted: NoiseLaw
    added: NDArray[np.bool_]

    @property
    def laws(self) -> Sequence[CellLaw]:
        """The laws of counted cells."""
        return self.counted.laws

    @property
    def kind(self) -> NDArray[np.int64]:
        """For each counted cell the place of its law in `laws`."""
        return self.counted.kind

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Cells that nobody can be in."""
        return self.counted.impossible

    def at(self, *place: int) -> CellLaw:
        """The law of the noise of one counted cell.

        Raises:
            BadRequest: The cell is a sum.
        """
        if self.added[place]:
            raise BadRequest(
                told("This number is the sum of the areas shown, and has no noise of its own."),
                told("Ask about the areas themselves, or about their sum."),
            )
        return self.counted.at(*place)

    def kinds(self) -> Iterator[tuple[NDArray[np.bool_], CellLaw]]:
        """Each law with the counted cells that have it: a sum is in none."""
        for mask, law in self.counted.kinds():
            yield mask & ~self.added, law

    def source(self, *place: int) -> Hashable | None:
        """A sum shares the noise of its parts."""
        return "added" if self.added[place] else self.counted.source(*place)

    @property
    def rounds(self) -> bool:
        """Whether counted cells are rounded values of one whole."""
        return self.counted.rounds

    def covariance(self, places: Sequence[tuple[int, ...]]) -> NDArray[np.float64] | None:
        """That of counted cells; a sum is refused.

        Raises:
            BadRequest: A cell is a sum.
        """
        for place in places:
            self.at(*place)
        return self.counted.covariance(places)

    def for_tests(self) -> AddedLaw:
        """What a test takes for the law of counted cells."""
        return AddedLaw(self.counted.for_tests(), self.added)

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> AddedLaw:
        """The law of fewer cells, and which of them are sums."""
        return AddedLaw(self.counted.cut(places), self.added[np.ix_(*places)])

    def document(self) -> dict[str, Any]:
        """What is said of counted cells, and which cells are sums."""
        return {**self.counted.document(), "sums_of_areas_shown": np.flatnonzero(self.added).tolist()}
