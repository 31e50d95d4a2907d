from dataclasses import replace

import numpy as np
import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.inference import cell_targets
from discreet.inference.cell_targets import (
    cell_codes,
    every_document,
    every_interval,
    interval_document,
    interval_of,
)
from discreet.inference.intervals import Interval
from discreet.model.release import NOT_APPLICABLE, WITHHELD
from discreet.model.request import request_from_text


@pytest.fixture
def release(town_workspace):
    asked = request_from_text("town", rows=["sex"], columns=["age"])
    return release_table(town_workspace.stored("town"), asked)


def with_status(release, place, status):
    changed = release.status.copy()
    changed[place] = status
    return replace(release, status=changed)


def test_a_variable_that_is_not_named_means_its_total(release):
    assert cell_codes(release, "sex=1") == cell_codes(release, {"sex": "1"}) == ("1", "_T")
    assert cell_codes(release, {}) == ("_T", "_T")
    assert cell_codes(release, ["1", "_T"]) == ("1", "_T")


def test_every_interval_is_that_of_its_cell(release):
    low, high = every_interval(release, 0.9)
    for place in np.ndindex(release.noisy.shape):
        codes = [d.codes[at] for d, at in zip(release.dimensions, place, strict=True)]
        found = interval_of(release, [codes], level=0.9)
        assert (low[place], high[place]) == (found.low, found.high)


def test_each_law_and_count_is_worked_out_once(release, monkeypatch):
    """A table of 100,000 cells takes as long as its distinct counts do: one call for a law."""
    calls = []
    own = cell_targets.cell_intervals
    monkeypatch.setattr(cell_targets, "cell_intervals", lambda *given: calls.append(1) or own(*given))
    every_interval(release)
    assert len(calls) <= len(release.law.laws)


def test_withheld_cells_are_refused_and_cells_that_cannot_occur_are_zero(release):
    hidden = with_status(release, (0, 0), WITHHELD)
    cell = [d.codes[0] for d in release.dimensions]
    with pytest.raises(BadRequest, match="withheld"):
        interval_of(hidden, [cell])
    assert every_interval(hidden)[0][0, 0] == -1
    assert every_document(hidden)["cells"][0] == {"codes": cell, "value": None, "low": None, "high": None}
    empty = with_status(release, (0, 0), NOT_APPLICABLE)
    found = interval_of(empty, [cell])
    assert (found.estimate, found.low, found.high) == (0, 0, 0)
    assert every_interval(empty)[1][0, 0] == 0


def test_a_share_takes_its_parts_or_a_total_with_noise_of_its_own(release):
    parts = interval_of(release, ["sex=1"], of=["sex=1", "sex=2"])
    total = interval_of(release, ["sex=1"], of=[{}])
    for found in (parts, total):
        assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert parts != total


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cells": []}, "No cell"),
        ({"cells": ["sex=1"], "of": ["sex=1"]}, "part is the whole"),
        ({"cells": ["sex=1"], "of": ["sex=2", "sex=_T"]}, "not among"),
        ({"cells": ["sex=1"], "of": ["sex=2"]}, "does not lie in the whole"),
        ({"cells": ["sex=1", {}]}, "share people"),
        ({"cells": ["sex=1,sex=2"]}, "cannot be read"),
    ],
)
def test_what_has_no_interval_is_refused(release, given, words):
    with pytest.raises(BadRequest, match=words):
        interval_of(release, **given)


def test_an_end_without_limit_is_null():
    assert interval_document(Interval(2.0, 1.0, float("inf"), 0.9))["high"] is None
