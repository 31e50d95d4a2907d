"""The exact standard errors of a weighted table, beside what a reader is told. Confidential, for the custodian.

Every cell has its exact weighted count, its standard error by the design of the survey, its design effect, and the
same of its share of everybody in the table; and the error and status that are printed with the release. Ratios and
differences of cells are asked for in words:

    "C,1"                          a total, by codes in the order of the variables
    "C,1 / C,_T"                   a ratio: here the share of people with 1 among those of C
    "C,1 / C,_T - D,1 / D,_T"      a difference

Comes from: `discreet assess DATASET --measure weighted`. Goes to: the screen or a JSON file of the custodian.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer.design_errors import design_variances, in_people
from discreet.answer.door import unlock_door
from discreet.answer.dry_run import attempt
from discreet.errors import BadRequest
from discreet.model.release import STATUSES, table_title
from discreet.model.request import canonical
from discreet.model.shape import table_shape
from discreet.records.design_columns import stored_sums
from discreet.records.sampled_rows import sampled_rows
from discreet.records.tabulate import tabulate
from discreet.survey.design_effect import design_effects
from discreet.survey.estimates import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.door import Door
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.survey.estimates import Estimate


#: The largest table of a report: every cell is looked up in all rows of the sample.
MOST_CELLS = 5_000


@dataclass(frozen=True, slots=True)
class CellError:
    """A cell of the report; errors and shares are fractions, and None where there are none."""

    cell: tuple[str, ...]
    people: int
    total: float
    standard_error: float
    relative_standard_error: float | None
    design_effect: float | None
    share: float | None
    share_standard_error: float | None
    printed_error: float | None
    status: str


@dataclass(frozen=True, slots=True)
class EstimateError:
    """A total, ratio or difference that was asked for."""

    estimate: str
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class SurveyErrors:
    """The report of a weighted table."""

    dataset: str
    title: str
    design: str
    refusal: str | None
    cells: tuple[CellError, ...]
    estimates: tuple[EstimateError, ...]

    def as_json(self) -> dict[str, Any]:
        """The report as data."""
        return {"confidential": True, **asdict(self)}


def survey_errors(door: Door, request: TableRequest, estimates: Sequence[str] = ()) -> SurveyErrors:
    """The exact errors of a weighted table.

    Args:
        door: Of a dataset with a survey.
        request: The table; its measure is taken as weighted.
        estimates: Totals, ratios and differences of its cells, in words.

    Raises:
        BadRequest: The dataset has no survey, its method is dp, the table is too large, or an estimate cannot be read.
    """
    stored, request = unlock_door(door), replace(request, measure="weighted", totals=True)
    dataset = stored.dataset
    if dataset.survey is None or dataset.protection.is_dp:
        raise BadRequest(
            f'The dataset "{dataset.id}" has no exact sampling errors: it has no [survey], or its method is dp.',
            "Assess its counts: measure count.",
        )
    refusal = attempt(stored, request).refusal
    shape = table_shape(canonical(request, dataset), dataset)
    if shape.cells > MOST_CELLS:
        raise BadRequest(
            f"The table has {shape.cells:,} cells.", f"An assessment takes at most {MOST_CELLS:,}."
        )
    sample = Sample(sampled_rows(stored.engine, shape, dataset), dataset.survey.design)
    return SurveyErrors(
        dataset.id,
        table_title(dataset, shape.dimensions, request),
        dataset.survey.design.in_words or "sampling errors by the squares of the weights",
        None if refusal is None else refusal.message,
        _cells(door, request, shape, sample, told=refusal is None),
        tuple(_asked(text, sample, shape) for text in estimates),
    )


def _cells(
    door: Door, request: TableRequest, shape: TableShape, sample: Sample, *, told: bool
) -> tuple[CellError, ...]:
    """Every cell of the report."""
    stored = unlock_door(door)
    exact = tabulate(stored.engine, shape, weights=True, sums=stored_sums(stored.dataset))
    variance = design_variances(exact, stored.engine, stored.dataset)
    if exact.weight_sums is None:
        raise ValueError("weights were asked for")
    totals = in_people(exact.weight_sums, stored.dataset)
    effects = design_effects(variance, exact.counts, totals, totals, exact.counts)
    everybody = sample.total(*(length - 1 for length in shape.lengths))
    release = door.release(request) if told else None
    found = []
    for place in np.ndindex(*shape.lengths):
        share = sample.total(*place) / everybody if everybody.value else None
        error, total = float(np.sqrt(variance[place])), float(totals[place])
        printed = -1 if release is None or release.errors is None else int(release.errors[place])
        found.append(
            CellError(
                tuple(d.codes[at] for d, at in zip(shape.dimensions, place, strict=True)),
                int(exact.counts[place]),
                total,
                error,
                error / total if total else None,
                float(effects[place]) or None,
                None if share is None else share.value,
                None if share is None else sample.standard_error(share),
                None if printed < 0 else printed / 1000,
                "" if release is None else STATUSES[release.status[place]],
            )
        )
    return tuple(found)


def _asked(text: str, sample: Sample, shape: TableShape) -> EstimateError:
    """An estimate in words, with its error."""
    parts = [_ratio(part, sample, shape) for part in text.split(" - ")]
    if len(parts) > 2:
        raise _unreadable(text)
    found = parts[0] if len(parts) == 1 else parts[0] - parts[1]
    return EstimateError(text, found.value, sample.standard_error(found))


def _ratio(text: str, sample: Sample, shape: TableShape) -> Estimate:
    parts = [_total(part, sample, shape) for part in text.split(" / ")]
    if len(parts) > 2 or (len(parts) == 2 and not parts[1].value):
        raise _unreadable(text)
    return parts[0] if len(parts) == 1 else parts[0] / parts[1]


def _total(text: str, sample: Sample, shape: TableShape) -> Estimate:
    codes = [code.strip() for code in text.split(",")]
    lists = [dimension.codes for dimension in shape.dimensions]
    if len(codes) != len(lists) or any(code not in known for code, known in zip(codes, lists, strict=False)):
        raise _unreadable(text)
    return sample.total(*(known.index(code) for code, known in zip(codes, lists, strict=True)))


def _unreadable(text: str) -> BadRequest:
    return BadRequest(
        f"The estimate {text!r} cannot be read, or divides by nobody.",
        'Name cells by their codes in the order of the variables: "1,A", "1,A / 1,_T" or "1,A - 2,A".',
    )
