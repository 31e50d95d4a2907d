"""The keys of empty cells, for `zeros = "perturbed"`: nobody is in them, so their description is the key.

    token(cell) = sum over its conditions of HMAC-SHA256(K1, condition), 64 bits   (`cell_keys.description_tokens`)
    key(cell)   = first 8 bytes, little-endian, of AES-256(K2, token || 0), modulo the modulus

A cell that is empty by chance has one number wherever it is described in the same words; another description of the same
emptiness has another. A structural zero is empty by public knowledge and is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.shape import structural_zeros
from discreet.protect.cell_keys import description_tokens, noise_lineage, reduced_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import TableShape
    from discreet.records.secret import Secret


@dataclass(frozen=True)
class EmptyCells:
    """Which cells without people may show a number, and by which key."""

    secret: Secret = field(repr=False)
    dataset: Dataset
    modulus: int

    def places(self, counts: NDArray[np.int64], shape: TableShape) -> NDArray[np.intp]:
        """The flat places of the cells that are empty by chance."""
        return np.flatnonzero((counts == 0) & ~structural_zeros(shape, self.dataset))

    def keys(self, shape: TableShape, places: NDArray[np.intp]) -> NDArray[np.uint64]:
        """The keys of the cells at flat places."""
        lineage = noise_lineage(self.dataset)
        tokens = description_tokens(self.secret.derive("empty-description", lineage), shape)
        return reduced_words(self.secret.derive("empty-cell", lineage), tokens(places), self.modulus)
