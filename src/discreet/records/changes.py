"""The difference between two sets of stored records: added, removed, changed. For the custodian only.

Records are compared as multisets of rows (record key, codes, weight). A row on one side only is a change; a removed and
an added row with the same record key are one changed record:

    changed = sum over keys of min(removed rows, added rows);   the others were removed, or added.

Rows are read in parts by the codes of one variable, and only differing ones are kept, so memory does not grow with the
records.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.records.engine import AggregateQuery, Engine, SparseCells
from discreet.records.storage import RECORD_KEY, WEIGHT
from discreet.records.tabulate import sum_groups

#: Records compared at a time, about.
PART = 1_000_000


@dataclass(slots=True, eq=False, repr=False)
class Changes(Confidential):
    """The number of records added, removed and changed, and the variables that cannot be compared. Confidential."""

    added: int
    removed: int
    changed: int
    left_out: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """The number of records that differ."""
        return self.added + self.removed + self.changed


def count_changes(
    before: tuple[Dataset, Engine], after: tuple[Dataset, Engine], *, same_keys: bool
) -> Changes:
    """Compare two sets of records; without `same_keys` a person's record keys differ, and only contents are compared."""
    (old, engine_before), (new, engine_after) = before, after
    codes = {variable.name: variable.codes for variable in old.variables}
    shared = tuple(v.name for v in new.variables if codes.get(v.name) == v.codes)
    names = {variable.name for variable in (*old.variables, *new.variables)}
    left_out = tuple(sorted(names - set(shared)))
    if not shared:
        return Changes(0, 0, 0, left_out)
    split = max(shared, key=lambda name: len(new.variable(name)))
    weights = old.weight_column is not None and new.weight_column is not None
    columns = ((RECORD_KEY,) if same_keys else ()) + shared + ((WEIGHT,) if weights else ())
    removed, added = _differences(engine_before, engine_after, columns, split)
    both = 0
    if same_keys:  # removed rows with an added partner of the same key
        keys, counts = np.unique(removed, return_counts=True)
        others, more = np.unique(added, return_counts=True)
        _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
        both = int(np.minimum(counts[here], more[there]).sum())
    return Changes(len(added) - both, len(removed) - both, both, left_out)


def _differences(
    before: Engine, after: Engine, columns: tuple[str, ...], split: str
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """The first column of the rows on one side only, one entry per record: before, and after."""
    removed, added = [], []
    for codes in _parts(before, after, split):
        query = AggregateQuery(columns, ((split, codes),))
        here, there = before.aggregate(query), after.aggregate(query)
        rows = tuple(map(np.concatenate, zip(here.codes, there.codes, strict=True)))
        lengths = [int(column.max(initial=0)) + 1 for column in rows]
        more = np.concatenate([here.counts, -there.counts])
        found = sum_groups(SparseCells(rows, more, np.zeros(more.size, np.uint64)), lengths)
        removed.append(np.repeat(found.codes[0], np.maximum(found.counts, 0)))
        added.append(np.repeat(found.codes[0], np.maximum(-found.counts, 0)))
    return np.concatenate(removed), np.concatenate(added)


def _parts(before: Engine, after: Engine, split: str) -> Iterator[tuple[int, ...]]:
    """The codes of a variable in parts of about `PART` records per side."""
    sizes: dict[int, int] = {}
    for engine in (before, after):
        cells = engine.aggregate(AggregateQuery((split,)))
        for code, count in zip(cells.codes[0].tolist(), cells.counts.tolist(), strict=True):
            sizes[code] = sizes.get(code, 0) + count
    part, size = [], 0
    for code in sorted(sizes):
        part.append(code)
        size += sizes[code]
        if size >= 2 * PART:
            yield tuple(part)
            part, size = [], 0
    yield tuple(part or (0,))
