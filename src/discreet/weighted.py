"""Weighted tables: from perturbed sample counts to people represented, by the survey's declared form.

The form decides what is read: `cell-average` and `overall-average` move the exact weighted count with the
noise, `largest-weight` puts it on a grid of the largest weight, `average-weight` and `public-strata` use
noisy counts and public weights alone. Results are rounded to whole people, halves away from zero. Sampling
errors come from noisy counts and declared constants only: an exact one would give the count away.

Comes from: `tabulate` and `perturb`. Goes to: `pipeline`, as plain integers that may be seen.
Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), 4.1; `adjust/weight_forms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
    from fractions import Fraction

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
    spread = largest_variance(stored.noise)
    form = weight_form(survey.form)
    return WeightedCells(
        nearest_quotient(fixed, design.scale),
        relative_standard_errors(noisy, design, spread),
        noise_shares(noisy, design, spread),
        unreliable(noisy, design, spread),
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
    axis = next((n for n, d in enumerate(shape.dimensions) if d.name == stratum.name), None)
    hidden = {f.name: f.members for f in shape.filters}
    everything = tuple(range(len(stratum)))
    shown = [hidden.get(stratum.name, everything)] if axis is None else shape.dimensions[axis].members()
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
