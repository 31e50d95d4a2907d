"""Noise by description: every cell of a declared margin has its own noise, and any other cell is a sum of those.

    K(margin)   = HKDF-SHA256(secret; "description-noise", dataset, version, fingerprint, mechanism, domain)
    key(cell)   = word number `index` of AES-256-CTR(K(margin)), counter from 0, 64 bits little-endian, modulo 2^k
    noisy(cell) = true count + sum over its base cells, except structural zeros, of noise(key(base cell))

The index is row-major over the margin's variables sorted by name and their codes sorted as text, so it does not depend on
layout or order of categories. The domain is a hash of those names and codes. Changed records have another
fingerprint, hence independent noise; so has another version, mechanism, scale or list of codes.

Empty base cells have noise like all others. A noise table has one row, so the noise does not depend on the count and the
distribution of every sum is known.

Source: docs/decisions/0006-description-keys.md; NIST SP 800-38A (CTR), RFC 5869 (HKDF); Rinott et al. (2018), sections 4
and 7; docs/methods/dp.md.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadNoiseTable
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.universe import Margin, margin_zeros
from discreet.model.variable import Variable
from discreet.noise.table import NoiseTable, mechanism_name
from discreet.noise.table_distribution import PUBLIC, DescribedDistribution
from discreet.protect.margin_choice import MarginAxis, Part
from discreet.protect.protector import NoisyCells
from discreet.records.keys import Purpose, Secret, counter_words, counter_words_at

LARGEST_MODULUS = 2**64
#: A slice of at least this share of its margin is taken from the whole stream, which is faster.
WORTH_THE_WHOLE = 0.25


@dataclass(frozen=True, slots=True)
class NoiseContext:
    """Everything except the margin that the noise of a release depends on.

    `fingerprint` is the keyed one of the records; `mechanism` is a hash of the noise table's integers, and epsilon.
    """

    dataset: str
    version: str
    fingerprint: str
    mechanism: str

    def derive(self, secret: Secret, purpose: Purpose, *names: str) -> bytes:
        """The key of a stream of noise for a purpose: no two releases, purposes or names share one."""
        parts = (self.dataset, self.version, self.fingerprint, self.mechanism)
        return secret.derive(purpose, *parts, *names)


@dataclass(frozen=True, eq=False)
class MarginCells:
    """The cells of a margin in their canonical order.

    Args:
        ranks: For each variable the rank of its categories by code.
        domain: A hash of the names and the sorted codes.
    """

    names: Margin
    lengths: tuple[int, ...]
    ranks: tuple[NDArray[np.int64], ...]
    domain: str

    @property
    def cells(self) -> int:
        return math.prod(self.lengths)

    def indices(self, kept: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The canonical indices of the cells at some positions of each variable, in the order of the positions."""
        index = np.zeros((1,) * len(self.names), dtype=np.int64)
        for axis, (rank, length, positions) in enumerate(zip(self.ranks, self.lengths, kept, strict=True)):
            lengths = tuple(-1 if a == axis else 1 for a in range(len(self.names)))
            index = index * length + rank[positions].reshape(lengths)
        return index


@lru_cache(maxsize=4096)
def canonical_cells(margin: Margin, dataset: Dataset) -> MarginCells:
    """The canonical cells of a margin of a dataset."""
    names = tuple(sorted(margin))
    ranks, texts = (
        zip(*(_code_ranks(dataset.variable(name)) for name in names), strict=True) if names else ((), ())
    )
    domain = hashlib.sha256(f"[{','.join(texts)}]".encode("ascii")).hexdigest()
    return MarginCells(names, tuple(len(rank) for rank in ranks), ranks, domain)


@lru_cache(maxsize=1024)
def _code_ranks(variable: Variable) -> tuple[NDArray[np.int64], str]:
    """The rank of each category by code, and the JSON text [name, [sorted codes]]."""
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
    """The keys of cells of a margin: the first `cells` of them, or those at some canonical indices.

    Raises:
        BadNoiseTable: The modulus is no power of two, so that keys would not be exactly uniform.
    """
    key = context.derive(secret, Purpose.DESCRIPTION_NOISE, margin.domain)
    words = counter_words(key, cells) if isinstance(cells, int) else counter_words_at(key, cells)
    return _reduce(words, modulus)


def keys_by_name(
    secret: Secret, context: NoiseContext, name: tuple[str, ...], size: int, modulus: int = LARGEST_MODULUS
) -> NDArray[np.uint64]:
    """Keys for a named object that is no margin; names and margins never share a stream."""
    return _reduce(counter_words(context.derive(secret, Purpose.NAMED_NOISE, *name), size), modulus)


def residual_keys(
    secret: Secret, context: NoiseContext, margin: MarginCells, measured: str
) -> NDArray[np.uint64]:
    """The keys of all cells of a residual, in the order of the description; `measured` is a text of its grid and blocks."""
    key = context.derive(secret, Purpose.RESIDUAL_NOISE, margin.domain, measured)
    words = counter_words(key, margin.cells).reshape(margin.lengths)
    for axis, rank in enumerate(margin.ranks):
        words = np.take(words, rank, axis=axis)
    return words


def _reduce(words: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    if modulus < 1 or LARGEST_MODULUS % modulus:
        raise BadNoiseTable(
            f"A key modulus of {modulus} does not divide 2^64, so its keys are not exactly uniform.",
            'Use a power of two for differentially private noise, such as "2^64".',
        )
    return words if modulus == LARGEST_MODULUS else words & np.uint64(modulus - 1)


def block_keys(
    secret: Secret,
    context: NoiseContext,
    margin: MarginCells,
    kept: Sequence[NDArray[np.int64]],
    modulus: int = LARGEST_MODULUS,
) -> NDArray[np.uint64]:
    """The keys of the cells at some positions of each variable, as an array of that shape."""
    size = math.prod(positions.size for positions in kept)
    if size < WORTH_THE_WHOLE * margin.cells:
        return margin_keys(secret, context, margin, margin.indices(kept), modulus)
    whole = margin_keys(secret, context, margin, margin.cells, modulus).reshape(margin.lengths)
    for axis, (rank, positions) in enumerate(zip(margin.ranks, kept, strict=True)):
        wanted = rank[positions]
        if wanted.size != margin.lengths[axis] or (wanted[1:] < wanted[:-1]).any():
            whole = np.take(whole, wanted, axis=axis)
    return whole


@dataclass(frozen=True)
class DescriptionNoise:
    """The keyed noise of one version of a dataset."""

    secret: Secret
    dataset: Dataset
    version: str
    fingerprint: str
    noise: Mapping[Margin, NoiseTable]

    def __post_init__(self) -> None:
        for table in self.noise.values():
            require_one_row(table)

    def with_table(self, margin: Margin, table: NoiseTable) -> DescriptionNoise:
        return replace(self, noise={**self.noise, margin: table})

    def of(self, margin: Margin, kept: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The noise of the cells of a margin at some positions of each of its variables."""
        table = self.noise[margin]
        cells = canonical_cells(margin, self.dataset)
        keys = block_keys(self.secret, self._context(table), cells, kept, table.modulus)
        return table.noise(np.zeros(keys.shape, dtype=np.int64), keys)

    def named(self, table: NoiseTable, name: tuple[str, ...], size: int) -> NDArray[np.int64]:
        """Independent noise for a named object, such as the coefficients of many margins."""
        require_one_row(table)
        keys = keys_by_name(self.secret, self._context(table), name, size, table.modulus)
        return table.noise(np.zeros(size, dtype=np.int64), keys)

    def _context(self, table: NoiseTable) -> NoiseContext:
        return NoiseContext(self.dataset.id, self.version, self.fingerprint, mechanism_name(table))


def require_one_row(table: NoiseTable) -> None:
    """Refuse noise that depends on the count: the distribution of a sum of cells would depend on a secret."""
    if len(table.rows) != 1:
        raise BadNoiseTable(
            f"The noise table of the family {table.family} has {len(table.rows)} rows: its noise depends on the count.",
            "For `dp` use a family whose noise does not depend on the count; docs/reference/dp-universe.md lists them.",
        )
    if table.keeps_zero:
        raise BadNoiseTable("The noise table never changes a count.", "For `dp` every cell needs noise.")


def add_description_noise(
    exact: ExactTable, parts: Sequence[Part], noise: DescriptionNoise, *, in_place: bool = False
) -> NoisyCells:
    """Noisy counts of a table that declared margins cover; `in_place` overwrites the true counts."""
    noisy = exact.start(in_place=in_place)
    public = np.zeros(noisy.shape, dtype=np.bool_)
    for part in parts:
        if part.margin is None:
            public[part.block] |= part.mask
            continue
        base, empty = noise.of(part.margin, [axis.kept for axis in part.axes]), _zeros(part, noise.dataset)
        summed = add_up(base if empty is None else np.where(empty, 0, base), part)
        noisy[part.block] += np.where(part.mask, summed, 0)
    distribution = description_distribution(noisy.shape, parts, noise)
    # A cell without noise that is not declared public is never released.
    noisy[(distribution.terms == 0) & ~public] = 0
    return NoisyCells(noisy, distribution)


def description_distribution(
    lengths: tuple[int, ...], parts: Sequence[Part], noise: DescriptionNoise
) -> DescribedDistribution:
    """The number of noise terms of every cell, and the margin they come from; nothing is counted for it."""
    terms = np.zeros(lengths, dtype=np.int64)
    margin = np.full(lengths, PUBLIC, dtype=np.int16)
    margins = tuple(dict.fromkeys(part.margin for part in parts if part.margin is not None))
    for part in parts:
        if part.margin is not None:
            chosen, empty = part.mask, _zeros(part, noise.dataset)
            summed = part.terms() if empty is None else add_up((~empty).astype(np.int64), part)
            terms[part.block] += np.where(chosen, summed, 0)
            margin[part.block][chosen] = margins.index(part.margin)
    return DescribedDistribution(terms, margin, tuple((each, noise.noise[each]) for each in margins))


def _zeros(part: Part, dataset: Dataset) -> NDArray[np.bool_] | None:
    if not dataset.structural_zeros:
        return None
    return margin_zeros(part.margin or (), dataset, {axis.name: axis.kept for axis in part.axes})


def add_up(base: NDArray[np.int64], part: Part) -> NDArray[np.int64]:
    """Add the base cells of a margin up to the cells of a block."""
    for place, axis in enumerate(part.axes):
        base = _add_axis(base, place, axis)
    lengths = [length for axis in part.axes for length in axis.lengths]
    order = np.argsort([place for axis in part.axes for place in axis.axes], kind="stable")
    return base.reshape(lengths).transpose(order).reshape(part.lengths)


def _add_axis(base: NDArray[np.int64], place: int, axis: MarginAxis) -> NDArray[np.int64]:
    """Map one axis of base categories to its outputs: unchanged, reordered, or summed."""
    if not axis.axes:
        return np.asarray(base.sum(axis=place, keepdims=True))
    order = np.argsort(axis.target, kind="stable")
    present, starts = np.unique(axis.target[order], return_index=True)
    ordered = base if (np.diff(axis.target) >= 0).all() else np.take(base, order, axis=place)
    added = ordered if present.size == order.size else np.add.reduceat(ordered, starts, axis=place)
    if present.size == axis.outputs:
        return added
    shape = (*base.shape[:place], axis.outputs, *base.shape[place + 1 :])
    spread = np.zeros(shape, dtype=np.int64)
    spread[(slice(None),) * place + (present,)] = added
    return spread
