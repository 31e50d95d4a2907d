"""Small margins of large cubes, added up once and kept in memory while they fit.

A table by sex and age has some hundred cells, and the cube that covers it may have a million rows. The first such table
adds them up; every later one, under any filter on these variables, reads the margin. Only margins that are much smaller
than their cube are kept. Which are is known from the description, before anything is added up. What was not used longest
is forgotten first.

    bytes of a margin    at most its cells, times what a row takes

It is as confidential as the records, and it is bounded in bytes. It is never written.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from discreet.model.confidential import Confidential

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.records.cube import Cube
    from discreet.records.engine import AggregateQuery

    _Key = tuple[frozenset[str], bool, tuple[str, ...]]

#: Bytes of all margins of a version, at most.
MOST_BYTES = 16_000_000
#: One margin may take so much of it, and no more.
LARGEST_SHARE = 8
#: A cube has so many times the cells of a margin that is worth keeping.
GAIN = 4
#: Bytes of a code, a count or a sum, at most.
_NUMBER = 8


class MarginMemory(Confidential):
    """The margins of one version.

    Args:
        dataset: The description.
        most_bytes: Of all margins together.
    """

    def __init__(self, dataset: Dataset, most_bytes: int = MOST_BYTES) -> None:
        self._dataset, self._most_bytes = dataset, most_bytes
        self._kept: OrderedDict[_Key, tuple[int, Cube]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def of(self, cube: Cube, query: AggregateQuery) -> Cube:
        """The margin of a query, or the cube itself where that is as good."""
        cells = math.prod(len(self._dataset.variable(name)) for name in query.variables)
        size = cells * _NUMBER * (len(query.variables) + 3 + len(query.sums))
        if cells * GAIN > cube.rows or size * LARGEST_SHARE > self._most_bytes:
            return cube
        key = (query.variables, query.weights, query.sums)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        margin = cube.margin(query)
        with self._lock:
            self._keep(key, size, margin)
        return margin

    def _keep(self, key: _Key, size: int, margin: Cube) -> None:
        self.size += size - self._kept.pop(key, (0,))[0]
        self._kept[key] = size, margin
        while self.size > self._most_bytes:
            self.size -= self._kept.popitem(last=False)[1][0]
