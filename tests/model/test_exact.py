import copy
import json
import pickle

import numpy as np
import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest
from discreet.model.shape import table_shape

CANARY = 738_251


@pytest.fixture
def exact(town):
    shape = table_shape(TableRequest("town", ("sex",), ("age",)), parse_dataset(town.description))
    counts = np.full(shape.lengths, CANARY, dtype=np.int64)
    return ExactTable(shape, counts, counts.astype(np.uint64))


def test_an_exact_table_shows_its_shape_and_never_a_count(exact):
    for text in (repr(exact), str(exact), f"{exact}", f"{exact!r:>80}"):
        assert "confidential" in text
        assert str(CANARY) not in text


@pytest.mark.parametrize("send", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_exact_table_cannot_be_pickled_or_copied(exact, send):
    with pytest.raises(TypeError, match="confidential"):
        send(exact)


def test_an_exact_table_has_no_other_way_out(exact):
    with pytest.raises(TypeError):
        json.dumps(exact)
    with pytest.raises(TypeError):
        vars(exact)
    with pytest.raises(TypeError):
        iter(exact)
    assert np.asarray(exact).dtype == object
    assert not hasattr(exact, "__array__")


def test_what_noise_is_put_on_is_a_copy_or_takes_the_counts_away(exact):
    """Wrong alternative: a table that keeps the array that noise is put on would tell noisy counts as exact ones."""
    copied = exact.start(spend=False)
    copied[:] = 0
    assert (exact.counts == CANARY).all()
    counts = exact.counts
    assert exact.start(spend=True) is counts
    assert exact.counts.size == 0


def test_arrays_of_another_shape_are_refused(exact):
    with pytest.raises(ValueError, match="shape"):
        ExactTable(exact.shape, exact.counts[:1], exact.key_sums)
