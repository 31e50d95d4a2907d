"""Whatever holds true counts refuses every way out, whichever class it is."""

import copy
import json
import pickle

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
    texts = (
        repr(secret_cells),
        str(secret_cells),
        f"{secret_cells}",
        f"{secret_cells!r:>80}",
        f"{secret_cells:s}",
    )
    for text in (*texts, repr([secret_cells]), ascii(secret_cells)):
        assert "confidential" in text
        assert str(CANARY) not in text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_cannot_be_pickled(secret_cells, protocol):
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(secret_cells, protocol)
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps({"deep": [secret_cells]}, protocol)


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda cells: cells.__getstate__()])
def test_it_cannot_be_copied(secret_cells, take):
    with pytest.raises(TypeError, match="confidential"):
        take(secret_cells)


def test_it_has_no_other_way_out(secret_cells):
    for way in (json.dumps, vars, iter, len, bytes):
        with pytest.raises(TypeError):
            way(secret_cells)
    assert not hasattr(secret_cells, "__array__")
    assert not hasattr(secret_cells, "__dict__")


def test_what_noise_is_put_on_is_a_copy_or_takes_the_counts_away(town):
    """Wrong alternative: a table that keeps the array that noise is put on would tell noisy counts as exact ones."""
    exact = exact_table(town)
    copied = exact.start(in_place=False)
    copied[:] = 0
    assert (exact.counts == CANARY).all()
    counts = exact.counts
    assert exact.start(in_place=True) is counts
    assert exact.counts.size == 0


def test_arrays_of_another_shape_are_refused(town):
    exact = exact_table(town)
    with pytest.raises(ValueError, match="shape"):
        ExactTable(exact.shape, exact.counts[:1], exact.key_sums)
