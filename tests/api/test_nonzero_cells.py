"""Cells that are not 0, in Python."""

import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadRequest


@pytest.fixture
def catalogue(town_workspace):
    return discreet.open(town_workspace.folder)


def test_batches_and_files_hold_the_cells_of_the_table(catalogue, tmp_path):
    asked = {"rows": "age", "columns": ["job", "sex"]}
    whole = catalogue.table("town", **asked).to_pandas()
    kept = whole[whole["value"].fillna(0) != 0]
    found = catalogue.nonzero("town", **asked)
    assert "by age" in found.title
    assert any("is not listed" in note for note in found.notes)
    assert pa.Table.from_batches(found.batches()).num_rows == len(kept)
    catalogue.nonzero("town", **asked).save(tmp_path / "cells.csv")
    assert len((tmp_path / "cells.csv").read_text().splitlines()) == len(kept) + 1
    with pytest.raises(BadRequest, match="needs all cells"):
        catalogue.nonzero("town", **asked).save(tmp_path / "cells.json")
    assert "NonzeroCells" in repr(found)
