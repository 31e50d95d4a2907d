"""The datasets of a server, with the interface of a workspace's registry, over HTTP.

    registry = RemoteRegistry(Connection("https://host"))
    registry.open("census").release(request)      the numbers that the server releases

Files, intervals and tests of a table are requested from the server as well, and refused if the server has another
version of the table by then: two versions are never mixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf, nan
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import numpy as np

from discreet.api.remote_release import RemoteRelease, read_dataset, read_release
from discreet.api.server_url import reject_malformed
from discreet.api.table import TableBackend
from discreet.errors import BadRequest, ServerUnusable
from discreet.formats import Format
from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape
from discreet.model.messages.text import printable
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.view import NO_VIEW, View
from discreet.workspace.versions.history import VersionFacts

if TYPE_CHECKING:
    from discreet.api.connection import Connection, ServerResponse
    from discreet.api.table import Cells, Limits
    from discreet.inference.confidence_intervals.count_intervals import Interval
    from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio
    from discreet.inference.version_comparison import VersionComparison


class RemoteRegistry(TableBackend):
    """The datasets of a server, and the backend of its tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def place(self) -> str:
        return self._connection.base

    def ids(self) -> list[str]:
        return [dataset_id for dataset_id, _, _ in self.summaries()]

    def summaries(self) -> list[tuple[str, str, str]]:
        """The id, the label and the variables of each dataset."""
        listed = self._connection.fetch("/api/datasets").json()
        with reject_malformed():
            return [(each["id"], each["label"], ", ".join(each["variables"])) for each in listed["datasets"]]

    def open(self, dataset_id: str, key: str | None = None, version: str = "") -> RemoteService:  # noqa: ARG002 - the connection has the key
        """One dataset, or a version of it; an unknown one fails at the first query."""
        return RemoteService(self._connection, dataset_id, version)

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        document = self.open(dataset_id).document("versions")
        with reject_malformed():
            return tuple(VersionFacts(**each) for each in document["versions"])

    def methodology(self, dataset_id: str, version: str = "") -> dict[str, Any]:
        return self.open(dataset_id, version=version).document("methodology")

    def verify(self, dataset_id: str) -> NoReturn:
        """Refused: records are compared where they are stored."""
        raise BadRequest(
            f'The records of "{dataset_id}" are on the server.',
            "Run `discreet verify` there, in its workspace.",
        )

    def close(self) -> None:
        self._connection.close()

    def stream(self, release: Release, form: Format) -> Iterator[bytes]:
        drawn = [] if release.picture is None else release.picture.to_query()
        query = [*release.view.to_query(), ("format", form.name), *drawn]
        return iter([self._query(release, "table", query)[0]])

    def apply_view(self, release: Release, view: View) -> Release:
        """The table with percentages and ranks, or with some of its rows, computed by the server.

        Raises:
            BadRequest: The view cannot be shown, or the server has a newer version.
        """
        if not view:
            return release
        service = _service_of(self._connection, release)
        found = service.release(release.request, view)
        if found.digest != release.digest:
            raise _version_error(release)
        return replace(found, charged=release.charged)

    def compare_versions(self, release: Release, other: Release, level: float) -> VersionComparison:
        from discreet.inference.version_comparison import common_cells, read_version_comparison

        query = [*table_query(release.request), ("with", other.digest), ("level", str(level))]
        common_cells(release, other)
        found = self.open(release.dataset.id, version=release.digest).document("compare", query)
        with reject_malformed():
            return read_version_comparison(release, other, found)

    def interval(self, release: Release, cells: Cells, level: float, others: Mapping[str, Cells]) -> Interval:
        from discreet.inference.confidence_intervals.count_intervals import Interval
        from discreet.inference.confidence_intervals.normal_intervals import WeightedInterval
        from discreet.inference.confidence_intervals.table_intervals import cell_codes

        query = [("level", str(level))]
        for name, group in (("cell", cells), *others.items()):
            query += [(name, _cell_text(release, cell_codes(release.dimensions, cell))) for cell in group]
        if not cells:
            raise BadRequest("No cell is named.", "Name one, as in sex=1,age=20-24.")
        found = self._query(release, "interval", query)[1]
        with reject_malformed():
            estimate, low, high = (found[name] for name in ("estimate", "low", "high"))
            limits = (-inf if low is None else low, inf if high is None else high)
            numbers = (nan if estimate is None else estimate, *limits, found["level"])
            if "relative_standard_error" in found:
                return WeightedInterval(*numbers, found["relative_standard_error"])
            return Interval(*numbers)

    def every_interval(self, release: Release, level: float) -> Limits:
        found = self._query(release, "interval", [("level", str(level))])[1]
        with reject_malformed():
            limits = {tuple(cell["codes"]): cell for cell in found["cells"]}
            shown = [limits[codes] for codes in product(*(d.codes for d in release.dimensions))]
            pairs = [[-1 if cell[name] is None else cell[name] for name in ("low", "high")] for cell in shown]
            low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            return low.reshape(release.values.shape), high.reshape(release.values.shape)

    def independence(self, release: Release, options: dict[str, Any]) -> LikelihoodRatio:
        """Whether the two variables of the table are independent, by the server's choice of method.

        Raises:
            BadRequest: Options: a server takes none.
        """
        from discreet.inference.hypothesis_tests.likelihood_ratio import read_likelihood_ratio

        if options:
            raise BadRequest(
                f"A server chooses the method of its tests itself; {', '.join(options)} cannot be chosen.",
                "Leave them out.",
            )
        if release.view.top or release.view.hide_empty:
            raise BadRequest(
                "A server tests whole tables; this one shows some of its rows.",
                "Test the table without top and hide_empty.",
            )
        found = self._query(release, "test/independence", [])[1]
        with reject_malformed():
            return read_likelihood_ratio(found)

    def _query(self, release: Release, what: str, query: list[tuple[str, str]]) -> tuple[bytes, Any]:
        """The body of a response about a table and, if it is no file, its JSON; only of the table's version."""
        service = _service_of(self._connection, release)
        answer = service.fetch(what, [*table_query(release.request), *query])
        service.refuse_replaced(release)
        return answer.body, None if what == "table" else _printable_document(answer.json())

    def __repr__(self) -> str:
        return f"<RemoteRegistry of {self.place}>"


class RemoteService:
    """One dataset of a server, or a version of it."""

    def __init__(self, connection: Connection, dataset_id: str, version: str = "") -> None:
        self._connection, self._id, self._version = connection, dataset_id, version

    @property
    def path(self) -> str:
        return f"/api/datasets/{quote(self._id, safe='')}"

    @property
    def dataset(self) -> Dataset:
        return self._description()[0]

    def _description(self) -> tuple[Dataset, str]:
        document = self.fetch("").json()
        with reject_malformed():
            shapes = [each["name"] for each in document["variables"] if each.get("boundaries")]
            return replace(read_dataset(document), boundaries=_Shapes(self, shapes)), document["digest"]

    def fetch(self, what: str, query: Sequence[tuple[str, str]] = ()) -> ServerResponse:
        """The response for a path below the dataset's."""
        return self._connection.fetch(f"{self.path}/{what}".rstrip("/"), self._with_version(query))

    def nonzero(self, request: TableRequest, form: Format) -> Iterator[bytes]:
        """The nonzero cells, in the bytes that the server sends, as a stream."""
        query = [*table_query(request), ("nonzero", "yes"), ("format", form.name)]
        return self._connection.stream(f"{self.path}/table", self._with_version(query))

    def _with_version(self, query: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return [*query, *([("version", self._version)] if self._version else [])]

    def release(self, request: TableRequest, view: View = NO_VIEW) -> RemoteRelease:
        """The table that the server releases, or its refusal.

        Raises:
            ServerUnusable: The dataset is being replaced too often to be queried.
        """
        for _attempt in range(3):
            answer = self.fetch("table", _json_query(request, view))
            document = answer.json()
            dataset, digest = self._description()
            with reject_malformed():
                found = read_release(document, dataset, answer.tag, answer.charged, self._version)
            if found.digest == digest:
                return found
        raise ServerUnusable(f'The dataset "{self._id}" is being replaced.', "Try again later.")

    def check(self, request: TableRequest, view: View = NO_VIEW) -> None:
        """Raise the server's refusal before anything is charged."""
        query = [*table_query(request), *view.to_query(), ("dry_run", "1")]
        if not self.document("table", query)["allowed"]:
            self.release(request)

    def refuse_replaced(self, release: Release) -> None:
        """Refuse a response of another version than the table's.

        Raises:
            BadRequest: The server has a newer version.
        """
        tag = release.tag if isinstance(release, RemoteRelease) else ""
        query = self._with_version(_json_query(release.request, release.view))
        answer = self._connection.get(f"{self.path}/table", query, tag)
        if answer is None:
            return
        with reject_malformed():
            digest = answer.json()["extension"]["digest"]
        if digest != release.digest:
            raise _version_error(release)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        return self.document("table", [*table_query(request), ("dry_run", "1")])

    def budget(self) -> dict[str, Any]:
        return self.document("budget")

    def ledger(self) -> dict[str, Any]:
        return self.document("ledger")

    def document(self, what: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
        """The JSON document for a path below the dataset's."""
        document = self.fetch(what, query).json()
        with reject_malformed():
            return dict(_printable_document(document))

    def __repr__(self) -> str:
        return f"<RemoteService of {self._id} at {self._connection.base}>"


class _Shapes(Mapping[str, Boundaries]):
    """The boundaries of a dataset, each fetched when a map needs it."""

    def __init__(self, service: RemoteService, names: Sequence[str]) -> None:
        self._service, self._names = service, names
        self._found: dict[str, Boundaries] = {}

    def __getitem__(self, name: str) -> Boundaries:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = Boundaries(self._service.fetch(f"boundaries/{name}").body)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _service_of(connection: Connection, release: Release) -> RemoteService:
    version = release.asked_version if isinstance(release, RemoteRelease) else ""
    return RemoteService(connection, release.dataset.id, version)


def _version_error(release: Release) -> BadRequest:
    return BadRequest(
        f"The server has replaced version {release.digest[:8]} of this table.",
        "Ask for the table again: its numbers may be others now.",
    )


def _json_query(request: TableRequest, view: View) -> list[tuple[str, str]]:
    return [*table_query(request), *view.to_query(), ("format", "json")]


def table_query(request: TableRequest) -> list[tuple[str, str]]:
    """A request as query parameters; the measure is always named, since a server's default may differ."""
    query = request.to_query()
    return query if any(name == "measure" for name, _ in query) else [*query, ("measure", request.measure)]


def _printable_document(document: Any) -> Any:
    """A document with control characters removed from its texts, safe for a terminal."""
    if isinstance(document, dict):
        return {name: _printable_document(part) for name, part in document.items()}
    if isinstance(document, list):
        return [_printable_document(part) for part in document]
    return printable(document) if isinstance(document, str) else document


def _cell_text(release: Release, codes: Sequence[str]) -> str:
    """A cell as in a URL: `sex=1,age=20-24`."""
    if len(codes) != len(release.dimensions):
        raise BadRequest(
            f"There is no cell ({', '.join(map(repr, codes))}).",
            f"Give one code each of {', '.join(d.name for d in release.dimensions)}.",
        )
    pairs = zip(release.dimensions, codes, strict=True)
    return ",".join(f"{escape(dimension.name)}={escape(str(code))}" for dimension, code in pairs)
