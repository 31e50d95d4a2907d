"""Whatever holds true counts refuses every way out, whichever class it is."""

import copy
import json
import pickle
from functools import partial

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest
from discreet.model.shape import table_shape
from discreet.records.engine import SparseCells

CANARY = 738_251


def sparse_cells(_town):
    counts = np.full(4, CANARY, dtype=np.int64)
    return SparseCells((counts, counts), counts, counts.astype(np.uint64), counts)


def exact_table(town):
    shape = table_shape(TableRequest("town", ("sex",), ("age",)), parse_dataset(town.description))
    counts = np.full(shape.lengths, CANARY, dtype=np.int64)
    return ExactTable(shape, counts, counts.astype(np.uint64))


@pytest.fixture(params=[sparse_cells, exact_table], ids=lambda make: make.__name__)
def secret_cells(request, town):
    return request.param(town)


def test_every_text_of_it_says_confidential_and_no_count(secret_cells):
    texts = (repr(secret_cells), str(secret_cells), repr([secret_cells]), ascii(secret_cells))
    for text in (*texts, f"{secret_cells}", f"{secret_cells!r:>80}", f"{secret_cells:s}"):
        assert "confidential" in text
        assert str(CANARY) not in text


def test_it_cannot_be_pickled_copied_or_sent_in_any_way(secret_cells):
    takes = [copy.copy, copy.deepcopy, lambda cells: cells.__getstate__()]
    takes += [partial(pickle.dumps, protocol=number) for number in range(pickle.HIGHEST_PROTOCOL + 1)]
    for take in (*takes, lambda cells: pickle.dumps({"deep": [cells]})):
        with pytest.raises(TypeError, match="confidential"):
            take(secret_cells)
    for way in (json.dumps, vars, iter, len, bytes):
        with pytest.raises(TypeError):
            way(secret_cells)
    assert not hasattr(secret_cells, "__array__")
    assert not hasattr(secret_cells, "__dict__")


def test_noise_is_put_on_a_copy_or_takes_the_counts_away_and_arrays_have_the_shape(town):
    """Wrong alternative: a table that keeps the array that noise is put on would tell noisy counts as exact ones."""
    exact = exact_table(town)
    copied = exact.start(in_place=False)
    copied[:] = 0
    assert (exact.counts == CANARY).all()
    counts = exact.counts
    assert exact.start(in_place=True) is counts
    assert exact.counts.size == 0
    with pytest.raises(ValueError, match="shape"):
        ExactTable(exact.shape, counts[:1], exact.key_sums)
