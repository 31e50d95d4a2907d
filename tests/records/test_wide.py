"""The blocks of a wide table: every cell in which somebody is, once, with the sums of the dense way."""

import numpy as np
import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.records import wide
from discreet.records.tabulate import tabulate
from discreet.records.wide import wide_blocks

REQUESTS = {
    "totals": {"rows": ["area", "sex", "age", "job"]},
    "none": {"rows": ["area", "job"], "totals": False},
    "levels": {"rows": ["area", "age"], "levels": ["area=region,area"]},
    "people in no group": {"rows": ["job", "sex"], "groups": ["job=1+2"]},
    "filters": {"rows": ["area", "age"], "filters": ["age=adult", "region=S", "sex=2"]},
}


@pytest.mark.parametrize("at_once", [wide.AT_ONCE, 40, 1])
@pytest.mark.parametrize("name", REQUESTS)
def test_blocks_hold_the_cells_of_the_dense_table(town, town_workspace, monkeypatch, name, at_once):
    monkeypatch.setattr(wide, "AT_ONCE", at_once)
    dataset = parse_dataset(town.description)
    shape = table_shape(canonical(request_from_text("town", **REQUESTS[name]), dataset), dataset)
    exact = tabulate(town_workspace.stored("town").engine, shape)
    counts, keys = np.zeros(shape.cells, dtype=np.int64), np.zeros(shape.cells, dtype=np.uint64)
    blocks = list(wide_blocks(town_workspace.stored("town").engine, shape))
    for block in blocks:
        places = block.codes[0]
        assert (np.diff(places) > 0).all(), "ascending, each once"
        assert not counts[places].any(), "no cell is in two blocks"
        counts[places], keys[places] = block.counts, block.key_sums
    assert (counts.reshape(shape.lengths) == exact.counts).all()
    assert (keys.reshape(shape.lengths) == exact.key_sums).all()


def test_one_aggregate_is_enough(town, town_workspace, monkeypatch):
    """The wrong alternative: to ask the engine for each of the 16 blocks."""
    dataset, engine = parse_dataset(town.description), town_workspace.stored("town").engine
    shape = table_shape(canonical(request_from_text("town", **REQUESTS["totals"]), dataset), dataset)
    asked, aggregate = [], engine.aggregate
    monkeypatch.setattr(engine, "aggregate", lambda query: asked.append(query) or aggregate(query))
    assert len(list(wide_blocks(engine, shape))) == 16
    assert len(asked) == 2, "how many records there are, and the groups"
    monkeypatch.setattr(wide, "AT_ONCE", 40)
    sizes = []
    monkeypatch.setattr(engine, "aggregate", lambda query: sizes.append(aggregate(query)) or sizes[-1])
    list(wide_blocks(engine, shape))
    assert max(cells.counts.size for cells in sizes) <= 40, "no more groups at once than may be"
