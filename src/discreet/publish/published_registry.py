"""The registry of a publication: the same queries as to a workspace, without records, keys or a secret on the machine.

    registry = open_publication(open_storage("/srv/tables"), read_public_key(Path("office.pem")))
    registry.open("census").release(request)      the release that the workspace gave, or a refusal

A dataset answers from its published tables (`published_service.py`), or from the noisy residuals of its joint universe.
Methodology, budget and versions are those of the day of publication. A new publication in the same place is loaded by
itself; one that is damaged or foreign is refused, and nothing is answered until it is repaired.
"""

import threading
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, PublicationUnusable, UnknownDataset, VersionClosed
from discreet.model.messages.text import message, nearest
from discreet.publish.file_store import Storage
from discreet.publish.publication import POINTER, Publication, PublishedDataset, read_file, read_publication
from discreet.publish.published_service import (
    NO_RECORDS,
    PublishedService,
    PublishedTables,
    no_accounts_error,
    public_protector,
)
from discreet.publish.release_file import unpack
from discreet.records.signing import PublicKey
from discreet.release.dataset_registry import Authoriser, DatasetRegistry, DatasetService
from discreet.rules.rule_set import parse_rules
from discreet.workspace.versions.history import VersionFacts, resolve_version
from discreet.workspace.versions.public_parts import PublicParts
from discreet.workspace.versions.version import Revisions
from discreet.workspace.workspace import StoredDataset


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """A dataset of a publication whose files were verified and read."""

    service: PublishedService
    versions: tuple[VersionFacts, ...]
    methodology: dict[str, Any]


class PublishedRegistry(DatasetRegistry):
    """The services of a publication, one per dataset; of the authoriser only `admit` is called, before each answer.

    The `trusted` key must have signed it; None takes the publication's own.
    """

    __slots__ = ("_lock", "_mark", "_open", "_place", "_publication", "_refused", "_trusted", "signer")

    def __init__(
        self, place: Storage, trusted: PublicKey | None, version: str = "", gate: Authoriser | None = None
    ) -> None:
        self._place, self._trusted, self._version = place, trusted, version
        self._gate = gate or Authoriser()
        self._lock = threading.RLock()
        self._open: dict[str, OpenDataset] = {}
        self._refused: dict[str, DiscreetError] = {}
        self._mark: Hashable = place.mark(POINTER)
        self._publication, self.signer = read_publication(place, trusted)

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
        return dataset_id, self._version, self._place.mark(POINTER), tuple(self._refused)

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
                raise VersionClosed(
                    message('Version "{version}" is not the one that is published.', version=name),
                    message("Leave `version` out for the version that is served."),
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
                read_file(self._place, ref)
                pace(ref.bytes)
        except PublicationUnusable as error:
            with self._lock:
                self._refused[dataset_id] = error
                self._open.pop(dataset_id, None)
            raise
        with self._lock:
            self._refused.pop(dataset_id, None)
        return entry.digest

    def close(self) -> None:
        self._open.clear()

    def _now(self) -> Publication:
        """The current publication; a new one is verified before it is used."""
        with self._lock:
            mark = self._place.mark(POINTER)
            if mark != self._mark:
                self._publication, self.signer = read_publication(self._place, self._trusted)
                self._mark = mark
                self._open.clear()
                self._refused.clear()
            return self._publication

    def _entry(self, dataset_id: str) -> PublishedDataset:
        datasets = self._now().datasets
        if dataset_id not in datasets:
            raise UnknownDataset(
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


def open_publication(place: Storage, trusted: PublicKey | None = None) -> PublishedRegistry:
    """Open a publication.

    Raises:
        PublicationUnusable: There is none, or it is damaged.
        SignatureUnusable: The signature is another key's, or does not fit.
    """
    return PublishedRegistry(place, trusted)


def _open_dataset(place: Storage, dataset_id: str, entry: PublishedDataset) -> OpenDataset:
    """Read and verify the files of a dataset."""
    try:
        documents = unpack(read_file(place, entry.parts))
        dataset = PublicParts(
            documents["description"],
            Revisions(**documents["revisions"]),
            documents["wording"],
            {name: read_file(place, ref) for name, ref in entry.boundaries.items()},
        ).dataset()
        residuals = b"" if entry.universe is None else read_file(place, entry.universe)
        protector = public_protector(dataset, read_file(place, entry.noise).decode(), residuals)
        stored = StoredDataset(
            dataset,
            entry.digest,
            NO_RECORDS,
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
        raise PublicationUnusable(
            f'The dataset "{dataset_id}" of the publication cannot be read.', "Publish it again."
        ) from None
