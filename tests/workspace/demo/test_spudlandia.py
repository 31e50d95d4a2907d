from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from discreet.workspace.demo import spudlandia_batches

if TYPE_CHECKING:
    import pandas as pd


@cache
def respondents() -> pd.DataFrame:
    return pa.Table.from_batches(list(spudlandia_batches())).to_pandas()


def fixed_point(weights) -> np.ndarray:
    return np.rint(np.asarray(weights) * 10_000).astype(np.int64)


@pytest.mark.parametrize("seed", [1500, 0, 1, 99])
def test_weights_have_four_decimals_and_add_up_to_the_population_exactly(seed):
    weights = next(spudlandia_batches(seed=seed)).column("weight").to_numpy()
    whole = fixed_point(weights)
    assert len(weights) == 1_500
    assert int(whole.sum()) == 1_000_000 * 10_000
    assert np.array_equal(whole / 10_000, weights)
    assert (weights > 0).all()


def test_the_default_seed_gives_the_answers_it_has_always_given():
    frame = respondents()
    text = frame.assign(weight=fixed_point(frame["weight"])).to_csv(index=False, lineterminator="\n")
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "fd56d7acde735a8d01ae91931aa2a4d2a6c4b157ff7c8a429f2e5a1a510c2d3c"
    )
