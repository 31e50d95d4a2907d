"""Weighted tables: from perturbed sample counts to people represented, by the survey's declared form.

The form decides what is read: `cell-average` and `overall-average` move the exact weighted count with the
noise, `largest-weight` puts it on a grid of the largest weight, `average-weight` and `public-strata` use
noisy counts and public weights alone. Results are rounded to whole people, halves away from zero. Sampling
errors come from noisy counts and declared constants only: an exact one would give the count away. The noise
that they include is what the form really adds, in sample counts of the cell:

    cell-average, overall-average, average-weight: V        largest-weight: (V + 1/12)·(w_max/w̄)²
    public-strata: V·Σ w_h² / (average of w_h)², over the strata h in the cell

Comes from: `tabulate` and `perturb`. Goes to: `pipeline`, as plain integers that may be seen.
Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), 4.1; `adjust/weight_forms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.adjust.fixed_point import nearest_quotient
from discreet.adjust.private_weights import average_weight, public_strata
from discreet.adjust.sampling_error import noise_shares, relative_standard_errors, unreliable
from discreet.adjust.survey_design import SurveyDesign
from discreet.adjust.weight_forms import cautions, weight_form
from discreet.adjust.weights import cell_average, largest_weight, overall_average
from discreet.model.shape import Dimension, plain_outputs
from discreet.perturb.perturb import perturb
from discreet.tabulate.tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanism.noise_table import NoiseTable
    from discreet.model.dataset import Dataset
    from discreet.model.exact import ExactTable
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.model.survey import Survey
    from discreet.workspace.workspace import StoredDataset


@dataclass(frozen=True, slots=True)
class WeightedCells:
    """What is shown of a weighted table: whole people, their errors, the noise's share of these, doubtful cells."""

    values: NDArray[np.int64]
    errors: NDArray[np.int64]
    noise_shares: NDArray[np.int64]
    unreliable: NDArray[np.bool_]
    promise: tuple[str, ...]


def weighted_cells(
    stored: StoredDataset, survey: Survey, exact: ExactTable, noisy: NDArray[np.int64]
) -> WeightedCells:
    """The weighted table of a shape whose sample counts have been perturbed."""
    design = survey_design(stored.dataset, survey)
    fixed = _fixed_point(stored, survey, exact, noisy, design)
    axis, spreads = _noise_variances(stored, survey, exact.shape, design)
    form = weight_form(survey.form)

    def told(function: Callable[..., NDArray[Any]]) -> NDArray[Any]:
        if axis is None:
            return function(noisy, design, spreads[0])
        parts = [function(noisy.take(n, axis=axis), design, spread) for n, spread in enumerate(spreads)]
        return np.stack(parts, axis=axis)

    return WeightedCells(
        nearest_quotient(fixed, design.scale),
        told(relative_standard_errors),
        told(noise_shares),
        told(unreliable),
        (form.promise, *cautions(form, design)),
    )


def counted_by_strata(asked: TableRequest, dataset: Dataset) -> TableRequest:
    """The request that is counted: with the strata as layers, where people are weighted stratum by stratum."""
    survey = dataset.survey
    if asked.measure != "weighted" or survey is None or survey.form != "public-strata":
        return asked
    if survey.stratum is None or survey.stratum in asked.used:
        return asked
    return replace(asked, layers=(*asked.layers, survey.stratum))


def survey_design(dataset: Dataset, survey: Survey) -> SurveyDesign:
    """The declared constants in fixed point."""
    scale = 10**dataset.weight_decimals
    return SurveyDesign(
        survey.sample_size,
        round(survey.population_size * scale),
        dataset.weight_decimals,
        round(survey.largest_weight * scale),
        survey.relative_variance,
    )


def largest_variance(noise: NoiseTable) -> Fraction:
    """The variance of the noise where it is largest."""
    return max(row.variance() for row in noise.rows)


def _noise_variances(
    stored: StoredDataset, survey: Survey, shape: TableShape, design: SurveyDesign
) -> tuple[int | None, list[Fraction]]:
    """The variance of the noise in sample counts: one for all cells, or one a place along the strata's axis."""
    plain = largest_variance(stored.noise)
    if survey.form == "largest-weight":
        step = Fraction(design.largest_weight, design.scale) / design.average_weight
        # Rounding to the grid adds the variance of a uniform error of one step.
        return None, [(plain + Fraction(1, 12)) * step**2]
    if survey.form != "public-strata":
        return None, [plain]
    axis, shown = _shown_strata(stored, survey, shape)
    weights = dict(survey.stratum_weights)
    codes = stored.dataset.variable(str(survey.stratum)).codes
    inside = [[weights[codes[member]] for member in members] for members in shown]
    return axis, [
        # Where all strata are in a cell its average weight is public; of a few, their plain average stands in.
        plain
        * _strata_factor(
            few, design.average_weight if len(few) == len(codes) else sum(few, Fraction(0)) / len(few)
        )
        for few in inside
    ]


def _strata_factor(weights: list[Fraction], average: Fraction) -> Fraction:
    """Σ w² over the squared average weight: how many noises of one average person a cell's noises are."""
    return sum((weight**2 for weight in weights), Fraction(0)) / average**2


def _fixed_point(
    stored: StoredDataset,
    survey: Survey,
    exact: ExactTable,
    noisy: NDArray[np.int64],
    design: SurveyDesign,
) -> NDArray[np.int64]:
    if survey.form == "average-weight":
        return average_weight(noisy, design)
    if survey.form == "public-strata":
        return _by_strata(stored, survey, exact.shape, design)
    if exact.weight_sums is None:
        raise ValueError("a weighted table needs sums of weights")
    if survey.form == "largest-weight":
        return largest_weight(exact.weight_sums, noisy - exact.counts, design.largest_weight)
    by_average = cell_average if survey.form == "cell-average" else overall_average
    return by_average(noisy, exact.counts, exact.weight_sums, design)


def _by_strata(
    stored: StoredDataset, survey: Survey, shape: TableShape, design: SurveyDesign
) -> NDArray[np.int64]:
    """Perturb the sample counts stratum by stratum, then add them up with the strata's public weights."""
    dataset = stored.dataset
    stratum = dataset.variable(str(survey.stratum))
    axis, shown = _shown_strata(stored, survey, shape)
    everything = tuple(range(len(stratum)))
    strata = Dimension(
        stratum.name, stratum.label, plain_outputs(stratum), everything, stratum.codes, total=False
    )
    finer = replace(
        shape,
        dimensions=(*(d for d in shape.dimensions if d.name != stratum.name), strata),
        filters=tuple(f for f in shape.filters if f.name != stratum.name),
    )
    noisy = perturb(tabulate(stored.engine, finer), stored.cell_keys, stored.noise)
    weights = np.array([round(dict(survey.stratum_weights)[code] * design.scale) for code in stratum.codes])
    parts = [public_strata(noisy[..., list(members)], weights[list(members)]) for members in shown]
    return parts[0] if axis is None else np.stack(parts, axis=axis)


def _shown_strata(
    stored: StoredDataset, survey: Survey, shape: TableShape
) -> tuple[int | None, list[tuple[int, ...]]]:
    """The strata's axis, and which strata each place along it holds; without an axis, those of every cell."""
    stratum = stored.dataset.variable(str(survey.stratum))
    axis = next((n for n, d in enumerate(shape.dimensions) if d.name == stratum.name), None)
    hidden = {f.name: f.members for f in shape.filters}
    if axis is None:
        return None, [hidden.get(stratum.name, tuple(range(len(stratum))))]
    return axis, list(shape.dimensions[axis].members())
