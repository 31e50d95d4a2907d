"""Description keys: pseudo-random numbers for the cells of a margin, whoever is in them.

    K(margin)  = HKDF-SHA256(secret; "description-noise", dataset, version, fingerprint, mechanism, domain)
    key(cell)  = word number `index` of AES-256-CTR(K(margin)), counter from 0, 64 bits little-endian, modulo 2^k

The index is row-major over the margin's variables sorted by name and their codes sorted as text, so it depends on
no layout and on no order of categories. The domain is a hash of those names and codes. Records that change
have another fingerprint, hence independent noise; so has another version, mechanism, scale or list of codes.
A stream is read from any place, so a slice has the same keys as the whole.

Source: docs/decisions/0006-description-keys.md; NIST SP 800-38A (CTR), RFC 5869 (HKDF).
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadNoiseTable
from discreet.records.block_cipher import counter_words, counter_words_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin
    from discreet.model.variable import Variable
    from discreet.records.secret import Secret

LARGEST_MODULUS = 2**64
#: A slice of at least this share of its margin is cut out of the whole stream, which is read faster.
WORTH_THE_WHOLE = 0.25


@dataclass(frozen=True, slots=True)
class NoiseContext:
    """Everything but the margin that the noise of a release depends on.

    Args:
        dataset: The dataset's id.
        version: The version's name, as declared.
        fingerprint: The keyed, order-free fingerprint of the records.
        mechanism: The noise table and its scale: a hash of the integers that are looked up, and epsilon.
    """

    dataset: str
    version: str
    fingerprint: str
    mechanism: str


@dataclass(frozen=True, eq=False)
class MarginCells:
    """The cells of a margin in their canonical order.

    Args:
        names: The variables, sorted by name.
        lengths: How many categories each has.
        ranks: For each variable the place of its categories when their codes are sorted.
        domain: A hash of the names and the sorted codes.
    """

    names: Margin
    lengths: tuple[int, ...]
    ranks: tuple[NDArray[np.int64], ...]
    domain: str

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.lengths)

    def indices(self, kept: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The canonical indices of the cells at some positions of each variable, in the positions' order."""
        index = np.zeros((1,) * len(self.names), dtype=np.int64)
        for axis, (rank, length, positions) in enumerate(zip(self.ranks, self.lengths, kept, strict=True)):
            lengths = tuple(-1 if a == axis else 1 for a in range(len(self.names)))
            index = index * length + rank[positions].reshape(lengths)
        return index


@lru_cache(maxsize=4096)
def margin_cells(margin: Margin, dataset: Dataset) -> MarginCells:
    """The canonical cells of a margin of a dataset."""
    names = tuple(sorted(margin))
    ranks, texts = (
        zip(*(_sorted_codes(dataset.variable(name)) for name in names), strict=True) if names else ((), ())
    )
    domain = hashlib.sha256(f"[{','.join(texts)}]".encode("ascii")).hexdigest()
    return MarginCells(names, tuple(len(rank) for rank in ranks), ranks, domain)


@lru_cache(maxsize=1024)
def _sorted_codes(variable: Variable) -> tuple[NDArray[np.int64], str]:
    """The place of each category when the codes are sorted as text, and the JSON text [name, [sorted codes]]."""
    codes = variable.codes
    order = sorted(range(len(codes)), key=codes.__getitem__)
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes))
    rank.flags.writeable = False
    listed = [variable.name, [codes[position] for position in order]]
    return rank, json.dumps(listed, separators=(",", ":"), ensure_ascii=True)


def margin_keys(
    secret: Secret,
    context: NoiseContext,
    margin: MarginCells,
    cells: int | NDArray[np.int64],
    modulus: int = LARGEST_MODULUS,
) -> NDArray[np.uint64]:
    """The keys of cells of a margin: of the first so many, or of those at some indices.

    Args:
        secret: The workspace's secret.
        context: Which release.
        margin: Which margin.
        cells: A number of cells from the first, or canonical indices in any shape.
        modulus: A power of two, so that keys are exactly uniform.

    Raises:
        BadNoiseTable: The modulus does not divide 2^64.
    """
    _refuse_uneven(modulus)
    key = secret.derive(
        "description-noise",
        context.dataset,
        context.version,
        context.fingerprint,
        context.mechanism,
        margin.domain,
    )
    words = counter_words(key, cells) if isinstance(cells, int) else counter_words_at(key, cells)
    return words if modulus == LARGEST_MODULUS else words & np.uint64(modulus - 1)


def named_keys(
    secret: Secret, context: NoiseContext, name: tuple[str, ...], size: int, modulus: int = LARGEST_MODULUS
) -> NDArray[np.uint64]:
    """Keys for something that is no margin but has a name; names and margins never share a stream."""
    _refuse_uneven(modulus)
    parts = (context.dataset, context.version, context.fingerprint, context.mechanism)
    words = counter_words(secret.derive("named-noise", *parts, *name), size)
    return words if modulus == LARGEST_MODULUS else words & np.uint64(modulus - 1)


def residual_keys(
    secret: Secret, context: NoiseContext, margin: MarginCells, measured: str
) -> NDArray[np.uint64]:
    """The keys of all cells of a residual, in the order of the description: one stream a residual.

    Args:
        secret: The workspace's secret.
        context: Which release.
        margin: The residual's cells.
        measured: What else decides what is measured: its grid and its blocks.
    """
    parts = (context.dataset, context.version, context.fingerprint, context.mechanism)
    key = secret.derive("residual-noise", *parts, margin.domain, measured)
    words = counter_words(key, margin.cells).reshape(margin.lengths)
    for axis, rank in enumerate(margin.ranks):
        words = np.take(words, rank, axis=axis)
    return words


def _refuse_uneven(modulus: int) -> None:
    if modulus < 1 or LARGEST_MODULUS % modulus:
        raise BadNoiseTable(
            f"A key modulus of {modulus} does not divide 2^64, so its keys are not exactly uniform.",
            'Use a power of two for differentially private noise, such as "2^64".',
        )


def block_keys(
    secret: Secret,
    context: NoiseContext,
    margin: MarginCells,
    kept: Sequence[NDArray[np.int64]],
    modulus: int = LARGEST_MODULUS,
) -> NDArray[np.uint64]:
    """The keys of the cells at some positions of each variable: a slice, as an array of that shape."""
    size = math.prod(positions.size for positions in kept)
    if size < WORTH_THE_WHOLE * margin.cells:
        return margin_keys(secret, context, margin, margin.indices(kept), modulus)
    whole = margin_keys(secret, context, margin, margin.cells, modulus).reshape(margin.lengths)
    for axis, (rank, positions) in enumerate(zip(margin.ranks, kept, strict=True)):
        wanted = rank[positions]
        if wanted.size != margin.lengths[axis] or (wanted[1:] < wanted[:-1]).any():
            whole = np.take(whole, wanted, axis=axis)
    return whole
