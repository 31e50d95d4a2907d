"""Rules see noisy counts of whole tables and nothing else."""

import numpy as np
import pytest

from discreet.model.exact import ExactTable
from discreet.rules.noisy_table import NoisyTable, slices_of


def test_an_exact_table_is_not_shown_to_rules(ask):
    _, shape = ask(rows=["sex"])
    counts = np.zeros(shape.lengths, dtype=np.int64)
    exact = ExactTable(shape, counts, counts.astype(np.uint64))
    nothing = np.zeros(shape.lengths, dtype=np.bool_)
    with pytest.raises(TypeError, match="nothing exact"):
        NoisyTable(shape, exact, nothing)
    with pytest.raises(TypeError, match="int64"):
        NoisyTable(shape, counts.astype(float), nothing)
    with pytest.raises(ValueError, match="its shape"):
        NoisyTable(shape, counts[:-1], nothing[:-1])
    assert repr(NoisyTable(shape, counts, nothing)) == "<NoisyTable of 3 cells>"


def test_a_filtered_table_is_not_shown_to_rules(ask):
    for parts in ({"rows": ["sex"], "filters": ["age=old"]}, {"rows": ["sex"], "totals": False}):
        _, shape = ask(**parts)
        zeros = np.zeros(shape.lengths, dtype=np.int64)
        with pytest.raises(ValueError, match="unfiltered"):
            NoisyTable(shape, zeros, zeros.astype(bool))


def test_two_levels_of_one_geography_is_not_shown_to_rules(ask, dataset):
    _, shape = ask(rows=["region"], columns=["area"])
    zeros = np.zeros(shape.lengths, dtype=np.int64)
    with pytest.raises(ValueError, match="finest"):
        slices_of(NoisyTable(shape, zeros, zeros.astype(bool)), dataset)
