"""The limits of what is drawn: of counts, of percentages, or none where no law is known."""

import numpy as np
import pytest

import discreet
from discreet.errors import BadRequest
from discreet.inference.cell_targets import every_interval
from discreet.inference.pictured import pictured
from discreet.inference.viewed import both_level, percent_limits, viewed
from discreet.model.picture import Picture
from discreet.model.view import View


@pytest.fixture(scope="module")
def ask(town_workspace):
    with discreet.open(town_workspace.folder) as catalogue:
        yield lambda **asked: catalogue.table("town", rows="age", columns="sex", **asked).release


def same(found, expected):
    return all(
        np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in zip(found, expected, strict=True)
    )


def test_counts_have_the_limits_of_their_cells_at_the_level(ask):
    release = ask()
    found = pictured(release, Picture(level=0.8)).picture.limits
    assert same(found, every_interval(release, 0.8))
    assert not same(found, every_interval(release, 0.99))


def test_percentages_have_limits_of_their_own(ask):
    """Wrong alternative: the limits of the counts, beside percentages."""
    release = viewed(ask(), View(percent="row"))
    found = pictured(release, Picture()).picture.limits
    assert same(found, percent_limits(release, every_interval(release, both_level(0.95))))
    assert not same(found, every_interval(release))


def test_numbers_that_were_made_to_add_up_have_none(ask):
    assert pictured(ask(additivity="fitted"), Picture()).picture.limits is None


def test_a_level_is_a_chance(ask):
    with pytest.raises(BadRequest, match="The level is 1"):
        pictured(ask(), Picture(level=1))
