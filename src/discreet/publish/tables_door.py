"""A door that answers from published tables: a request is answered if its cells were published, in any layout.

Whether it is answered follows from the list of tables alone, before any file is read. A refusal names the published tables
that are nearest.
"""

from __future__ import annotations

import zipfile
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer.door import MOST_REPAIRS
from discreet.answer.dry_run import Attempt, dry_run_document
from discreet.answer.question import Question, read_listed
from discreet.errors import NotPublished, PublicationUnusable
from discreet.model.request import TableRequest
from discreet.model.told import Text, told
from discreet.publish.documented_door import DocumentedDoor
from discreet.publish.keyless import laws_of
from discreet.publish.publication import read_file
from discreet.publish.release_file import read_release
from discreet.rules.verdict import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.answer.question import Asked
    from discreet.model.release import Release
    from discreet.publish.place import Place
    from discreet.publish.publication import FileRef, PublishedDataset
    from discreet.publish.release_file import KeptRelease
    from discreet.workspace.workspace import StoredDataset

#: Tables that were read are kept for the next question up to so many cells together.
KEPT_CELLS = 4_000_000
#: So many tables are named where one is refused.
MOST_NAMED = 3


class TablesDoor(DocumentedDoor):
    """A version of a dataset, answered from published tables.

    Args:
        stored: The version without its records.
        documents: Of the day of publication.
        place: Where the publication stands.
        entry: What it has of the dataset.
    """

    __slots__ = ("_files", "_kept", "_lock", "_place", "_tables")

    def __init__(
        self, stored: StoredDataset, documents: Mapping[str, Any], place: Place, entry: PublishedDataset
    ) -> None:
        super().__init__(stored, documents)
        self._place = place
        listed = [(TableRequest(**request), ref) for request, ref in entry.tables]
        self._tables = tuple(request for request, _ in listed)
        self._files = {request.identity: ref for request, ref in listed}
        self._kept: OrderedDict[FileRef, KeptRelease] = OrderedDict()
        self._lock = Lock()

    @property
    def tables(self) -> tuple[TableRequest, ...]:
        """The tables that are published, and no others are answered."""
        return self._tables

    def check(self, request: TableRequest) -> Question:
        """Whether a request is one of the published tables, whatever its layout.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
            NotPublished: It is not; the nearest that are published are named.
        """
        return self._question(read_listed(self._stored, request))

    def answer(self, asked: Question) -> Release:
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
        asked = read_listed(self._stored, request)
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
        return [_laid_like(request, table) for table in ranked[:most]]

    def offer(self, request: TableRequest) -> TableRequest | None:
        """The smallest published table with these variables, counted in the same way; None where there is none."""
        wanted = set(request.variables)
        same = [
            table
            for table in self._tables
            if wanted <= set(table.variables) and _counts_alike(request, table)
        ]
        if not same:
            return None
        return _laid_like(request, min(same, key=lambda table: _distance(request, table)))

    def start(self, request: TableRequest) -> TableRequest:
        """The table that is shown first: this one, if it is published, else the first that is."""
        return self.offer(request) or next(iter(self._tables), request)

    def _question(self, asked: Asked) -> Question:
        if asked.request.identity not in self._files:
            near = self.repairs(asked.request, counting=False, most=MOST_NAMED)
            raise NotPublished(
                told("This table is not among the {many:,} that are published.", many=len(self._tables)),
                told(
                    "Ask for one of the nearest: {tables:semicolon}.",
                    tables=tuple(Text("{names}", {"names": table.variables}) for table in near),
                ),
            )
        stored = self._stored
        return Question(stored.dataset, stored.digest, asked, False, (), stored, stored.protector)

    def _read(self, asked: Asked) -> KeptRelease:
        """The table of a file whose hash was checked; it is that of the question, or it is refused."""
        ref = self._files[asked.request.identity]
        with self._lock:
            found = self._kept.pop(ref, None)
        if found is None:
            found = _checked(self._place, ref, asked)
        with self._lock:
            self._kept[ref] = found
            while self._cells() > KEPT_CELLS and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return found

    def _cells(self) -> int:
        return sum(each.arrays["values"].size for each in self._kept.values())


def _checked(place: Place, ref: FileRef, asked: Asked) -> KeptRelease:
    try:
        found = read_release(read_file(place, ref))
        if found.request.identity == asked.request.identity:
            return found
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        pass
    raise PublicationUnusable(f"{ref.name!r} is not the table that was published.", "Publish it again.")


def _counts_alike(request: TableRequest, table: TableRequest) -> bool:
    """Whether two requests count the same people in the same way, whatever variables they show."""
    same = ("filters", "groups", "totals", "measure", "additivity", "fit_to")
    return all(getattr(request, name) == getattr(table, name) for name in same)


def _distance(request: TableRequest, table: TableRequest) -> tuple[int, int, int]:
    """How far a published table is: by its variables first, then by how they are shown, then by its size."""
    apart = len(set(request.variables) ^ set(table.variables))
    shown = sum(a != b for a, b in zip(request.identity[2:], table.identity[2:], strict=True))
    return apart, shown, len(table.variables)


def _laid_like(request: TableRequest, table: TableRequest) -> TableRequest:
    """A published table with its variables where the request has them; the others stand in the rows."""
    kept = {
        axis: tuple(name for name in getattr(request, axis) if name in table.variables)
        for axis in ("rows", "columns", "layers")
    }
    new = tuple(name for name in table.variables if name not in request.variables)
    return replace(table, rows=kept["rows"] + new, columns=kept["columns"], layers=kept["layers"])


def _verdict(found: dict[str, Any] | None, asked: Asked) -> Verdict | None:
    """What the rules said when the table was published; which cells are withheld stands in the table."""
    if found is None:
        return None
    places = tuple(each for each in asked.shape.dimensions if each.geography)
    nothing = np.zeros(0, dtype=np.bool_)
    rules = tuple(Finding(**each) for each in found["rules"])
    return Verdict(places, nothing, nothing, found["blocked"], found["total"], found["table_error"], rules)
