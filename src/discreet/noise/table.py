"""The noise table: every mechanism as integers that are looked up.

Each row has noise values and cumulative integer thresholds over a key modulus. A key u, uniform on 0..modulus-1, selects the
first value whose threshold exceeds it:

    P(noise = values[j] | count) = (thresholds[j] - thresholds[j-1]) / modulus.

Small counts have separate rows; the last `repeats` rows repeat for all larger counts (one row for most families, 15 for
PRAM, 250 for ONS). No float decides a released number, and `privacy` audits exactly these integers. A table from another
program may assign its keys in any order (`ArrangedTable`): the distribution is the same, the released numbers are not.

Source: Sadeghi & Chien (2022), eqs 38-42; Fraser & Wooton (2005); the lookup rules of ONS, tau-Argus and cellKey.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadNoiseTable
from discreet.model.messages.text import one_line
from discreet.noise.cell_distribution import SumDistribution

LARGEST_MODULUS = 2**64
LARGEST_VALUE = 2**62
GUIDE_BITS = 16


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """The noise of one count: ascending values and their cumulative thresholds.

    >>> NoiseRow((-1, 0, 1), (64, 192, 256)).masses()
    (64, 128, 64)
    """

    values: tuple[int, ...]
    thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.thresholds):
            raise BadNoiseTable("A row needs one threshold for each of its values, and at least one value.")
        if any(not isinstance(number, int) for number in (*self.values, *self.thresholds)):
            raise BadNoiseTable("Values and thresholds are whole numbers.")
        if any(b <= a for a, b in zip(self.values, self.values[1:], strict=False)):
            raise BadNoiseTable("The values of a row must ascend, each once.")
        if any(abs(value) > LARGEST_VALUE for value in self.values):
            raise BadNoiseTable(f"A noise value must lie within ±{LARGEST_VALUE}.")
        if any(b <= a for a, b in zip((0, *self.thresholds), self.thresholds, strict=False)):
            raise BadNoiseTable(
                "The thresholds of a row must ascend from above 0: a value with no key could never occur.",
                "Leave out values of probability zero.",
            )

    def masses(self) -> tuple[int, ...]:
        """The number of keys of each value; they add up to the modulus."""
        return tuple(b - a for a, b in zip((0, *self.thresholds), self.thresholds, strict=False))

    @property
    def modulus(self) -> int:
        """The number of keys that the row covers."""
        return self.thresholds[-1]

    def probabilities(self) -> dict[int, Fraction]:
        return {v: Fraction(m, self.modulus) for v, m in zip(self.values, self.masses(), strict=True)}

    def mean(self) -> Fraction:
        return Fraction(sum(v * m for v, m in zip(self.values, self.masses(), strict=True)), self.modulus)

    def variance(self) -> Fraction:
        second = sum(v * v * m for v, m in zip(self.values, self.masses(), strict=True))
        return Fraction(second, self.modulus) - self.mean() ** 2

    def entropy(self) -> float:
        """-Σ p ln p, in nats."""
        return abs(math.fsum(-float(p) * math.log(p) for p in self.probabilities().values()))

    def __repr__(self) -> str:
        return one_line(self, f"of {len(self.values)} values from {self.values[0]} to {self.values[-1]}")


@dataclass(frozen=True)
class NoiseTable:
    """Rows for the counts 0, 1, 2, ...; the last `repeats` rows serve all larger counts.

    Args:
        modulus: The number of keys, up to 2^64; by default 2^32 in `cellkey`, 2^64 in `dp`.
        repeats: Length of the block of last rows that repeats for larger counts.
        family: The family that designed it ("maxent", "laplace", ..., or "file").
        parameters: The design's parameters, for people and provenance; never used in a lookup.

    >>> table = NoiseTable(256, (NoiseRow((0,), (256,)), NoiseRow((-1, 0, 1), (64, 192, 256))), repeats=1)
    >>> table.noise(np.array([0, 5, 5]), np.array([7, 7, 255], dtype=np.uint64)).tolist()
    [0, -1, 1]
    """

    modulus: int
    rows: tuple[NoiseRow, ...]
    repeats: int = 1
    family: str = "unnamed"
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.modulus <= LARGEST_MODULUS:
            raise BadNoiseTable(f"The key modulus is {self.modulus}; it must lie between 1 and 2^64.")
        if not self.rows or not 1 <= self.repeats <= len(self.rows):
            raise BadNoiseTable(
                f"{self.repeats} repeating rows of {len(self.rows)}: a table needs at least one row, "
                "and a repeating block of at least one row and at most all of them."
            )
        for count, row in enumerate(self.rows):
            if row.modulus != self.modulus:
                raise BadNoiseTable(
                    f"The row of count {count} covers {row.modulus} keys of {self.modulus}.",
                    "The last threshold of every row must equal the modulus.",
                )
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return type(self), tuple((values | {"parameters": dict(self.parameters)}).values())

    def row_index(self, count: int) -> int:
        if count < len(self.rows):
            return count
        first = len(self.rows) - self.repeats
        return first + (count - first) % self.repeats

    def row(self, count: int) -> NoiseRow:
        return self.rows[self.row_index(count)]

    @cached_property
    def largest(self) -> int:
        """The largest change of any count."""
        return max(abs(end) for row in self.rows for end in (row.values[0], row.values[-1]))

    @property
    def keeps_zero(self) -> bool:
        return self.rows[0].values == (0,)

    @cached_property
    def variance(self) -> Fraction:
        """The largest variance of any count's noise."""
        return max(row.variance() for row in self.rows)

    @cached_property
    def distributions(self) -> tuple[SumDistribution, ...]:
        """The distributions of the rows, each once."""
        return tuple(SumDistribution(row, 1) for row in dict.fromkeys(self.rows))

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index in `distributions` of each count; counts below zero use that of zero."""
        index: NDArray[np.int64] = self._distribution_of_row[self._row_indices(np.maximum(counts, 0))]
        return index

    @cached_property
    def _distribution_of_row(self) -> NDArray[np.int64]:
        place = {distribution.row: number for number, distribution in enumerate(self.distributions)}
        return np.array([place[row] for row in self.rows])

    def noise(self, counts: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The noise of each cell, in the shape of `counts`: one binary search, integers only.

        Counts are not negative; each key is below the modulus.
        """
        flat_counts = np.ascontiguousarray(counts, dtype=np.int64).ravel()
        flat_keys = np.ascontiguousarray(keys, dtype=np.uint64).ravel()
        if flat_counts.shape != flat_keys.shape:
            raise BadNoiseTable("Every cell needs one key.")
        if flat_counts.size and int(flat_counts.min()) < 0:
            raise BadNoiseTable("A count below zero has no noise row.")
        if flat_keys.size and int(flat_keys.max()) >= self.modulus:
            raise BadNoiseTable("A cell key lies outside the key modulus.")
        rows = self._row_indices(flat_counts)
        return self._search(rows, flat_keys).reshape(np.shape(counts))

    def _row_indices(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.repeats == 1:
            return np.minimum(counts, len(self.rows) - 1)
        first = len(self.rows) - self.repeats
        return np.where(counts < len(self.rows), counts, first + (counts - first) % self.repeats)

    @property
    def _lookup_rows(self) -> Sequence[NoiseRow | ArrangedRow]:
        return self.rows

    def _search(self, rows: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        if self._stack is not None:
            width = np.uint64(self.modulus % LARGEST_MODULUS)  # a full 2^64 has one row, which needs no shift
            return self._stack.noise(rows.astype(np.uint64) * width + keys)
        noise = np.empty(keys.shape, dtype=np.int64)
        for index in np.unique(rows):
            here = rows == index
            row = self._lookup_rows[int(index)]
            inner = np.array(row.thresholds[:-1], dtype=np.uint64)
            noise[here] = np.array(row.values, dtype=np.int64)[np.searchsorted(inner, keys[here], "right")]
        return noise

    @cached_property
    def _stack(self) -> _StackedRows | None:
        """All rows as one ascending list of thresholds, row r shifted by r times the modulus; None beyond 64 bits."""
        if self.modulus * len(self.rows) > LARGEST_MODULUS:
            return None
        thresholds = [r * self.modulus + t for r, row in enumerate(self._lookup_rows) for t in row.thresholds]
        return _StackedRows(thresholds, [v for row in self._lookup_rows for v in row.values])

    def __repr__(self) -> str:
        rows = f"{len(self.rows)} rows, largest change {self.largest}"
        return one_line(self, f"{self.family}: {rows}, modulus {self.modulus}")


class _StackedRows:
    """The thresholds of all rows in one list, with a guide: most keys need no search.

    Keys fall into equal buckets. In a bucket without a threshold every key has the same noise, known beforehand; only keys
    in the few other buckets are searched. The last threshold is left out: every key lies before it.
    """

    def __init__(self, thresholds: list[int], values: list[int]) -> None:
        self.thresholds = np.array(thresholds[:-1], dtype=np.uint64)
        self.values = np.array(values, dtype=np.int64)
        last = thresholds[-1] - 1
        self.shift = np.uint64(max(0, last.bit_length() - GUIDE_BITS))
        starts = np.arange((last >> int(self.shift)) + 1, dtype=np.uint64) << self.shift
        place = np.searchsorted(self.thresholds, starts, "right")
        self.guide = self.values[place]
        self.mixed = np.append(place[1:] != place[:-1], True)

    def noise(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        bucket = keys >> self.shift
        noise: NDArray[np.int64] = self.guide[bucket]
        unsure = np.flatnonzero(self.mixed[bucket])
        noise[unsure] = self.values[np.searchsorted(self.thresholds, keys[unsure], "right")]
        return noise


#: The noise of a public cell.
NO_NOISE = NoiseTable(1, (NoiseRow((0,), (1,)),), family="none")


@dataclass(frozen=True, slots=True)
class ArrangedRow:
    """The noise of one count by rising key: values in any order, possibly repeated.

    >>> ArrangedRow((1, -1, 1), (64, 192, 256)).distribution().thresholds
    (128, 256)
    """

    values: tuple[int, ...]
    thresholds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.thresholds):
            raise BadNoiseTable("A row needs one threshold for each of its values, and at least one value.")
        if any(b <= a for a, b in pairwise((0, *self.thresholds))):
            raise BadNoiseTable("The thresholds of a row must ascend from above 0.")

    @classmethod
    def of_keys(cls, noise: Sequence[int]) -> ArrangedRow:
        """From the noise of every key; equal neighbours become one interval."""
        changes = np.flatnonzero(np.diff(np.asarray(noise, dtype=np.int64)))
        ends = [*(changes + 1).tolist(), len(noise)]
        return cls(tuple(int(noise[end - 1]) for end in ends), tuple(ends))

    @property
    def ascending(self) -> bool:
        """Whether the values ascend, as in a plain row."""
        return all(a < b for a, b in pairwise(self.values))

    def distribution(self) -> NoiseRow:
        """The same noise with keys in the order of the values; this row is audited."""
        masses: dict[int, int] = {}
        for value, low, high in zip(self.values, (0, *self.thresholds), self.thresholds, strict=False):
            masses[value] = masses.get(value, 0) + high - low
        values = sorted(masses)
        return NoiseRow(tuple(values), tuple(accumulate(masses[value] for value in values)))

    def __repr__(self) -> str:
        return one_line(self, f"of {len(self.values)} values in the order of their keys")


@dataclass(frozen=True, repr=False)
class ArrangedTable(NoiseTable):
    """A noise table whose keys are looked up in the order of its file.

    noise(count, u) = arranged[count].values[first j with u < arranged[count].thresholds[j]]
    """

    arranged: tuple[ArrangedRow, ...] = ()

    def __post_init__(self) -> None:
        NoiseTable.__post_init__(self)
        if tuple(row.distribution() for row in self.arranged) != self.rows:
            raise BadNoiseTable("The arrangement of the keys does not have the law of the rows.")

    @property
    def _lookup_rows(self) -> tuple[ArrangedRow, ...]:
        return self.arranged


def rows_by_key(table: NoiseTable) -> tuple[ArrangedRow, ...]:
    """Every row by rising key, for either kind of table."""
    if isinstance(table, ArrangedTable):
        return table.arranged
    return tuple(ArrangedRow(row.values, row.thresholds) for row in table.rows)


def make_table(
    modulus: int, arranged: Sequence[ArrangedRow], *, repeats: int, family: str, parameters: Mapping[str, Any]
) -> NoiseTable:
    """A plain noise table if the values ascend with the keys, else an arranged one."""
    distributions = tuple(row.distribution() for row in arranged)
    if all(row.ascending for row in arranged):
        return NoiseTable(modulus, distributions, repeats, family, parameters)
    return ArrangedTable(modulus, distributions, repeats, family, parameters, tuple(arranged))


def content_hash(table: NoiseTable) -> str:
    """SHA-256 of everything that decides a released number: modulus, rows, repeats, and a file's key order."""
    content: dict[str, Any] = {
        "modulus": table.modulus,
        "repeats": table.repeats,
        "rows": [[list(row.values), list(row.thresholds)] for row in table.rows],
    }
    if isinstance(table, ArrangedTable):
        content["arrangement"] = [[list(row.values), list(row.thresholds)] for row in table.arranged]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


_cached_hash = lru_cache(maxsize=4096)(content_hash)


def mechanism_name(table: NoiseTable) -> str:
    """Family, epsilon and content hash: the name of a mechanism in keys and ledgers. Another epsilon is another mechanism.

    >>> mechanism_name(NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),), family="file"))[:10]
    'file:None:'
    """
    # Tables compare equal whatever their parameters, so epsilon stays out of the cached part.
    return f"{table.family}:{table.parameters.get('epsilon')!r}:{_cached_hash(table)}"


def keep_zero(table: NoiseTable) -> NoiseTable:
    """The same noise for every count from 1 on, and none for zero.

    Laplace, normal, Gaussian and ABS noise has one row for every count. The cell key method has no key for an empty cell,
    so the row of count 0 becomes the single value 0. The audit of the pair 0|1 then shows that a count above zero
    discloses that someone is there.

    >>> kept = keep_zero(NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),)))
    >>> [kept.row(count).values for count in (0, 1, 99)]
    [(0,), (-1, 0, 1), (-1, 0, 1)]
    """
    if table.keeps_zero:
        return table
    first = max(1, len(table.rows) - table.repeats)
    rows = rows_by_key(table)
    kept = [rows[table.row_index(count)] for count in range(1, first + table.repeats)]
    return make_table(
        table.modulus,
        [ArrangedRow((0,), (table.modulus,)), *kept],
        repeats=table.repeats,
        family=table.family,
        parameters={**table.parameters, "zeros": "kept"},
    )


def table_for_export(table: NoiseTable, program: str) -> NoiseTable:
    """A table for a program that never changes a zero.

    A one-row table is written with zero kept, as the cell key method uses it.
    """
    if len(table.rows) == 1 or table.keeps_zero:
        return keep_zero(table)
    raise BadNoiseTable(
        f"Count 0 has noise of its own; {program} never changes a zero.", "Write our own JSON instead."
    )
