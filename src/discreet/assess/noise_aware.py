"""What a reader concludes who allows for the noise: the noise-aware test, and V with the noise taken out.

The same functions as readers have (`inference`), on simulated releases before clipping, layer by layer;
statistics and degrees of freedom add up. Wide noise on a large table takes long, so only as many releases
are tested as the table's size allows: the number is said, and depends on sizes only.

Comes from: simulated releases and their noise table. Goes to: `simulate`.
Source: Rinott et al. (2018), section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.assess.two_way import MAIN_EFFECTS
from discreet.inference.association import strength
from discreet.inference.channel import WIDEST
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.likelihood_ratio import chi_square
from discreet.inference.log_linear import ratios

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
    width = max(r.values[-1] for r in noise.rows) - min(r.values[0] for r in noise.rows) + 1
    if not subject.two_way or width > WIDEST:
        return 0
    return min(reps, MOST_TESTED, PATIENCE // (subject.counts.size * width))


def aware_tests(
    released: NDArray[np.int64], possible: NDArray[np.bool_], noise: NoiseTable
) -> tuple[Floats, Floats]:
    """The noise-aware statistic and p-value of each release, laid out as releases x layers x rows x columns."""
    statistic, df = np.zeros(len(released)), np.zeros(len(released), dtype=np.int64)
    for layer, cells in enumerate(possible):
        if cells.any():
            model = HierarchicalModel.of(MAIN_EFFECTS, cells.astype(np.float64))
            found = ratios(released[:, layer], noise, model)
            statistic, df = statistic + found.statistic, df + found.df
    return statistic, chi_square(statistic, df)


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
