"""The law of numbers that were made together and say nothing cell by cell: whoever asks for it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.errors import BadRequest
from discreet.model.noise_law import NoiseLaw
from discreet.model.one_line import one_line
from discreet.model.told import told

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class UnstatedLaw(NoiseLaw):
    """No law is stated for any cell, and all cells may share noise.

    Args:
        shape: The lengths of the table's axes.
    """

    shape: tuple[int, ...]

    @property
    def laws(self) -> tuple[()]:
        """None is stated."""
        return ()

    @property
    def kind(self) -> NoReturn:
        """Refused.

        Raises:
            BadRequest: Always.
        """
        raise BadRequest(
            told("The law of the noise of these cells is not stated."),
            told("Ask for the table by itself, not with others."),
        )

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """The noise rules out no cell."""
        return np.broadcast_to(np.False_, self.shape)

    def source(self, *place: int) -> str:  # noqa: ARG002 - it holds of every cell
        """All cells may share noise."""
        return "together"

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> UnstatedLaw:
        """No law is stated for fewer cells either."""
        return UnstatedLaw(tuple(kept.size for kept in places))

    def document(self) -> dict[str, Any]:
        """Nothing is stated."""
        return {}

    def __repr__(self) -> str:
        return one_line(self, f"of {np.prod(self.shape):,} cells")
