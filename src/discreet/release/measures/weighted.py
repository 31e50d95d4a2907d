"""The measure `weighted`: people represented, from noisy sample counts, by the survey's declared form.

Every form is a function of noisy counts and public weights: `average-weight` and `public-strata` of the noisy counts of
records, `largest-weight` of the noisy counts of its steps (`release/verdicts.py`). Results are rounded to whole people,
halves away from zero.

Each number has a relative standard error, of sampling and noise together (`survey/sampling_error.py`). The sampling part is
the cell's design effect over its noisy count. The design effect follows from declared constants and noisy counts under `dp`,
for `largest-weight` and for strata with public weights; else from the exact weights. The noise part is, in people squared,

    average-weight, invariant: V·w̄²
    largest-weight: (V + 1/12)·w_max²     public-strata: V·Σ w_h², over the strata h in the cell

Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), 4.1; `survey/weight_forms.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.messages.text import message
from discreet.model.request import Measure, TableRequest
from discreet.model.shape import Dimension, table_shape
from discreet.model.survey import GENERALISED, Survey
from discreet.protect.protector import NoisyCells
from discreet.records.engine import Engine
from discreet.records.storage import SQUARES, join_squares, replicate_names, square_decimals, sum_columns
from discreet.records.tabulate import tabulate
from discreet.release.checked_request import CheckedRequest, unlock
from discreet.release.measures import MeasureKind, MeasureValues, Places, ShowCells
from discreet.release.released_counts import released_counts
from discreet.survey import variance
from discreet.survey.dp_weights import average_weight, public_strata
from discreet.survey.generalised import TableErrors
from discreet.survey.sampling_error import kish_effects, relative_errors, unreliable
from discreet.survey.table_errors import build_errors
from discreet.survey.weight_forms import SurveyDesign, cautions, nearest_quotient, times_ratio, weight_form

#: Cells of a pair of variables, whose released counts the errors of a list of cells need in memory.
MOST_PAIRS = 4_000_000


def in_people(fixed: NDArray[np.int64], dataset: Dataset) -> NDArray[np.float64]:
    """Fixed-point sums of weights in people."""
    return fixed / float(10**dataset.weight_decimals)


def design_variances(exact: ExactTable, engine: Engine, dataset: Dataset) -> NDArray[np.float64]:
    """The variance of the weighted count of every cell, in people squared. Secret.

    Without strata and clusters, and with replicate weights, all sums come from the pass that counted the table. Strata and
    clusters need the sample unit by unit, which is a second aggregate.
    """
    survey = dataset.survey
    if survey is None or exact.weight_sums is None:
        raise ValueError("sampling errors need a survey and its weights")
    design, totals = survey.design, in_people(exact.weight_sums, dataset)
    if design.replicates:
        columns = (in_people(exact.sum_of(name), dataset) for name in replicate_names(design))
        return variance.replicate_variance(totals, columns, design)
    if design.grouped:
        rows = variance.sample_rows(engine, exact.shape, dataset)
        return variance.cell_variances(rows.by_cell(), rows.units, design, exact.shape.lengths)
    high, low = (exact.sum_of(name) for name in SQUARES)
    squares = join_squares(high, low, square_decimals(dataset))
    return np.asarray(
        variance.stratum_variance(totals, squares, survey.sample_size, variance.fractions(design, 1)[0])
    )


def _show(question: CheckedRequest, exact: ExactTable | None, cells: NoisyCells) -> MeasureValues:
    survey = _survey_of(question.dataset)
    design = survey_design(question.dataset, survey)
    strata = _by_strata(question, survey) if survey.form == "public-strata" else None
    fixed = _estimates(survey, cells.noisy, strata, design)
    people, promise = nearest_quotient(fixed, design.scale), _promise(survey, design)
    if survey.errors == GENERALISED:
        return _with_errors(people, promise, _table_errors(question, survey, cells, strata))
    noisy = _sample_counts(survey, cells.noisy, design)
    effects = _effects(question, exact, replace(cells, noisy=noisy), strata, design)
    told = relative_errors(noisy, people, effects, _noise_in_people(survey, cells, strata, design))
    promise += () if _errors_are_public(question.dataset) else (_ABOUT_ERRORS_OF_0_2_0,)
    return MeasureValues(people, *told, unreliable(told.errors, survey.error_limit), promise)


def _promise(survey: Survey, design: SurveyDesign) -> tuple[str, ...]:
    form = weight_form(survey.form)
    return (form.promise, *cautions(form, design))


def _with_errors(people: NDArray[np.int64], promise: tuple[str, ...], errors: TableErrors) -> MeasureValues:
    printed, shape = errors.cells(), people.shape
    relative, shares = printed.relative.reshape(shape), printed.noise_shares.reshape(shape)
    return MeasureValues(
        people,
        relative,
        shares,
        printed.unreliable.reshape(shape),
        (*promise, _ABOUT_ERRORS),
        sampling=errors,
    )


def _list(question: CheckedRequest) -> ShowCells:
    """How listed cells are shown: with errors by the released margins of the table, which are made once."""
    dataset, shape, survey = question.dataset, question.shape, _survey_of(question.dataset)
    if survey.errors != GENERALISED:
        return lambda exact, cells, _places: _show(question, exact, cells)
    pairs = [one.length * two.length for one, two in combinations(shape.dimensions, 2)]
    if survey.clustered and max(pairs, default=0) > MOST_PAIRS:
        raise BadRequest(
            message(
                "The errors of a survey of clusters need the table of every pair of variables, and one is too large."
            ),
            message("Leave out a long variable, or ask for the measure count."),
        )
    design, margins = (
        survey_design(dataset, survey),
        cache(released_counts(question, None, _per_step(survey))),
    )

    def show(exact: ExactTable, cells: NoisyCells, places: Places) -> MeasureValues:
        people = nearest_quotient(_estimates(survey, cells.noisy, None, design), design.scale)
        noise = np.broadcast_to(cells.distribution.variance(), exact.counts.shape)
        errors = build_errors(
            dataset, shape, margins, cells.noisy[:, None].astype(np.float64), noise[:, None], places=places
        )
        return _with_errors(people, _promise(survey, design), errors)

    return show


def _per_step(survey: Survey) -> float:
    """Records of average weight in one step of `largest-weight`; else 1."""
    step = float(survey.largest_weight / survey.population_size * survey.sample_size)
    return step if survey.only_weights else 1.0


def _table_errors(
    question: CheckedRequest, survey: Survey, cells: NoisyCells, strata: Strata | None
) -> TableErrors:
    dataset, shape = question.dataset, question.shape
    if strata is None:
        counts = released_counts(question, None, _per_step(survey))
        noise = cells.distribution.variance()
        return build_errors(
            dataset, shape, counts, cells.noisy[..., None].astype(np.float64), noise[..., None]
        )
    counts = released_counts(question, _strata_dimension(dataset, str(survey.stratum)), 1.0)
    noisy, noise = strata.by_cell(strata.cells.noisy), strata.by_cell(strata.cells.distribution.variance())
    return build_errors(dataset, shape, counts, noisy, noise, strata.weights(survey))


def _errors_are_public(dataset: Dataset) -> bool:
    """Whether errors follow from public and noisy figures."""
    return dataset.protection.is_dp or not _survey_of(dataset).errors_of_people


_ABOUT_ERRORS = message(
    "Relative standard errors allow for sampling, for the noise and for the bias of the form. They are computed from "
    "released counts and published constants of the survey, and from no weight of the people in a cell, and rounded up to "
    "two digits."
)
_ABOUT_ERRORS_OF_0_2_0 = message(
    "Relative standard errors are made of noisy counts and of the design effect of the cell, which is computed from the "
    "weights of the people in it and rounded up, by chance, to a rung of a ladder; they are rounded up once more."
)


def _effects(
    question: CheckedRequest,
    exact: ExactTable | None,
    cells: NoisyCells,
    strata: Strata | None,
    design: SurveyDesign,
) -> NDArray[np.float64]:
    dataset, declared = question.dataset, kish_effects(cells.noisy, design)
    if _errors_are_public(dataset):
        if strata is None:
            return declared
        return np.maximum(declared, strata.effects(_survey_of(dataset), cells.noisy))
    if exact is None or exact.weight_sums is None:
        raise ValueError("errors from exact weights need the records and their weights")
    without_noise = _estimates(
        _survey_of(dataset), exact.counts, None if strata is None else strata.exact(), design
    )
    own = variance.design_effects(
        design_variances(exact, unlock(question)[0].engine, dataset),
        exact.counts,
        in_people(exact.weight_sums, dataset),
        in_people(without_noise, dataset),
        cells.noisy,
    )
    rungs = variance.effect_steps(
        own, variance.minimum_effects(cells.noisy, design), unlock(question)[1].chances(exact)
    )
    return variance.effects_for_release(
        rungs, cells.noisy, float(design.design_effect), ~cells.distribution.impossible
    )


def _sums(dataset: Dataset) -> tuple[str, ...]:
    return () if _errors_are_public(dataset) or _survey_of(dataset).design.grouped else sum_columns(dataset)


def _cellwise(dataset: Dataset) -> bool:
    """Not if strata are counted one by one, or errors come from the exact weights of the people in a cell."""
    return _errors_are_public(dataset) and _survey_of(dataset).form != "public-strata"


def weight_cautions(dataset: Dataset) -> tuple[str, ...]:
    """Cautions about the weights, for the custodian at load."""
    if dataset.survey is None:
        return ()
    return cautions(weight_form(dataset.survey.form), survey_design(dataset, dataset.survey))


def _survey_of(dataset: Dataset) -> Survey:
    if dataset.survey is None:
        raise ValueError("a weighted table needs a survey that is described")
    return dataset.survey


def _request_by_strata(asked: TableRequest, dataset: Dataset) -> TableRequest:
    """The request that is counted: with strata as layers, if people are weighted by stratum."""
    survey = _survey_of(dataset)
    if survey.form != "public-strata" or survey.stratum is None or survey.stratum in asked.used:
        return asked
    return replace(asked, layers=(*asked.layers, survey.stratum))


def _refuse(dataset: Dataset) -> BadRequest | None:
    if dataset.survey is not None:
        return None
    return BadRequest(
        message('The dataset "{id}" has no survey weights.', id=dataset.id),
        message("Use the measure count. A custodian can declare weights in [survey] of dataset.toml."),
    )


def _about(dataset: Dataset) -> str:
    survey = _survey_of(dataset)
    effect = message("design effect {effect:.2f}", effect=float(1 + survey.relative_variance))
    return message(
        "a sample of {sample:,} weighted to {population:,.0f} {unit}; {design}",
        sample=survey.sample_size,
        population=float(survey.population_size),
        unit=dataset.unit,
        design=survey.design.in_words or effect,
    )


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


def _noise_in_people(
    survey: Survey, cells: NoisyCells, strata: Strata | None, design: SurveyDesign
) -> NDArray[np.float64]:
    """The variance of the noise in each released number, in people squared."""
    if strata is not None:
        return strata.noise(survey)
    noise = cells.distribution.variance()
    if survey.only_weights:
        # Rounding to the grid adds the variance of a uniform error of one step.
        return np.asarray((noise + 1 / 12) * (design.largest_weight / design.scale) ** 2)
    return np.asarray(noise * float(design.average_weight) ** 2)


def _estimates(
    survey: Survey, noisy: NDArray[np.int64], strata: Strata | None, design: SurveyDesign
) -> NDArray[np.int64]:
    if strata is not None:
        return strata.estimates(survey, design)
    if survey.only_weights:
        return noisy * design.largest_weight
    return average_weight(noisy, design)


def _sample_counts(survey: Survey, noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.int64]:
    """Noisy counts of records for the errors; steps become people of average weight."""
    if not survey.only_weights:
        return noisy
    average = design.average_weight * design.scale
    step = (design.largest_weight / average).limit_denominator(10**6)
    return times_ratio(noisy, step.numerator, step.denominator)


@dataclass(frozen=True, eq=False, repr=False)
class Strata:
    """Noisy sample counts by stratum, with the strata on the last axis.

    Args:
        cells: The noisy counts and the distribution of their noise.
        counts: The exact counts, if they were counted. Secret.
        codes: The strata in the order of that axis.
        axis: The strata's axis in the table; None if it has none.
        shown: The strata of each position on that axis; without an axis, those of every cell.
    """

    cells: NoisyCells
    counts: NDArray[np.int64] | None
    codes: tuple[str, ...]
    axis: int | None
    shown: list[tuple[int, ...]]

    def estimates(self, survey: Survey, design: SurveyDesign) -> NDArray[np.int64]:
        """The weighted counts in fixed point, from the strata's public weights."""
        weights = np.array([round(dict(survey.stratum_weights)[code] * design.scale) for code in self.codes])
        noisy = self.cells.noisy
        return self._by_place(lambda few: public_strata(noisy[..., few], weights[few]))

    def exact(self) -> Strata:
        """The counts without noise. Secret."""
        if self.counts is None:
            raise ValueError("nothing was counted")
        return replace(self, cells=replace(self.cells, noisy=self.counts))

    def _by_place(self, figure: Callable[[list[int]], NDArray[Any]]) -> NDArray[Any]:
        """A figure of the strata in each cell, in the shape of the table."""
        parts = [figure(list(members)) for members in self.shown]
        return parts[0] if self.axis is None else np.stack(parts, axis=self.axis)

    def noise(self, survey: Survey) -> NDArray[np.float64]:
        """The variance of the noise of the weighted counts, in people squared: Σ w_h² V_h."""
        weights, noise = self.weights(survey), self.cells.distribution.variance()
        return self._by_place(lambda few: (noise[..., few] * weights[few] ** 2).sum(axis=-1))

    def effects(self, survey: Survey, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Design effects from noisy counts and public weights: ñ Σ w_h² ñ_h / (Σ w_h ñ_h)²; 0 in empty cells."""
        weights, noisy = self.weights(survey), np.maximum(self.cells.noisy, 0)
        total = self._by_place(lambda few: (noisy[..., few] * weights[few]).sum(axis=-1))
        squares = self._by_place(lambda few: (noisy[..., few] * weights[few] ** 2).sum(axis=-1))
        return np.asarray(np.maximum(counts, 0) * squares / np.where(total > 0, total, 1) ** 2)

    def by_cell(self, figures: NDArray[Any]) -> NDArray[Any]:
        """Figures by stratum in the shape of the table, with all strata on the last axis; 0 for those not in a cell."""

        def inside(few: list[int]) -> NDArray[Any]:
            return np.where(np.isin(np.arange(figures.shape[-1]), few), figures, 0)

        parts = [inside(list(members)) for members in self.shown]
        return parts[0] if self.axis is None else np.stack(parts, axis=self.axis)

    def weights(self, survey: Survey) -> NDArray[np.float64]:
        """The public weight of each stratum."""
        return np.array([float(dict(survey.stratum_weights)[code]) for code in self.codes])


def _strata_dimension(dataset: Dataset, stratum: str) -> Dimension:
    (strata,) = table_shape(TableRequest(dataset.id, (stratum,), totals=False), dataset).dimensions
    return strata


def _by_strata(question: CheckedRequest, survey: Survey) -> Strata:
    shape, (stored, protector) = question.shape, unlock(question)
    stratum = question.dataset.variable(str(survey.stratum))
    everything = tuple(range(len(stratum)))
    strata = _strata_dimension(question.dataset, stratum.name)
    finer = replace(
        shape,
        dimensions=(*(d for d in shape.dimensions if d.name != stratum.name), strata),
        filters=tuple(f for f in shape.filters if f.name != stratum.name),
    )
    cells, counts = protector.stored(finer), None
    if cells is None:
        exact = tabulate(stored.engine, finer)
        cells, counts = protector.protect(exact), exact.counts
    axis = next((n for n, d in enumerate(shape.dimensions) if d.name == stratum.name), None)
    if axis is None:
        hidden = {f.name: f.members for f in shape.filters}
        return Strata(cells, counts, stratum.codes, None, [hidden.get(stratum.name, everything)])
    return Strata(cells, counts, stratum.codes, axis, shape.dimensions[axis].members())


MEASURE = MeasureKind(
    Measure(
        "weighted",
        label=lambda dataset: message("Estimated {unit}", unit=dataset.unit),
        title=lambda dataset: message("Estimated {unit}", unit=dataset.unit),
        subject=message("The sample count behind an estimate, by itself,"),
        has_errors=True,
        refuse=_refuse,
        about=_about,
    ),
    _show,
    counted=_request_by_strata,
    weights=True,
    sums=_sums,
    cellwise=_cellwise,
    lister=_list,
)
