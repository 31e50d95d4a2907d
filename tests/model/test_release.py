"""A release cannot be changed, has arrays of one shape, and gives no number where none is released."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.answer.pipeline import release_table
from discreet.model.release import NOT_APPLICABLE, WITHHELD, filter_in_words
from discreet.model.request import request_from_text


@pytest.fixture(scope="module")
def release(town_workspace):
    request = request_from_text("town", rows=["sex"], columns=["age"], filters=["job=0,1"])
    return release_table(town_workspace.stored("town"), request)


def test_a_release_cannot_be_written_to(release):
    with pytest.raises(ValueError, match="read-only"):
        release.values[0, 0] = 1


def test_arrays_of_another_shape_or_kind_are_refused(release):
    with pytest.raises(ValueError, match="must have its shape"):
        replace(release, status=release.status[:1])
    with pytest.raises(ValueError, match="must have its shape"):
        replace(release, errors=np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="int64 or float64"):
        replace(release, values=release.values.astype(np.int32))


@pytest.mark.parametrize("status", [WITHHELD, NOT_APPLICABLE])
def test_a_cell_that_is_not_released_has_no_value(release, status):
    marked = release.status.copy()
    marked[0, 1] = status
    changed = replace(release, status=marked)
    assert changed.value("1", "adult") is None
    assert changed.value("2", "adult") == release.values[1, 1]
    assert changed.missing.sum() == release.missing.sum() + 1


def test_the_title_says_what_is_counted_by_what_and_of_whom(release):
    assert release.title == "Persons by sex and age (only Job: None, Farm)"
    words = filter_in_words(release.dataset, "job", ("0", "1", "2"), 2)
    assert words == "Job: None, Farm and 1 more"
