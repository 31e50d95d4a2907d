"""What a reader concludes who allows for the noise: the noise-aware test, and V with the noise taken out.

The same functions as readers have (`inference`), on simulated releases before clipping, layer by layer;
statistics add up, and so do the means and variances of their law. Wide noise on a large table takes long, so
only as many releases are tested as the table's size allows: the number is said, and depends on sizes only.

Source: Rinott et al. (2018), section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.assess.two_way import MAIN_EFFECTS
from discreet.inference.association import strength
from discreet.inference.channel import WIDEST
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.noise_by_cell import by_cell
from discreet.inference.null_law import NullLaw, null_law
from discreet.inference.ratios import counts_behind, ratios
from discreet.model.noise_law import depends_on_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.assess.subject import Subject
    from discreet.noise.table import NoiseTable

    Floats = NDArray[np.float64]

#: Cells times width of the noise times releases that are tested: some seconds.
PATIENCE = 600_000
MOST_TESTED = 50


def releases_to_test(subject: Subject, noise: NoiseTable, reps: int) -> int:
    """How many of the releases are tested with the noise in the likelihood: all, some, or none."""
    if not subject.two_way or (depends_on_count(noise) and _width(noise) > WIDEST):
        return 0
    behind = counts_behind(by_cell(noise, subject.counts.shape[1:]))
    return min(reps, MOST_TESTED, PATIENCE // (subject.counts.size * behind))


def _width(noise: NoiseTable) -> int:
    return max(r.values[-1] for r in noise.rows) - min(r.values[0] for r in noise.rows) + 1


def aware_tests(
    released: NDArray[np.int64], possible: NDArray[np.bool_], noise: NoiseTable
) -> tuple[Floats, Floats]:
    """The noise-aware statistic and p-value of each release, laid out as releases x layers x rows x columns."""
    looked_at = by_cell(noise, possible.shape[1:])
    statistic, laws = np.zeros(len(released)), []
    for layer, cells in enumerate(possible):
        if cells.any():
            model = HierarchicalModel.of(MAIN_EFFECTS, cells.astype(np.float64))
            found = ratios(released[:, layer], looked_at, model)
            statistic = statistic + found.statistic
            laws.append(null_law(found, model, looked_at))
    return statistic, NullLaw.of_sum(laws).by_law(statistic)


def corrected_association(
    released: NDArray[np.int64], possible: NDArray[np.bool_], noise: NoiseTable
) -> Floats:
    """Cramer's V with the noise taken out, for tables of one layer without impossible cells.

    It is not a number for other tables, and where so few people were released that there is none.
    """
    if len(possible) > 1 or not possible.all():
        return np.full(len(released), np.nan)
    found = (strength(table[0], noise) for table in released)
    return np.array([np.nan if each is None else each.estimate for each in found])
