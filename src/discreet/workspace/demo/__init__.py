"""Demo data made from a seed: two censuses of Halvern and the potato survey of Spudlandia.

All are synthetic: invented people in invented places, with dependence that looks real. A demo is the text
of its `dataset.toml` and the batches of its records, so that it is loaded like any other dataset.

Source: Rinott et al. (2018), section 3; Bailie (2020), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from discreet.workspace.demo.census import (
    DP_ROWS,
    ROWS,
    SEED,
    census_batches,
    census_description,
    dp_census_batches,
    dp_census_description,
)
from discreet.workspace.demo.geography import census_boundaries
from discreet.workspace.demo.spudlandia import SAMPLE, spudlandia_batches, spudlandia_description

if TYPE_CHECKING:
    import pyarrow as pa


__all__ = [
    "DEMOS",
    "Demo",
    "census_batches",
    "census_description",
    "dp_census_batches",
    "dp_census_description",
    "spudlandia_batches",
    "spudlandia_description",
]


class Demo(NamedTuple):
    """How a demo dataset is made: its description, its records, how many they are by default, and its boundaries."""

    description: Callable[..., str]
    batches: Callable[..., Iterator[pa.RecordBatch]]
    rows: int
    #: The content of each file that the description names for a variable.
    boundaries: Callable[[], dict[str, bytes]] = dict


DEMOS = MappingProxyType(
    {
        "census": Demo(
            partial(census_description, mapped=True),
            census_batches,
            ROWS,
            partial(census_boundaries, ROWS, seed=SEED),
        ),
        "census-dp": Demo(
            partial(dp_census_description, mapped=True),
            dp_census_batches,
            DP_ROWS,
            partial(census_boundaries, DP_ROWS, seed=SEED),
        ),
        "spudlandia": Demo(spudlandia_description, spudlandia_batches, SAMPLE),
    }
)
