"""Whom an attacker asks: one method, and an answer that is codes and numbers.

The same protocol stands before a protected dataset and before the true counts, so that an attack cannot tell
which one it faces but by the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.request import TableRequest


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The numbers of one table.

    Args:
        codes: The codes along each axis.
        values: The released numbers; meaningless where `missing`.
        missing: Where nothing was released.
        errors: The relative standard errors beside the numbers, as they are released; None where there are none.
        noise_shares: The noise's share of each error, likewise.
    """

    codes: tuple[tuple[str, ...], ...]
    values: NDArray[np.int64]
    missing: NDArray[np.bool_]
    errors: NDArray[np.int64] | None = None
    noise_shares: NDArray[np.int64] | None = None


class Interface(Protocol):
    """Anything that answers table requests."""

    def ask(self, request: TableRequest) -> Answer:
        """The released table, or a refusal as an error."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """An attacker's notes: what was asked is not asked again, and every question counts once.

    Args:
        interface: Who answers.
        answers: The answers so far.
    """

    interface: Interface
    answers: dict[TableRequest, Answer] = field(default_factory=dict)

    def ask(self, request: TableRequest) -> Answer:
        """The answer to a request, from the notes if it is there."""
        if request not in self.answers:
            self.answers[request] = self.interface.ask(request)
        return self.answers[request]

    @property
    def asked(self) -> int:
        """How many different tables were asked for."""
        return len(self.answers)


def answer_of(release: Release) -> Answer:
    """A release as an attacker reads it: codes, released numbers and released errors."""
    return Answer(
        tuple(dimension.codes for dimension in release.dimensions),
        release.values.astype(np.int64),
        release.missing,
        release.errors,
        release.noise_shares,
    )
