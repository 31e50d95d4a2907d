"""The measure `weighted`: people represented, from noisy sample counts, by the survey's declared form.

Every form is a function of noisy counts and public weights: `average-weight` and `public-strata` of the noisy
counts of records, `largest-weight` of the noisy counts of its steps (`answer/counting.py`), of which people of
average weight are made for the errors. Results are rounded to whole people, halves away from zero. Sampling
errors come from noisy counts and declared constants only: an exact one would give the count away. The noise
that they include is what the form really adds, in sample counts of the cell:

    average-weight: V        largest-weight: (V + 1/12)·(w_max/w̄)²
    public-strata: V·Σ w_h² / (average of w_h)², over the strata h in the cell

Comes from: `pipeline`. Goes back to it as plain integers that may be seen.
Source: Shlomo, Krenzke & Li (2019), section 2; Bailie (2020), 4.1; `survey/forms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.answer.measures import MeasureKind, Shown
from discreet.answer.question import unlock
from discreet.errors import BadRequest
from discreet.model.measure import Measure
from discreet.model.shape import Dimension, plain_outputs
from discreet.records.tabulate import tabulate
from discreet.survey.design import SurveyDesign
from discreet.survey.dp_weights import average_weight, invariant, public_strata
from discreet.survey.fixed_point import nearest_quotient, times_ratio
from discreet.survey.forms import cautions, weight_form
from discreet.survey.sampling_error import noise_shares, relative_standard_errors, unreliable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.answer.question import Question
    from discreet.model.dataset import Dataset
    from discreet.model.exact import ExactTable
    from discreet.model.request import TableRequest
    from discreet.model.survey import Survey
    from discreet.protect.noisy_cells import NoisyCells


def _show(question: Question, _exact: ExactTable, cells: NoisyCells) -> Shown:
    """The weighted table of a shape whose sample counts have their noise."""
    survey = _declared(question.dataset)
    design = survey_design(question.dataset, survey)
    strata = _by_strata(question, survey) if survey.form == "public-strata" else None
    fixed = _fixed_point(survey, cells.noisy, strata, design)
    form, noisy = weight_form(survey.form), _sample_counts(survey, cells.noisy, design)
    errors, shares = np.zeros(noisy.shape, dtype=np.int64), np.zeros(noisy.shape, dtype=np.int64)
    doubtful = np.zeros(noisy.shape, dtype=np.bool_)
    for chosen, variance in _variances(survey, cells, strata, design):
        errors[chosen] = relative_standard_errors(noisy[chosen], design, variance)
        shares[chosen] = noise_shares(noisy[chosen], design, variance)
        doubtful[chosen] = unreliable(noisy[chosen], design, variance)
    people = nearest_quotient(fixed, design.scale)
    return Shown(people, errors, shares, doubtful, (form.promise, *cautions(form, design)))


def cautions_on(dataset: Dataset) -> tuple[str, ...]:
    """What a custodian is told of the weights at load."""
    if dataset.survey is None:
        return ()
    return cautions(weight_form(dataset.survey.form), survey_design(dataset, dataset.survey))


def _declared(dataset: Dataset) -> Survey:
    if dataset.survey is None:
        raise ValueError("a weighted table needs a survey that is described")
    return dataset.survey


def _counted_by_strata(asked: TableRequest, dataset: Dataset) -> TableRequest:
    """The request that is counted: with the strata as layers, where people are weighted stratum by stratum."""
    survey = _declared(dataset)
    if survey.form != "public-strata" or survey.stratum is None or survey.stratum in asked.used:
        return asked
    return replace(asked, layers=(*asked.layers, survey.stratum))


def _refuse(dataset: Dataset) -> BadRequest | None:
    if dataset.survey is not None:
        return None
    return BadRequest(
        f'The dataset "{dataset.id}" has no survey weights that are described.',
        "Ask for the measure count; a custodian adds [survey] to dataset.toml.",
    )


def _about(dataset: Dataset) -> str:
    survey = _declared(dataset)
    return (
        f"a sample of {survey.sample_size:,} weighted to {float(survey.population_size):,.0f} {dataset.unit}; "
        f"design effect {float(1 + survey.relative_variance):.2f}"
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


def _variances(
    survey: Survey,
    cells: NoisyCells,
    strata: Strata | None,
    design: SurveyDesign,
) -> Iterator[tuple[NDArray[np.bool_], Fraction]]:
    """Cells as masks, and the variance of their noise in sample counts."""
    if strata is not None:
        largest = max(law.variance for law in strata.cells.law.laws)
        for place, factor in enumerate(strata.factors(survey, design)):
            chosen = np.zeros(cells.noisy.shape, dtype=np.bool_)
            chosen[strata.at(place)] = True
            yield chosen, largest * factor
        return
    for chosen, law in cells.law.kinds():
        yield chosen, _in_sample_counts(survey, law.variance, design)


def _in_sample_counts(survey: Survey, variance: Fraction, design: SurveyDesign) -> Fraction:
    """The variance of a weighted count's noise, in people of average weight."""
    if survey.form != "largest-weight":
        return variance
    step = Fraction(design.largest_weight, design.scale) / design.average_weight
    # Rounding to the grid adds the variance of a uniform error of one step.
    return (variance + Fraction(1, 12)) * step**2


def _strata_factor(weights: list[Fraction], average: Fraction) -> Fraction:
    """Σ w² over the squared average weight: how many noises of one average person a cell's noises are."""
    return sum((weight**2 for weight in weights), Fraction(0)) / average**2


def _fixed_point(
    survey: Survey, noisy: NDArray[np.int64], strata: Strata | None, design: SurveyDesign
) -> NDArray[np.int64]:
    if strata is not None:
        return strata.added_up(survey, design)
    if survey.weighted_only:
        return noisy * design.largest_weight
    return invariant(noisy, design) if survey.form == "invariant" else average_weight(noisy, design)


def _sample_counts(survey: Survey, noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.int64]:
    """Noisy counts of records, by which errors are worked out; steps are turned into people of average weight."""
    if not survey.weighted_only:
        return noisy
    average = design.average_weight * design.scale
    step = (design.largest_weight / average).limit_denominator(10**6)
    return times_ratio(noisy, step.numerator, step.denominator)


@dataclass(frozen=True, eq=False)
class Strata:
    """Noisy sample counts stratum by stratum, the strata along the last axis.

    Args:
        cells: The noisy counts and the law of their noise.
        codes: The strata in the order of that axis.
        axis: The strata's axis in the table that is shown; None where it shows none.
        shown: Which strata each place along that axis holds; without an axis, those of every cell.
    """

    cells: NoisyCells
    codes: tuple[str, ...]
    axis: int | None
    shown: list[tuple[int, ...]]

    def added_up(self, survey: Survey, design: SurveyDesign) -> NDArray[np.int64]:
        """The weighted counts in fixed point, from the strata's public weights."""
        weights = np.array([round(dict(survey.stratum_weights)[code] * design.scale) for code in self.codes])
        noisy = self.cells.noisy
        parts = [public_strata(noisy[..., list(members)], weights[list(members)]) for members in self.shown]
        return parts[0] if self.axis is None else np.stack(parts, axis=self.axis)

    def factors(self, survey: Survey, design: SurveyDesign) -> list[Fraction]:
        """For each place along the strata's axis, how many noises of one average person its noises are."""
        weights = dict(survey.stratum_weights)
        inside = [[weights[self.codes[member]] for member in members] for members in self.shown]
        # Where all strata are in a cell its average weight is public; of a few, their plain average stands in.
        return [
            _strata_factor(
                few,
                design.average_weight if len(few) == len(self.codes) else sum(few, Fraction(0)) / len(few),
            )
            for few in inside
        ]

    def at(self, place: int) -> tuple[slice | int, ...]:
        """Where a place along the strata's axis stands in the table that is shown."""
        return (...,) if self.axis is None else (*(slice(None),) * self.axis, place)  # type: ignore[return-value]


def _by_strata(question: Question, survey: Survey) -> Strata:
    """Count the sample stratum by stratum, and put noise on it."""
    shape, (stored, protector) = question.shape, unlock(question)
    stratum = question.dataset.variable(str(survey.stratum))
    everything = tuple(range(len(stratum)))
    strata = Dimension(
        stratum.name, stratum.label, plain_outputs(stratum), everything, stratum.codes, total=False
    )
    finer = replace(
        shape,
        dimensions=(*(d for d in shape.dimensions if d.name != stratum.name), strata),
        filters=tuple(f for f in shape.filters if f.name != stratum.name),
    )
    cells = protector.protect(tabulate(stored.engine, finer))
    axis = next((n for n, d in enumerate(shape.dimensions) if d.name == stratum.name), None)
    if axis is None:
        hidden = {f.name: f.members for f in shape.filters}
        return Strata(cells, tuple(stratum.codes), None, [hidden.get(stratum.name, everything)])
    return Strata(cells, tuple(stratum.codes), axis, list(shape.dimensions[axis].members()))


MEASURE = MeasureKind(
    Measure(
        "weighted",
        label=lambda dataset: f"{dataset.unit.capitalize()} represented",
        title=lambda dataset: f"Estimated {dataset.unit}",
        subject="The sample count behind an estimate, by itself,",
        has_errors=True,
        refuse=_refuse,
        about=_about,
    ),
    _show,
    counted=_counted_by_strata,
)
