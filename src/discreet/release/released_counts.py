"""The released counts that the errors of a weighted table are made of: of its categories, and of their pairs.

They are the numbers of the tables that anyone may ask for: the same people have the same noise (cell keys), or the same
description has (`dp`).
"""

from __future__ import annotations

import numpy as np

from discreet.model.shape import Dimension, TableShape
from discreet.release.checked_request import CheckedRequest, unlock
from discreet.release.verdicts import count_cells
from discreet.survey.generalised import Floats
from discreet.survey.table_errors import Counts, in_strata


def released_counts(question: CheckedRequest, strata: Dimension | None, per_step: float) -> Counts:
    """Released counts of some variables of a request, without its filters.

    Args:
        question: The request.
        strata: The variable of the strata if the form counts by stratum, with all its categories and no total.
        per_step: Records of average weight in one step of `largest-weight`; else 1.
    """

    def counts(*dimensions: Dimension) -> Floats:
        stored, protector = unlock(question)
        own = tuple(d for d in dimensions if strata is None or d.name != strata.name)
        shape = TableShape(own if strata is None else (*own, strata))
        cells = protector.stored(shape) or protector.protect(count_cells(stored, shape))
        noisy = cells.noisy * per_step
        return np.asarray(noisy[..., None] if strata is None else in_strata(noisy, dimensions, strata.name))

    return counts
