"""The test of independence of a two-way table: what the API answers and what the page says.

Whether a table can be tested follows from its shape, before anything is counted. The answer is a function of
the release alone, so it has an ETag like the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio
from discreet.model.messages.text import Message, message
from discreet.model.release import Release
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.web.admission import TESTED, TESTED_UNDER_DP, reserve_cells

#: Cells of a table that is tested under `dp`: for anybody, and for accounts.
MOST_TESTED, MOST_FOR_ACCOUNTS = 1_500, 10_000


@dataclass(frozen=True, slots=True)
class NaiveDocument:
    """The test that takes the released counts for exact: G2 and its chi-square p-value."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class AssociationDocument:
    """Cramer's V with the noise taken out, as if there were none, and the noise's part of chi-square."""

    corrected: float
    naive: float
    noise_part: float


@dataclass(frozen=True, slots=True)
class IndependenceDocument:
    """The likelihood-ratio test of independence with the noise in the likelihood."""

    hypothesis: str
    statistic: float
    df: int
    p_value: float
    naive: NaiveDocument
    cramers_v: AssociationDocument | None
    model: str
    method: str
    converged: bool
    spread: float
    why: str
    notes: list[str]


def is_two_way(question: CheckedRequest) -> bool:
    """Whether independence can be tested: two variables, each shown in at least two categories."""
    dimensions = question.shape.dimensions
    return (
        question.asked.kind.measure.is_count
        and len(dimensions) == 2
        and all(len(dimension.outputs) > 1 for dimension in dimensions)
    )


def two_way_release(door: DatasetService, question: CheckedRequest) -> Release:
    """Count, protect and release a table that can be tested.

    Raises:
        BadRequest: The table is no two-way table.
    """
    if not is_two_way(question):
        raise BadRequest(
            message("The test of independence needs two variables, each with at least two categories."),
            message("Choose one variable for the rows and one for the columns."),
        )
    _check_size(door, question)
    return door.answer(question)


def _check_size(door: DatasetService, question: CheckedRequest) -> None:
    """Under `dp` a test looks at many possible counts of each cell: what would take seconds is for accounts.

    Raises:
        BadRequest: By the shape.
    """
    if question.dataset.protection.method != "dp":
        reserve_cells(question.cells * TESTED)
        return
    most = MOST_TESTED if door.account is None else MOST_FOR_ACCOUNTS
    if question.cells > most:
        raise BadRequest(
            message(
                "The table has {cells:,} cells; under dp a table of at most {most:,} is tested.",
                cells=question.cells,
                most=most,
            ),
            message("Choose coarser categories. Whoever asks with a key may test more cells."),
        )
    reserve_cells(question.cells * TESTED_UNDER_DP)


def independence_document(found: LikelihoodRatio) -> IndependenceDocument:
    """The outcome as the API answers it."""
    fields = found.document()
    strength = fields["cramers_v"]
    parts = {
        "naive": NaiveDocument(**fields["naive"]),
        "cramers_v": None if strength is None else AssociationDocument(**strength),
    }
    return IndependenceDocument(**fields | parts)


def conclusion(found: LikelihoodRatio) -> str:
    """What the test says, in one sentence."""
    if not found.converged:
        return message("The computation did not come to an end; do not rely on the result.")
    if not found.df:
        return message("Nothing can be said: too few rows or columns have people in them.")
    p: str = Message("{p:.4f}", {"p": found.p_value})
    if found.p_value < 0.0001:
        p = message("less than {p:.4f}", p=0.0001)
    if found.p_value <= 0.05:
        return message(
            "Such a table would be rare if the two were independent (p-value {p}): noise and chance do not "
            "explain it.",
            p=p,
        )
    return message(
        "The table is compatible with independence (p-value {p}): noise and chance can explain it.", p=p
    )
