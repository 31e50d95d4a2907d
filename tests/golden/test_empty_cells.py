"""Keys of empty cells: golden integers."""

import numpy as np
import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.protect.cell_keys import EmptyCells


@pytest.mark.parametrize("modulus", [2**64, 2**32, 10**8])
def test_keys_of_empty_cells(golden, secret, town, modulus):
    dataset = parse_dataset(town.description)
    request = request_from_text("town", rows=["age"], columns=["sex"], filters=["job=2,0"])
    shape = table_shape(canonical(request, dataset), dataset)
    keys = EmptyCells(secret, dataset, modulus).keys(shape, np.arange(shape.cells))
    golden.check(f"empty cells {modulus}", keys.tolist())
