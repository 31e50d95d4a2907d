"""Check a request once, before a record is read. A `CheckedRequest` may be answered.

    request -> parse -> canonical request, shape -> rules on shape -> cover (protector, cost) -> CheckedRequest

An interface may hold a `CheckedRequest`: it shows request, shape and title. The version and the protector are private;
`pipeline.make_release` uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.errors import BadRequest
from discreet.ledger.requester import Requester, count_free_groups
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message
from discreet.model.release import table_title
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import TableShape, table_shape
from discreet.protect.protector import Protector
from discreet.release.anchors import anchor_requests
from discreet.release.measures import MeasureKind, measure_kind
from discreet.release.verdicts import shapes_to_count
from discreet.rules.rule_set import is_metered, refuse_by_rules
from discreet.rules.suppression import list_areas
from discreet.rules.verdict import needs_table
from discreet.workspace.workspace import StoredDataset


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ParsedRequest:
    """A valid request: canonical, with its measure, its shape and the request that is counted for it."""

    request: TableRequest
    kind: MeasureKind
    shape: TableShape
    counted: TableRequest


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckedRequest:
    """A request that may be answered: valid and allowed by its shape; nothing is counted yet.

    Args:
        metered: The answer was allowed to one account and must not be cached for others.
        anchors: The tables that it is fitted to, in their order.
    """

    dataset: Dataset
    digest: str
    asked: ParsedRequest
    metered: bool
    anchors: tuple[CheckedRequest, ...]
    _stored: StoredDataset
    _protector: Protector

    @property
    def request(self) -> TableRequest:
        return self.asked.request

    @property
    def shape(self) -> TableShape:
        return self.asked.shape

    @property
    def cells(self) -> int:
        """The number of cells of the answer, totals included."""
        return self.shape.cells

    @property
    def lasting(self) -> bool:
        """Whether the answer is the same for all readers: nothing is metered or charged to an account."""
        return not self.metered and not any(each._protector.unpaid for each in (self, *self.anchors))  # noqa: SLF001 - ours

    @property
    def additivity(self) -> str:
        """How totals relate to their parts, by request or by default."""
        if self.asked.kind.measure.magnitude is not None:
            return "independent"
        return self.request.additivity or self.dataset.protection.additivity

    @property
    def title(self) -> str:
        return table_title(self.dataset, self.shape.dimensions, self.request, self.asked.kind.measure)

    def __repr__(self) -> str:
        return f"<Question: {self.title}>"


def unlock(question: CheckedRequest) -> tuple[StoredDataset, Protector]:
    """The version and the protector of a request: for the modules of `release` alone."""
    return question._stored, question._protector  # noqa: SLF001 - this is the lock


def pay(question: CheckedRequest) -> tuple[CheckedRequest, Mapping[str, Any] | None]:
    """Pay for a request before anything is counted; the request with the protector that answers, and the charge made."""
    protector, charged = question._protector.pay()  # noqa: SLF001 - ours
    return replace(question, _protector=protector), charged


def parse_request(dataset: Dataset, request: TableRequest) -> ParsedRequest:
    """Parse and validate a request."""
    kind = measure_kind(request.measure, dataset)
    asked = canonical(request, dataset)
    if kind.measure.magnitude is not None and asked.additivity:
        raise BadRequest(
            message("Sums and means of numeric variables are adjusted cell by cell."),
            message("Leave additivity out."),
        )
    missing = kind.measure.refuse(dataset)
    if missing is not None:
        raise missing
    return ParsedRequest(asked, kind, table_shape(asked, dataset), kind.counted(asked, dataset))


def check_request(
    stored: StoredDataset,
    request: TableRequest,
    asker: Requester | None = None,
    most_cells: int | None = None,
) -> CheckedRequest:
    """Check a request against the rules on shape before a record is read; count its free groups for the account."""
    return apply_rules(stored, parse_listed_request(stored, request), asker, most_cells)


def parse_listed_request(stored: StoredDataset, request: TableRequest) -> ParsedRequest:
    """Parse a request; if a rule may suppress areas, the result lists every area that the request names."""
    asked = parse_request(stored.dataset, request)
    if not needs_table(stored.rules, asked.counted, stored.dataset):
        return asked
    whole = list_areas(asked.request, stored.dataset)
    return asked if whole == asked.request else parse_request(stored.dataset, whole)


def apply_rules(
    stored: StoredDataset, asked: ParsedRequest, asker: Requester | None = None, most_cells: int | None = None
) -> CheckedRequest:
    """Apply the rules on shape to a parsed request, and find the protector that covers it."""
    dataset, rules = stored.dataset, stored.rules
    if asked.counted != asked.request:  # a table made by stratum must be allowed with its strata shown
        refuse_by_rules(asked.counted, table_shape(asked.counted, dataset), dataset, rules)
    refuse = partial(refuse_by_rules, asked.request, asked.shape, dataset, rules, most_cells=most_cells)
    metered = is_metered(asked.request, rules)
    if asker is not None and metered:
        with count_free_groups(asker, asked.request) as meter:
            refuse(meter=meter, account=asker.account)
    else:
        refuse()
    shapes = shapes_to_count(stored, asked.counted, asked.shape)
    protector = stored.protector.cover(asked.counted, shapes, asker)
    counted = asked.kind.measure.magnitude is None
    fitted = counted and (asked.request.additivity or dataset.protection.additivity) == "fitted"
    anchors = anchor_requests(asked.request, dataset) if fitted else ()
    checked = tuple(check_request(stored, each) for each in anchors)
    return CheckedRequest(dataset, stored.digest, asked, metered, checked, stored, protector)
