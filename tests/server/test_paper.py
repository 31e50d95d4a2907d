"""Blocks of columns for paper."""

from itertools import chain

import pytest

from discreet.answer.pipeline import release_table
from discreet.model.request import request_from_text
from discreet.server.grid import Layout
from discreet.server.paper import SHEET_COLUMNS, column_blocks, sheets


@pytest.mark.parametrize("columns", [["district"], ["job", "age"], ["origin", "district"], ["sex"], []])
def test_every_column_stands_on_one_sheet_and_small_groups_stay_together(small_workspace, columns):
    """Wrong: to cut after every eighth column, through the middle of a group."""
    request = request_from_text("people", rows=["region"], columns=columns)
    layout = Layout(release_table(small_workspace.stored("people"), request))
    blocks = column_blocks(layout)
    assert list(chain(*blocks)) == list(range(layout.lengths[1]))
    assert max(map(len, blocks)) <= SHEET_COLUMNS
    inner = layout.axes[1][-1].length if columns else 1
    if inner <= SHEET_COLUMNS:
        assert {block.start % inner for block in blocks} == {0}
    assert [sheet.width for sheet in sheets(layout)] == [len(block) for block in blocks]
