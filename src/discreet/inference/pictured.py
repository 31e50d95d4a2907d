"""A release with what its picture needs: how sure each number is that will be drawn.

Of counts the interval of every cell (`cell_targets.every_interval`); of percentages that of every percentage
(`viewed.percent_limits`). Numbers that were made to add up have noise of no law that is known, and so no limits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.cell_targets import every_interval
from discreet.inference.viewed import both_level, percent_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.picture import Limits, Picture
    from discreet.model.release import Release

    Known = Callable[[Release, float], Limits]


def pictured(release: Release, picture: Picture, known: Known = every_interval) -> Release:
    """The release with a picture, limits included where a law is known.

    Args:
        release: With its view.
        picture: What is drawn.
        known: Who knows the limits of counts: the law of the release, or the server that it is from.

    Raises:
        BadRequest: The level is no chance.
    """
    both_level(picture.level)
    return replace(release, picture=replace(picture, limits=_limits(release, picture.level, known)))


def _limits(release: Release, level: float, known: Known) -> Limits | None:
    """The limits of what is drawn; None where no law is known."""
    additivity = release.request.additivity or release.dataset.protection.additivity
    if additivity != "independent" or not (release.measure.has_errors or release.measure.is_count):
        return None
    try:
        if not release.view.percent:
            return known(release, level)
        low, high = known(release, both_level(level))
        return percent_limits(release, (low.astype(np.int64), high.astype(np.int64)))
    except BadRequest:  # a law too wide for inference
        return None
