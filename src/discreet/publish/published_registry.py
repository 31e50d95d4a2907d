"""The registry and the services of a publication: the same queries as to a workspace, without records, keys or a secret.

    registry = PublishedRegistry(open_storage("/srv/tables"), read_public_key(Path("office.pem")))
    registry.open("census").release(request)      the release that the workspace gave, or a refusal

The cell key method has one public noise table. Under `dp` the plan is public; the noisy residuals of a joint universe answer
its tables, and nothing can be charged. `PublishedTables` answers a request if its cells were published, in any layout,
which follows from the list of tables before a file is read. A refusal names the nearest published tables.

Methodology, budget and versions are those of the day of publication. A new publication in the same place is loaded by
itself; one that is damaged or foreign is refused, and nothing is answered until it is repaired.
"""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from cachetools import LRUCache

from discreet import errors
from discreet.model.dataset import Dataset
from discreet.model.messages.text import Message, message, nearest
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.noise.files import from_document
from discreet.noise.table import NoiseTable
from discreet.protect.description_keys import DescriptionNoise
from discreet.protect.dp_protector import DpProtector
from discreet.protect.joint_residuals import StoredResiduals
from discreet.protect.plan import read_plan
from discreet.protect.protector import CellKeyProtector, Protector
from discreet.publish import publication
from discreet.publish.file_store import Storage
from discreet.publish.release_file import StoredRelease, read_release, unpack
from discreet.records.signing import PublicKey
from discreet.release.checked_request import CheckedRequest, ParsedRequest, parse_listed_request
from discreet.release.dataset_registry import MOST_REPAIRS, Authoriser, DatasetRegistry, DatasetService
from discreet.release.dry_run import Attempt, dry_run_document
from discreet.rules.rule_set import parse_rules
from discreet.rules.verdict import Verdict
from discreet.workspace.versions.history import VersionFacts, resolve_version
from discreet.workspace.versions.public_parts import PublicParts
from discreet.workspace.versions.version import Revisions
from discreet.workspace.workspace import StoredDataset


class Absent:
    """A placeholder for parts that a publication lacks (records, keys, a ledger); any use raises an error."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # special methods that Python looks up
            raise AttributeError(name)
        self()

    def __call__(self, *_given: object) -> NoReturn:
        """Raise the error."""
        raise errors.WorkspaceUnusable(
            "A publication contains no records and no keys.", "Use the workspace that published it."
        )


ABSENT: Any = Absent()


class PublicDpProtector(DpProtector):
    """A plan without a ledger: the version was charged before it was published, and nothing else can be charged."""

    def refuse_uncharged(self) -> None:
        """The publication was signed by the workspace that charged the version."""

    def file_mark(self) -> None:
        """There is no ledger file."""


def public_protector(dataset: Dataset, noise: str, residuals: bytes = b"") -> Protector:
    """The protector of a dataset without its keys, from its public noise, as `DatasetService.noise_text` gives it.

    `residuals` is the file of the noisy residuals of a joint universe, if they are published.

    Raises:
        BadNoiseTable, WorkspaceUnusable, ValueError: The files do not belong together.
    """
    if not dataset.protection.is_dp:
        return CellKeyProtector(ABSENT, from_document(json.loads(noise)), ABSENT)
    plan = replace(read_plan(noise, dataset), answer=None)
    source = DescriptionNoise(ABSENT, dataset, dataset.version, "", plan.noise())
    if plan.joint is None:
        return PublicDpProtector(plan, source, ABSENT)
    if not residuals:  # the distribution follows from the plan; the numbers are in the releases
        return PublicDpProtector(plan, source, ABSENT, ABSENT)
    numbers = np.load(io.BytesIO(residuals), allow_pickle=False)
    return PublicDpProtector(plan, source, ABSENT, StoredResiduals(plan.joint, numbers))


def distributions_of(
    protector: Protector, shape: TableShape
) -> tuple[NoiseDistribution, tuple[NoiseTable, ...]]:
    """The distribution of the noise of a shape, and the noise tables that its note speaks of."""
    if isinstance(protector, DpProtector):
        covering = replace(protector, _cache={})
        covering.find([shape])
        return covering.distribution(shape), covering.tables
    return protector.distribution(shape), protector.tables


class PublishedService(DatasetService):
    """A service with the budget as of the day of publication; nothing can be charged."""

    __slots__ = ("_budget", "_left")

    def __init__(self, stored: StoredDataset, documents: Mapping[str, Any]) -> None:
        super().__init__(stored)
        self._budget: dict[str, Any] | None = documents["budget"]
        self._left: str | None = documents["budget_left"]

    def with_admission(self, admit: Callable[[CheckedRequest], None]) -> Self:
        service = copy(self)
        service._admit = admit  # noqa: SLF001 - its own copy
        return service

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promised and cost when it was published."""
        return super().budget() if self._budget is None else self._budget

    def budget_left(self) -> str | None:
        """The remainder of the budget at publication, in a sentence."""
        return self._left

    def ledger(self) -> dict[str, Any]:
        """Refuse: a publication has no custodians."""
        raise no_accounts_error()

    def margins(self, *_given: Any, **_named: Any) -> dict[str, Any]:
        """Refuse: a publication makes no new releases."""
        raise errors.NotPublished(
            message("This server has published tables only; margins are released by the workspace."),
            message("Request a published table."),
        )


def no_accounts_error() -> errors.BadKey:
    """The error for an API key."""
    return errors.BadKey(
        message("The API key is not accepted: this server has no accounts."),
        message("Leave the key out: the publication is open to everyone."),
    )


#: The size of the cache of tables, in cells.
KEPT_CELLS = 4_000_000
#: How many tables a refusal names.
MOST_NAMED = 3


class PublishedTables(PublishedService):
    """A version of a dataset, answered from published tables; the documents are of the day of publication."""

    __slots__ = ("_cache", "_files", "_lock", "_place", "tables")

    def __init__(
        self,
        stored: StoredDataset,
        documents: Mapping[str, Any],
        place: Storage,
        entry: publication.PublishedDataset,
    ) -> None:
        super().__init__(stored, documents)
        self._place = place
        listed = [(TableRequest(**request), ref) for request, ref in entry.tables]
        self.tables = tuple(request for request, _ in listed)
        self._files = {request.identity: ref for request, ref in listed}
        self._cache: LRUCache[publication.FileRef, StoredRelease] = LRUCache(
            KEPT_CELLS, lambda r: r.arrays["values"].size
        )
        self._lock = threading.Lock()

    def check(self, request: TableRequest) -> CheckedRequest:
        """Find the published table with the cells of a request, in any layout.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request is not valid.
            NotPublished: There is none; the message names the nearest.
        """
        return self._question(parse_listed_request(self._stored, request))

    def answer(self, asked: CheckedRequest) -> Release:
        self._admit(asked)
        distributions = partial(distributions_of, self._stored.protector)
        return self._read(asked.asked).for_request(asked.asked, self.dataset, self.digest, distributions)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """The size of a table, and whether it is published."""
        found = self.foresee(request)
        near = [] if found.refusal is None else self.repairs(found.asked.request, counting=False)
        return {**dry_run_document(self._stored, found, next(iter(near), None))}

    def refuse_unreleased(self, request: TableRequest) -> None:
        self.check(request)

    def foresee(self, request: TableRequest) -> Attempt:
        """The outcome of a request, which is always certain."""
        asked = parse_listed_request(self._stored, request)
        try:
            question = self._question(asked)
        except errors.NotPublished as refusal:
            return Attempt(asked, refusal=refusal)
        found = self._read(asked).verdict
        if found is None:
            return Attempt(asked, question)
        places = tuple(each for each in asked.shape.dimensions if each.geography)
        nothing = np.zeros(0, dtype=np.bool_)  # the withheld cells are marked in the table
        rules = tuple(found["rules"])
        totals = (found["blocked"], found["total"], found["table_error"])
        return Attempt(asked, question, Verdict(places, nothing, nothing, *totals, rules))

    def repairs(
        self,
        request: TableRequest,
        *,
        counting: bool,  # noqa: ARG002 - nothing is counted here
        most: int = MOST_REPAIRS,
    ) -> list[TableRequest]:
        """The nearest published tables, in the layout of the request."""
        ranked = sorted(self.tables, key=lambda table: _distance(request, table))
        return [_layout_like(request, table) for table in ranked[:most]]

    def offer(self, request: TableRequest) -> TableRequest | None:
        """The smallest published table with these variables, counted in the same way; None if there is none."""
        wanted, counts = set(request.variables), _counts(request)
        same = [t for t in self.tables if wanted <= set(t.variables) and _counts(t) == counts]
        nearest = min(same, key=lambda table: _distance(request, table), default=None)
        return None if nearest is None else _layout_like(request, nearest)

    def start(self, request: TableRequest) -> TableRequest:
        """The table that is shown first: this one if it is published, else the first published one."""
        return self.offer(request) or next(iter(self.tables), request)

    def _question(self, asked: ParsedRequest) -> CheckedRequest:
        if asked.request.identity not in self._files:
            near = self.repairs(asked.request, counting=False, most=MOST_NAMED)
            raise errors.NotPublished(
                message("This table is not among the {many:,} that are published.", many=len(self.tables)),
                message(
                    "Request one of the nearest: {tables:semicolon}.",
                    tables=tuple(Message("{names}", {"names": table.variables}) for table in near),
                ),
            )
        stored = self._stored
        return CheckedRequest(stored.dataset, stored.digest, asked, False, (), stored, stored.protector)

    def _read(self, asked: ParsedRequest) -> StoredRelease:
        ref = self._files[asked.request.identity]
        with self._lock:
            found = self._cache.get(ref)
        if found is None:
            with suppress(ValueError, KeyError, TypeError, zipfile.BadZipFile):
                found = read_release(publication.read_file(self._place, ref))
        if found is None or found.request.identity != asked.request.identity:
            raise errors.PublicationUnusable(
                f"{ref.name!r} is not the table that was published.", "Publish it again."
            )
        with self._lock, suppress(ValueError):  # larger than the cache
            self._cache[ref] = found
        return found


def _counts(request: TableRequest) -> list[object]:
    """What is equal for requests that count the same people in the same way, by any variables."""
    same = ("filters", "groups", "totals", "measure", "additivity", "fit_to")
    return [getattr(request, name) for name in same]


def _distance(request: TableRequest, table: TableRequest) -> tuple[int, int, int]:
    """The distance of a published table: by variables first, then by presentation, then by size."""
    apart = len(set(request.variables) ^ set(table.variables))
    shown = sum(a != b for a, b in zip(request.identity[2:], table.identity[2:], strict=True))
    return apart, shown, len(table.variables)


def _layout_like(request: TableRequest, table: TableRequest) -> TableRequest:
    """A published table with its variables where the request has them, and the others in the rows."""
    kept = {
        axis: tuple(name for name in getattr(request, axis) if name in table.variables)
        for axis in ("rows", "columns", "layers")
    }
    new = tuple(name for name in table.variables if name not in request.variables)
    return replace(table, rows=kept["rows"] + new, columns=kept["columns"], layers=kept["layers"])


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """A dataset of a publication whose files were verified and read."""

    service: PublishedService
    versions: tuple[VersionFacts, ...]
    methodology: dict[str, Any]


class PublishedRegistry(DatasetRegistry):
    """The services of a publication, one per dataset; of the authoriser only `admit` is called, before each answer.

    The `trusted` key must have signed it; None takes the publication's own.

    Raises:
        PublicationUnusable: There is none, or it is damaged.
        SignatureUnusable: The signature is another key's, or does not fit.
    """

    __slots__ = ("_lock", "_mark", "_open", "_place", "_publication", "_refused", "_trusted", "signer")

    def __init__(
        self,
        place: Storage,
        trusted: PublicKey | None = None,
        version: str = "",
        gate: Authoriser | None = None,
    ) -> None:
        self._place, self._trusted, self._version = place, trusted, version
        self._gate = gate or Authoriser()
        self._lock = threading.RLock()
        self._open: dict[str, OpenDataset] = {}
        self._refused: dict[str, errors.DiscreetError] = {}
        self._mark: Hashable = place.mark(publication.POINTER)
        self._publication, self.signer = publication.read_publication(place, trusted)

    def at(self, version: str) -> DatasetRegistry:
        return PublishedRegistry(self._place, self._trusted, version, self._gate) if version else self

    def behind(self, gate: Authoriser) -> DatasetRegistry:
        """The same registry with another authoriser, which closes nothing: a publication is public."""
        return PublishedRegistry(self._place, self._trusted, self._version, gate)

    def opener(self) -> Callable[[], DatasetRegistry]:
        return partial(PublishedRegistry, self._place, self._trusted)

    def log_key(self) -> None:
        """None: a publication has no secret."""

    def register(self) -> None:
        """None: a publication has no accounts."""

    def accounts_stamp(self) -> object:
        """None: a publication has no accounts."""
        return None

    def mark(self, dataset_id: str) -> Hashable:
        """A stamp that changes with the publication and with refused datasets."""
        return dataset_id, self._version, self._place.mark(publication.POINTER), tuple(self._refused)

    def prepare(self, *, wait: bool = False) -> None:
        """Nothing to prepare: no records are counted."""

    @property
    def folder(self) -> Path:
        return Path(str(self._place))

    @property
    def options(self) -> Mapping[str, str]:
        """Publisher and licence, if the workspace named them."""
        return self._now().options

    def ids(self) -> list[str]:
        return sorted(self._now().datasets)

    def open(self, dataset_id: str, key: str | None = None, version: str = "") -> DatasetService:
        """The service of a dataset; keys are refused, since a publication has no accounts."""
        if key:
            raise no_accounts_error()
        found = self._open_dataset_once(dataset_id)
        if version or self._version:
            name = version or self._version
            if resolve_version(found.versions, name) != found.service.digest:
                raise errors.VersionClosed(
                    message('Version "{version}" is not published.', version=name),
                    message("Leave `version` out to get the current version."),
                )
        return found.service.with_admission(self._gate.admit)

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        return self._open_dataset_once(dataset_id).versions

    def methodology(self, dataset_id: str, version: str = "") -> dict[str, Any]:
        """The public methodology as of the day of publication."""
        self.open(dataset_id, version=version)
        return self._open_dataset_once(dataset_id).methodology

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read and verify all files of a dataset; returns the version's digest."""
        entry = self._entry(dataset_id)
        try:
            for ref in entry.files():
                publication.read_file(self._place, ref)
                pace(ref.bytes)
        except errors.PublicationUnusable as error:
            with self._lock:
                self._refused[dataset_id] = error
                self._open.pop(dataset_id, None)
            raise
        with self._lock:
            self._refused.pop(dataset_id, None)
        return entry.digest

    def close(self) -> None:
        self._open.clear()

    def _now(self) -> publication.Publication:
        """The current publication; a new one is verified before it is used."""
        with self._lock:
            mark = self._place.mark(publication.POINTER)
            if mark != self._mark:
                self._publication, self.signer = publication.read_publication(self._place, self._trusted)
                self._mark = mark
                self._open.clear()
                self._refused.clear()
            return self._publication

    def _entry(self, dataset_id: str) -> publication.PublishedDataset:
        datasets = self._now().datasets
        if dataset_id not in datasets:
            raise errors.UnknownDataset(
                message('There is no dataset "{dataset_id}".', dataset_id=dataset_id),
                nearest(dataset_id, datasets),
            )
        return datasets[dataset_id]

    def _open_dataset_once(self, dataset_id: str) -> OpenDataset:
        entry = self._entry(dataset_id)
        with self._lock:
            if dataset_id in self._refused:
                raise self._refused[dataset_id]
            if dataset_id not in self._open:
                self._open[dataset_id] = _open_dataset(self._place, dataset_id, entry)
            return self._open[dataset_id]


def _open_dataset(place: Storage, dataset_id: str, entry: publication.PublishedDataset) -> OpenDataset:
    try:
        documents = unpack(publication.read_file(place, entry.parts))
        dataset = PublicParts(
            documents["description"],
            Revisions(**documents["revisions"]),
            documents["wording"],
            {name: publication.read_file(place, ref) for name, ref in entry.boundaries.items()},
            survey=documents.get("survey", {}),
        ).dataset()
        residuals = b"" if entry.universe is None else publication.read_file(place, entry.universe)
        protector = public_protector(dataset, publication.read_file(place, entry.noise).decode(), residuals)
        stored = StoredDataset(
            dataset,
            entry.digest,
            ABSENT,
            protector,
            documents["revisions"]["arithmetic"],
            parse_rules(dataset.rules, dataset),
        )
        service = PublishedService(stored, documents)
        if entry.universe is None:
            service = PublishedTables(stored, documents, place, entry)
        versions = tuple(VersionFacts(**each) for each in documents["versions"])
        return OpenDataset(service, versions, documents["methodology"])
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        raise errors.PublicationUnusable(
            f'The dataset "{dataset_id}" of the publication cannot be read.', "Publish it again."
        ) from None
