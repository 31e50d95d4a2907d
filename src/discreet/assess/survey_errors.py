"""The exact standard errors of a weighted table, and the published ones. Confidential, for the custodian.

Each cell has its exact weighted count, the standard error and design effect by the design of the survey, the same of its
share of the whole table, and the published errors and status. Ratios and differences of cells are requested as text:

    "C,1"                          a total, by codes in the order of the variables
    "C,1 / C,_T"                   a ratio: here the share of people with 1 among those of C
    "C,1 / C,_T - D,1 / D,_T"      a difference
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.normal_intervals import WeightedInterval
from discreet.inference.confidence_intervals.table_intervals import Cell, Codes, interval_of
from discreet.model.release import STATUSES, Release, table_title
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import TableShape, table_shape
from discreet.records.storage import sum_columns
from discreet.records.tabulate import tabulate
from discreet.release.dataset_registry import DatasetService, unlock_service
from discreet.release.dry_run import try_request
from discreet.release.measures.weighted import design_variances, in_people
from discreet.survey.variance import Estimate, Sample, design_effects, sample_rows

#: Maximum size of a report: every cell is looked up in all rows of the sample.
MOST_CELLS = 5_000
#: Below this relative error a total is fixed by the design, except for rounding.
NO_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class CellError:
    """A cell of the report; errors and shares are fractions, and None where they do not exist."""

    cell: tuple[str, ...]
    people: int
    total: float
    standard_error: float
    relative_standard_error: float | None
    design_effect: float | None
    share: float | None
    share_standard_error: float | None
    printed_error: float | None
    share_printed_error: float | None
    status: str


@dataclass(frozen=True, slots=True)
class EstimateError:
    """A requested total, ratio or difference, and the published estimate with its relative error."""

    estimate: str
    value: float
    standard_error: float
    printed_value: float | None
    printed_error: float | None


@dataclass(frozen=True, slots=True)
class SurveyErrors:
    """The report of a weighted table."""

    dataset: str
    title: str
    design: str
    refusal: str | None
    cells: tuple[CellError, ...]
    estimates: tuple[EstimateError, ...]

    @property
    def printed_over_exact(self) -> dict[str, float | None]:
        """The median ratio of published errors to exact sampling errors, over the cells."""
        totals = [(each.printed_error, each.standard_error, each.total) for each in self.cells]
        shares = [(each.share_printed_error, each.share_standard_error, each.share) for each in self.cells]
        return {"totals": _median_ratio(totals), "shares": _median_ratio(shares)}

    def as_json(self) -> dict[str, Any]:
        """The report as data."""
        return {"confidential": True, **asdict(self), "printed_over_exact": self.printed_over_exact}


def survey_errors(
    service: DatasetService, request: TableRequest, estimates: Sequence[str] = ()
) -> SurveyErrors:
    """The exact errors of a table, which is taken as weighted, and of totals, ratios and differences of its cells."""
    stored, request = unlock_service(service), replace(request, measure="weighted", totals=True)
    dataset = stored.dataset
    if dataset.survey is None or dataset.protection.is_dp:
        raise BadRequest(
            f'The dataset "{dataset.id}" has no exact sampling errors: it has no [survey], or its method is dp.',
            "Assess its counts: measure count.",
        )
    refusal = try_request(stored, request).refusal
    shape = table_shape(canonical(request, dataset), dataset)
    if shape.cells > MOST_CELLS:
        raise BadRequest(
            f"The table has {shape.cells:,} cells.", f"An assessment takes at most {MOST_CELLS:,}."
        )
    sample = Sample(sample_rows(stored.engine, shape, dataset), dataset.survey.design)
    release = service.release(request) if refusal is None else None
    return SurveyErrors(
        dataset.id,
        table_title(dataset, shape.dimensions, request),
        dataset.survey.design.in_words or "sampling errors by the squares of the weights",
        None if refusal is None else refusal.message,
        _cells(service, release, shape, sample),
        tuple(_estimate_error(text, sample, shape, release) for text in estimates),
    )


def _median_ratio(pairs: Iterable[tuple[float | None, float | None, float | None]]) -> float | None:
    """The median ratio of published to exact relative errors, without totals that the design fixes."""
    ratios = [
        printed * value / error
        for printed, error, value in pairs
        if printed and error and value and error > NO_SPREAD * value
    ]
    return float(np.median(ratios)) if ratios else None


def _cells(
    service: DatasetService, release: Release | None, shape: TableShape, sample: Sample
) -> tuple[CellError, ...]:
    stored = unlock_service(service)
    exact = tabulate(stored.engine, shape, weights=True, sums=sum_columns(stored.dataset))
    variance = design_variances(exact, stored.engine, stored.dataset)
    if exact.weight_sums is None:
        raise ValueError("weights were asked for")
    totals = in_people(exact.weight_sums, stored.dataset)
    effects = design_effects(variance, exact.counts, totals, totals, exact.counts)
    everybody = sample.total(*(length - 1 for length in shape.lengths))
    found = []
    for place in np.ndindex(*shape.lengths):
        share = sample.total(*place) / everybody if everybody.value else None
        error, total = float(np.sqrt(variance[place])), float(totals[place])
        codes = tuple(d.codes[at] for d, at in zip(shape.dimensions, place, strict=True))
        found.append(
            CellError(
                codes,
                int(exact.counts[place]),
                total,
                error,
                error / total if total else None,
                float(effects[place]) or None,
                None if share is None else share.value,
                None if share is None else sample.standard_error(share),
                _reader_estimate(release, codes)[1],
                _reader_estimate(release, codes, of=[{}])[1],
                "" if release is None else STATUSES[release.status[place]],
            )
        )
    return tuple(found)


def _reader_estimate(
    release: Release | None,
    cell: Codes,
    of: Sequence[Cell] = (),
    minus: Sequence[Cell] = (),
    over: Sequence[Cell] = (),
    minus_of: Sequence[Cell] = (),
) -> tuple[float | None, float | None]:
    """The published estimate and its relative error, as a fraction; None where there is none."""
    if release is None:
        return None, None
    try:
        found = interval_of(release, [cell], of, minus, over=over, minus_of=minus_of)
    except BadRequest:
        return None, None
    error = found.relative_standard_error if isinstance(found, WeightedInterval) else None
    return found.estimate, None if error is None else error / 100


def _estimate_error(text: str, sample: Sample, shape: TableShape, release: Release | None) -> EstimateError:
    terms = _terms(text, shape)
    parts = [_ratio(text, sample, shape, term) for term in terms]
    found = parts[0] if len(parts) == 1 else parts[0] - parts[1]
    return EstimateError(
        text, found.value, sample.standard_error(found), *_reader_estimate_of_terms(release, terms)
    )


def _reader_estimate_of_terms(
    release: Release | None, terms: list[list[Codes]]
) -> tuple[float | None, float | None]:
    """The published estimate: a share where the first cell is inside the second, else a ratio."""
    (one, *base), minus = terms[0], [term[0] for term in terms[1:]]
    minus_of = [cell for term in terms[1:] for cell in term[1:]]
    if minus and len(base) != len(minus_of):
        return None, None
    share = _reader_estimate(release, one, base, minus, minus_of=minus_of)
    return _reader_estimate(release, one, over=base) if share[0] is None and base and not minus else share


def _terms(text: str, shape: TableShape) -> list[list[Codes]]:
    lists = [dimension.codes for dimension in shape.dimensions]
    terms = [
        [tuple(code.strip() for code in cell.split(",")) for cell in part.split(" / ")]
        for part in text.split(" - ")
    ]
    known = all(
        len(cell) == len(lists) and all(code in codes for code, codes in zip(cell, lists, strict=True))
        for term in terms
        for cell in term
    )
    if len(terms) > 2 or max(map(len, terms)) > 2 or not known:
        raise _unreadable(text)
    return terms


def _ratio(text: str, sample: Sample, shape: TableShape, term: list[Codes]) -> Estimate:
    lists = [dimension.codes for dimension in shape.dimensions]
    parts = [
        sample.total(*(known.index(code) for code, known in zip(codes, lists, strict=True))) for codes in term
    ]
    if len(parts) == 1:
        return parts[0]
    if not parts[1].value:
        raise _unreadable(text)
    return parts[0] / parts[1]


def _unreadable(text: str) -> BadRequest:
    return BadRequest(
        f"The estimate {text!r} cannot be read, or divides by nobody.",
        'Name cells by their codes in the order of the variables: "1,A", "1,A / 1,_T" or "1,A - 2,A".',
    )
