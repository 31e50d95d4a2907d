from dataclasses import replace

import numpy as np
import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.inference.observed import MOST_CELLS, observed
from discreet.model.release import WITHHELD
from discreet.model.request import request_from_text
from discreet.noise import laplace

NOISE = laplace(epsilon=1.0, m=5)


def test_a_release_gives_noisy_cells_without_totals(town_workspace):
    request = request_from_text("town", rows=["age"], columns=["job"])
    release = release_table(town_workspace.stored("town"), request)
    shown = replace(release, values=np.zeros_like(release.values))
    found = observed(shown)
    assert (found.counts == release.noisy[:-1, :-1]).all()
    assert found.noise is release.law.table
    assert (~found.possible).sum() == 3


def test_withheld_cells_are_refused(town_workspace):
    request = request_from_text("town", rows=["sex"], columns=["age"])
    release = release_table(town_workspace.stored("town"), request)
    status = release.status.copy()
    status[0, 0] = WITHHELD
    with pytest.raises(BadRequest, match="withheld"):
        observed(replace(release, status=status))


def test_a_plain_array_needs_its_noise():
    with pytest.raises(BadRequest, match="noise"):
        observed([[1, 2]])


def test_too_many_cells_are_refused():
    with pytest.raises(BadRequest, match=f"{MOST_CELLS:,}"):
        observed(np.zeros(MOST_CELLS + 1, dtype=int), NOISE)
