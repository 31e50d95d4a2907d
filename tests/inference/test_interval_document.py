import json

import pytest

from discreet.answer.pipeline import release_table
from discreet.inference import interval_document
from discreet.inference.cell_targets import every_interval
from discreet.inference.intervals import Interval
from discreet.model.request import request_from_text


@pytest.fixture
def release(town_workspace):
    return release_table(
        town_workspace.stored("town"), request_from_text("town", rows=["sex"], columns=["age"])
    )


def test_the_pieces_of_all_intervals_are_the_document(release, monkeypatch):
    """Block by block, with a last one that is shorter, and all at once."""
    whole = json.dumps(interval_document.every_document(release, 0.9)).encode()
    for cells in (release.cells, 4, 1):
        monkeypatch.setattr(interval_document, "CELLS_AT_ONCE", cells)
        pieces = list(interval_document.every_piece(release, 0.9))
        assert b"".join(pieces) == whole
        assert len(pieces) == 2 + -(-release.cells // cells)


def test_a_document_tells_limits_that_are_known(release):
    known = every_interval(release, 0.9)
    assert interval_document.limits_document(release, known, 0.9) == interval_document.every_document(
        release, 0.9
    )


def test_an_end_without_a_limit_is_null():
    found = interval_document.interval_document(Interval(3.0, 0.0, float("inf"), 0.95))
    assert found == {"estimate": 3.0, "low": 0.0, "high": None, "level": 0.95}
