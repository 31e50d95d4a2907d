"""A toy engine: the staged Arrow file itself, counted by NumPy. It is registered here and nowhere else."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records import engine as engines
from discreet.records.engine import EngineKind, SparseCells
from discreet.records.storage import RECORD_KEY, WEIGHT

RECORDS, TAG = "records.arrow", "tag"


class ToyEngine:
    """All columns in memory; every aggregate is one `np.unique`."""

    def __init__(self, path):
        try:
            self.records = pa.ipc.open_file(path).read_all()
            self.tag = path.with_name(TAG).read_text()
        except (OSError, pa.ArrowException):
            raise WorkspaceUnusable("The toy is broken.", "Load the dataset again.") from None

    def aggregate(self, query):
        keep = np.ones(len(self.records), dtype=bool)
        for name, codes in query.filters:
            keep &= np.isin(self._column(name), codes)
        grouped = np.stack([self._column(name)[keep] for name in query.group_by])
        groups, place, counts = np.unique(grouped, axis=1, return_inverse=True, return_counts=True)
        weights = self._sums(WEIGHT, keep, place, counts.size, np.int64) if query.weights else None
        keys = self._sums(RECORD_KEY, keep, place, counts.size, np.uint64)
        sums = tuple(self._sums(name, keep, place, counts.size, np.int64) for name in query.sums)
        return SparseCells(tuple(groups), counts.astype(np.int64), keys, weights, sums)

    def sound(self):
        return True

    def close(self):
        self.records = None

    def _column(self, name):
        return self.records[name].to_numpy()

    def _sums(self, name, keep, place, groups, kind):
        sums = np.zeros(groups, dtype=kind)
        np.add.at(sums, place.ravel(), self._column(name)[keep].astype(kind))
        return sums


def _store(staged, _dataset, folder, tag):
    shutil.copy(staged, folder / RECORDS)
    (folder / TAG).write_text(tag)


TOY = EngineKind(
    "toy", "NumPy, for tests", _store, lambda folder, _dataset, _threads: ToyEngine(folder / RECORDS)
)


@pytest.fixture(scope="module")
def toy():
    """The toy engine, registered for one module."""
    engines.engine_kinds()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines._REGISTRY, "_members", dict(engines._REGISTRY._members))
        engines.register(TOY)
        yield TOY
