"""A door without a ledger: what was spent is told as on the day of publication, and nothing can be charged.

A door that answers from published tables: a request is answered if its cells were published, in any layout.

Whether it is answered follows from the list of tables alone, before any file is read. A refusal names the published tables
that are nearest.
"""

from __future__ import annotations

import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, Self

import numpy as np

from discreet.errors import BadKey, NotPublished, PublicationUnusable
from discreet.model.messages.text import Message, message
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.publish.file_store import Storage
from discreet.publish.public_protector import laws_of
from discreet.publish.publication import FileRef, PublishedDataset, read_file
from discreet.publish.release_file import StoredRelease, read_release
from discreet.release.checked_request import CheckedRequest, ParsedRequest, parse_listed_request
from discreet.release.dataset_service import MOST_REPAIRS, DatasetService
from discreet.release.dry_run import Attempt, dry_run_document
from discreet.rules.verdict import Finding, Verdict
from discreet.workspace.workspace import StoredDataset


class PublishedService(DatasetService):
    """A door whose budget is told as on the day of publication; nothing can be charged here."""

    __slots__ = ("_budget", "_left")

    def __init__(self, stored: StoredDataset, documents: Mapping[str, Any]) -> None:
        super().__init__(stored)
        self._budget, self._left = documents["budget"], documents["budget_left"]

    def with_admission(self, admit: Callable[[CheckedRequest], None]) -> Self:
        """The same door, which has each question admitted before it is answered."""
        door = copy(self)
        door._admit = admit  # noqa: SLF001 - its own copy
        return door

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promised and cost when it was published."""
        if self._budget is None:
            return super().budget()
        found: dict[str, Any] = self._budget
        return found

    def budget_left(self) -> str | None:
        """What was left of the budget, in a sentence."""
        left: str | None = self._left
        return left

    def ledger(self) -> dict[str, Any]:
        """Nobody is a custodian here."""
        raise no_accounts_error()

    def margins(self, *_given: Any, **_named: Any) -> dict[str, Any]:
        """Nothing is released anew here."""
        raise NotPublished(
            message("Margins are released by the workspace, and this server has published tables alone."),
            message("Ask for a published table."),
        )


def no_accounts_error() -> BadKey:
    """Why a key is not accepted."""
    return BadKey(
        message("The API key is not accepted: this server has no accounts."),
        message("Ask without a key: what is published is for everybody."),
    )


#: Tables that were read are kept for the next question up to so many cells together.
KEPT_CELLS = 4_000_000
#: So many tables are named where one is refused.
MOST_NAMED = 3


class PublishedTables(PublishedService):
    """A version of a dataset, answered from published tables.

    Args:
        stored: The version without its records.
        documents: Of the day of publication.
        place: Where the publication stands.
        entry: What it has of the dataset.
    """

    __slots__ = ("_files", "_kept", "_lock", "_place", "_tables")

    def __init__(
        self, stored: StoredDataset, documents: Mapping[str, Any], place: Storage, entry: PublishedDataset
    ) -> None:
        super().__init__(stored, documents)
        self._place = place
        listed = [(TableRequest(**request), ref) for request, ref in entry.tables]
        self._tables = tuple(request for request, _ in listed)
        self._files = {request.identity: ref for request, ref in listed}
        self._kept: OrderedDict[FileRef, StoredRelease] = OrderedDict()
        self._lock = Lock()

    @property
    def tables(self) -> tuple[TableRequest, ...]:
        """The tables that are published, and no others are answered."""
        return self._tables

    def check(self, request: TableRequest) -> CheckedRequest:
        """Whether a request is one of the published tables, whatever its layout.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
            NotPublished: It is not; the nearest that are published are named.
        """
        return self._question(parse_listed_request(self._stored, request))

    def answer(self, asked: CheckedRequest) -> Release:
        """The published table in the layout that is asked for."""
        self._admit(asked)
        laws = partial(laws_of, self._stored.protector)
        return self._read(asked.asked).laid_out(asked.asked, self.dataset, self.digest, laws)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """How large a table is, and whether it is published."""
        found = self.foresee(request)
        near = [] if found.refusal is None else self.repairs(found.asked.request, counting=False)
        return dry_run_document(self._stored, found, next(iter(near), None))

    def refuse_unreleased(self, request: TableRequest) -> None:
        """Refuse a table that is not published."""
        self.check(request)

    def foresee(self, request: TableRequest) -> Attempt:
        """What would become of a request; it is always known."""
        asked = parse_listed_request(self._stored, request)
        try:
            question = self._question(asked)
        except NotPublished as refusal:
            return Attempt(asked, refusal=refusal)
        return Attempt(asked, question, _verdict(self._read(asked).verdict, asked))

    def repairs(
        self,
        request: TableRequest,
        *,
        counting: bool,  # noqa: ARG002 - nothing is counted here
        most: int = MOST_REPAIRS,
    ) -> list[TableRequest]:
        """The published tables that are nearest, in the layout of the request."""
        ranked = sorted(self._tables, key=lambda table: _distance(request, table))
        return [_layout_like(request, table) for table in ranked[:most]]

    def offer(self, request: TableRequest) -> TableRequest | None:
        """The smallest published table with these variables, counted in the same way; None where there is none."""
        wanted = set(request.variables)
        same = [
            table for table in self._tables if wanted <= set(table.variables) and _same_counts(request, table)
        ]
        if not same:
            return None
        return _layout_like(request, min(same, key=lambda table: _distance(request, table)))

    def start(self, request: TableRequest) -> TableRequest:
        """The table that is shown first: this one, if it is published, else the first that is."""
        return self.offer(request) or next(iter(self._tables), request)

    def _question(self, asked: ParsedRequest) -> CheckedRequest:
        if asked.request.identity not in self._files:
            near = self.repairs(asked.request, counting=False, most=MOST_NAMED)
            raise NotPublished(
                message("This table is not among the {many:,} that are published.", many=len(self._tables)),
                message(
                    "Ask for one of the nearest: {tables:semicolon}.",
                    tables=tuple(Message("{names}", {"names": table.variables}) for table in near),
                ),
            )
        stored = self._stored
        return CheckedRequest(stored.dataset, stored.digest, asked, False, (), stored, stored.protector)

    def _read(self, asked: ParsedRequest) -> StoredRelease:
        """The table of a file whose hash was checked; it is that of the question, or it is refused."""
        ref = self._files[asked.request.identity]
        with self._lock:
            found = self._kept.pop(ref, None)
        if found is None:
            found = _read_table(self._place, ref, asked)
        with self._lock:
            self._kept[ref] = found
            while self._cells() > KEPT_CELLS and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return found

    def _cells(self) -> int:
        return sum(each.arrays["values"].size for each in self._kept.values())


def _read_table(place: Storage, ref: FileRef, asked: ParsedRequest) -> StoredRelease:
    try:
        found = read_release(read_file(place, ref))
        if found.request.identity == asked.request.identity:
            return found
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        pass
    raise PublicationUnusable(f"{ref.name!r} is not the table that was published.", "Publish it again.")


def _same_counts(request: TableRequest, table: TableRequest) -> bool:
    """Whether two requests count the same people in the same way, whatever variables they show."""
    same = ("filters", "groups", "totals", "measure", "additivity", "fit_to")
    return all(getattr(request, name) == getattr(table, name) for name in same)


def _distance(request: TableRequest, table: TableRequest) -> tuple[int, int, int]:
    """How far a published table is: by its variables first, then by how they are shown, then by its size."""
    apart = len(set(request.variables) ^ set(table.variables))
    shown = sum(a != b for a, b in zip(request.identity[2:], table.identity[2:], strict=True))
    return apart, shown, len(table.variables)


def _layout_like(request: TableRequest, table: TableRequest) -> TableRequest:
    """A published table with its variables where the request has them; the others stand in the rows."""
    kept = {
        axis: tuple(name for name in getattr(request, axis) if name in table.variables)
        for axis in ("rows", "columns", "layers")
    }
    new = tuple(name for name in table.variables if name not in request.variables)
    return replace(table, rows=kept["rows"] + new, columns=kept["columns"], layers=kept["layers"])


def _verdict(found: dict[str, Any] | None, asked: ParsedRequest) -> Verdict | None:
    """What the rules said when the table was published; which cells are withheld stands in the table."""
    if found is None:
        return None
    places = tuple(each for each in asked.shape.dimensions if each.geography)
    nothing = np.zeros(0, dtype=np.bool_)
    rules = tuple(Finding(**each) for each in found["rules"])
    return Verdict(places, nothing, nothing, found["blocked"], found["total"], found["table_error"], rules)
