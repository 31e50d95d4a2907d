"""Noise tables whose keys are not in the order of their values: files that other programs made.

An office's table gives each key a noise value in any order: ONS lists every key, ptable may shuffle its
intervals on purpose. The law of a row does not depend on that order, the released numbers do. An
`ArrangedTable` is a noise table (same law, same audit) that looks keys up in the order of its file:

    noise(count, u) = arranged[count].values[first j with u < arranged[count].thresholds[j]].

Source: the lookup rules of ONS, tau-Argus and cellKey (first interval in file order that exceeds the key).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadNoiseTable
from discreet.model.one_line import one_line
from discreet.noise.table import NoiseRow, NoiseTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ArrangedRow:
    """The noise of one count by rising key: values in any order, a value possibly more than once.

    >>> ArrangedRow((1, -1, 1), (64, 192, 256)).law().thresholds
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
        """From the noise of every key in turn; neighbouring equal values become one interval."""
        changes = np.flatnonzero(np.diff(np.asarray(noise, dtype=np.int64)))
        ends = [*(changes + 1).tolist(), len(noise)]
        return cls(tuple(int(noise[end - 1]) for end in ends), tuple(ends))

    @property
    def ascending(self) -> bool:
        """Whether a plain row says the same."""
        return all(a < b for a, b in pairwise(self.values))

    def law(self) -> NoiseRow:
        """The same noise with its keys in the order of the values: what is audited."""
        masses: dict[int, int] = {}
        for value, low, high in zip(self.values, (0, *self.thresholds), self.thresholds, strict=False):
            masses[value] = masses.get(value, 0) + high - low
        values = sorted(masses)
        thresholds = np.cumsum(np.array([masses[value] for value in values], dtype=object))
        return NoiseRow(tuple(values), tuple(int(threshold) for threshold in thresholds))

    def __repr__(self) -> str:
        return one_line(self, f"of {len(self.values)} values in the order of their keys")


@dataclass(frozen=True, repr=False)
class ArrangedTable(NoiseTable):
    """A noise table that is looked up in the order of its file."""

    arranged: tuple[ArrangedRow, ...] = ()

    def __post_init__(self) -> None:
        NoiseTable.__post_init__(self)
        if tuple(row.law() for row in self.arranged) != self.rows:
            raise BadNoiseTable("The arrangement of the keys does not have the law of the rows.")

    def __hash__(self) -> int:
        return hash((self.modulus, self.arranged, self.repeats, self.family))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.modulus, self.rows, self.repeats, self.family, dict(self.parameters), self.arranged)
        return (ArrangedTable, fields)

    @property
    def _looked_up(self) -> tuple[ArrangedRow, ...]:
        """Keys are looked up in the order of the file."""
        return self.arranged


def arranged_rows(table: NoiseTable) -> tuple[ArrangedRow, ...]:
    """Every row by rising key, whichever kind of table it is."""
    if isinstance(table, ArrangedTable):
        return table.arranged
    return tuple(ArrangedRow(row.values, row.thresholds) for row in table.rows)


def make_table(
    modulus: int, arranged: Sequence[ArrangedRow], *, repeats: int, family: str, parameters: Mapping[str, Any]
) -> NoiseTable:
    """A plain noise table where the values ascend with the keys, an arranged one where they do not."""
    laws = tuple(row.law() for row in arranged)
    if all(row.ascending for row in arranged):
        return NoiseTable(modulus, laws, repeats, family, parameters)
    return ArrangedTable(modulus, laws, repeats, family, parameters, tuple(arranged))
