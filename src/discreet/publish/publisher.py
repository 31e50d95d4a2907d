"""Publish a dataset: its declared tables as releases, requested through the service as a reader would.

All files are written first and the pointer last, so the former publication stays whole if the process dies. A publisher
holds a `DatasetService`, so a release is all that it can write about the records. Every file is read back and compared
with its release before it is written. Existing files are not written again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import comb, prod
from typing import Any

import numpy as np

from discreet.errors import BadDescription, PublicationUnusable, Refused, SignatureUnusable, TooMuchToPublish
from discreet.model.dataset import Dataset
from discreet.model.description.sections import FileOptions
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.publish import publication
from discreet.publish.file_store import Storage
from discreet.publish.published_registry import distributions_of, public_protector
from discreet.publish.release_file import ARRAYS, REQUEST_FIELDS, pack, read_release, write_release
from discreet.records.signing import SigningKey
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.release.measures import measure_kind, measures_of
from discreet.workspace.versions.public_parts import PublicParts

#: The default limit.
MOST_FILES, MOST_BYTES = 20_000, 2_000_000_000
#: An upper bound for the texts of a table in bytes.
_WORDS = 20_000
#: With more tables than this, their cells are not added up one by one.
_MOST_LISTED = 1_000_000
#: Files in addition to the tables: description, noise, list and pointer.
_OTHERS = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size of a publication."""

    files: int = MOST_FILES
    bytes: int = MOST_BYTES

    def refuse_more(self, files: int, size: int) -> None:
        """Refuse before anything is counted.

        Raises:
            TooMuchToPublish: With the number of files and bytes.
        """
        if files > self.files or size > self.bytes:
            raise TooMuchToPublish(
                f"The publication would have {files:,} files and about {size:,} bytes before compression; the limits "
                f"are {self.files:,} files and {self.bytes:,} bytes.",
                "Declare fewer tables in [publish], or raise --most-files and --most-bytes.",
            )


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What would be published.

    Args:
        refused: Declared tables that the rules refuse, each with the reason.
        files: The maximum number of files; `bytes` is the maximum size of them all.
    """

    requests: tuple[TableRequest, ...]
    refused: tuple[tuple[str, str], ...]
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """The report on one dataset.

    Args:
        tables: The number of tables; 0 if a universe is published.
        refused: Tables that were left out, each with the reason.
        files: The number of its files; `bytes` is their size, and `written` tells how many are new.
    """

    dataset: str
    digest: str
    tables: int
    refused: tuple[tuple[str, str], ...]
    files: int
    bytes: int
    written: int


def plan_publication(registry: DatasetRegistry, dataset_id: str, limits: Limits) -> PublishPlan:
    """The tables that `[publish]` declares, and their size; no record is counted.

    Raises:
        BadDescription: Nothing is declared, or a universe that is not there, or the description is an unchecked draft.
        Refused: A table that is named by itself is refused.
        TooMuchToPublish: With the number of files and bytes.
    """
    service, parts = registry.open(dataset_id), registry.public_parts(dataset_id)
    declared = service.dataset.publish
    if declared.is_empty:
        raise BadDescription(
            f'"{dataset_id}" declares nothing to publish.',
            "Add [publish] with `variables` or `tables` to dataset.toml, and run `discreet relabel`.",
        )
    if service.dataset.unchecked_draft:
        raise BadDescription(
            f'The description of "{dataset_id}" is an unchecked draft.',
            "Check every line, remove `unchecked_draft` from dataset.toml, and run `discreet relabel`.",
        )
    _refuse_no_universe(service.dataset, parts)
    limits.refuse_more(*_upper_bound(service.dataset))
    requests, refused, size = [], [], len(parts.residuals) if declared.universe else 0
    for request in requests_to_publish(service.dataset):
        found = service.foresee(request)
        if found.refusal is not None:
            refused.append(refusal_entry(request, found.refusal, declared.tables))
            continue
        requests.append(found.asked.request)
        size += _WORDS + found.asked.shape.cells * _cell_bytes(service.dataset, request.measure)
    limits.refuse_more(len(requests) + _OTHERS, size)
    return PublishPlan(tuple(requests), tuple(refused), len(requests) + _OTHERS, size)


def _upper_bound(dataset: Dataset) -> tuple[int, int]:
    """Number and size of the files if no rule refuses a table, without computing shapes."""
    declared, measures = dataset.publish, measures_of(dataset)
    count = len(declared.variables)
    crossed = sum(comb(count, size) for size in range(1, min(declared.up_to, count) + 1))
    files = len(measures) * (crossed + len(declared.tables))
    if files > _MOST_LISTED:
        return files + _OTHERS, files * _WORDS
    cells = sum(prod(len(dataset.variable(name)) + 1 for name in names) for names in declared.margins())
    each = sum(_cell_bytes(dataset, measure.name) for measure in measures)
    return files + _OTHERS, files * _WORDS + cells * each


def requests_to_publish(dataset: Dataset) -> Iterator[TableRequest]:
    """The tables that `[publish]` declares, for every measure; the shortest variable in the columns."""
    if dataset.publish.universe:
        return
    levels = dict(dataset.publish.levels)
    for names in dataset.publish.margins():
        laid = tuple(sorted(names, key=lambda name: len(dataset.variable(name)), reverse=True))
        shown = tuple((name, levels[name]) for name in sorted(names) if name in levels)
        rows, columns = laid[: max(1, len(laid) - 1)], laid[1:][-1:]
        for measure in measures_of(dataset):
            yield TableRequest(dataset.id, rows, columns, levels=shown, measure=measure.name)


def _refuse_no_universe(dataset: Dataset, parts: PublicParts) -> None:
    """Residuals give every table of the universe, also cells that a rule would withhold."""
    if not dataset.publish.universe:
        return
    if not parts.residuals:
        raise BadDescription(
            "universe of [publish] is for a joint dp universe, and this dataset has none.",
            'Declare `variables` or `tables`, or method = "dp" with margins = "joint".',
        )
    if dataset.rules or dataset.publish.variables or dataset.publish.tables:
        raise BadDescription(
            "universe of [publish] publishes the numbers of all its tables, so rules and tables cannot be "
            "declared with it.",
            "Leave universe out and declare the tables, or leave out the rules and the tables.",
        )


def refusal_entry(
    request: TableRequest, refusal: Refused, tables: tuple[tuple[str, ...], ...]
) -> tuple[str, str]:
    """The entry of a table that is left out; a table that `tables` names must not be refused."""
    name = "*".join(request.variables)
    if any(set(request.variables) == set(table) for table in tables):
        raise type(refusal)(f'The table "{name}" of [publish] is refused: {refusal.message}', refusal.advice)
    return name, str(refusal.message)


def _cell_bytes(dataset: Dataset, measure: str) -> int:
    """An upper bound for a cell: value, noisy count, status, errors."""
    beside = 2 * measure_kind(measure, dataset).weights + dataset.protection.clips + dataset.protection.is_dp
    return 8 + 8 + 1 + 1 + 8 * beside


@dataclass(frozen=True, slots=True)
class PublishReport(DatasetReport):
    """The same, whether the publication changed, and the fingerprint of the key that signed it."""

    changed: bool
    key: str


def publish(
    registry: DatasetRegistry,
    dataset_id: str,
    place: Storage,
    key: SigningKey,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen value
    options: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> PublishReport:
    """Write the declared tables of a dataset, signed by the workspace's key; other datasets of the publication stay.

    `options` has publisher and licence; `progress` is called with the number of finished tables and of all tables.

    Raises:
        BadDescription, Refused, TooMuchToPublish: As `plan_publication`; nothing is written.
        PublicationUnusable, SignatureUnusable: Something else is there.
    """
    former = _former(place, key)
    plan = plan_publication(registry, dataset_id, limits)
    service, parts = registry.open(dataset_id), registry.public_parts(dataset_id)
    written: list[publication.FileRef] = []

    def keep(content: bytes) -> publication.FileRef:
        ref = publication.ref_to(content)
        with suppress(PublicationUnusable):  # one that is damaged is written again
            if place.size(ref.name) == ref.bytes and publication.read_file(place, ref):
                return ref
        place.write(ref.name, content)
        written.append(ref)
        return ref

    distributions = _distributions(service, parts)
    tables, refused = [], list(plan.refused)
    for number, request in enumerate(plan.requests):
        progress(number, len(plan.requests))
        try:
            question = service.check(request)
            content = _release_bytes(service.answer(question), question, distributions)
        except Refused as refusal:
            refused.append(refusal_entry(request, refusal, service.dataset.publish.tables))
            continue
        tables.append(({name: getattr(question.request, name) for name in REQUEST_FIELDS}, keep(content)))
    documents = {
        "description": parts.description,
        "revisions": asdict(parts.revisions),
        "wording": parts.wording,
        **({"survey": dict(parts.survey)} if parts.survey else {}),
        "versions": [asdict(each) for each in registry.versions(dataset_id)],
        "methodology": registry.methodology(dataset_id),
        "budget": service.budget() if service.dataset.protection.is_dp else None,
        "budget_left": service.budget_left(),
    }
    entry = publication.PublishedDataset(
        service.digest,
        keep(pack(documents)),
        keep(service.noise_text().encode()),
        {name: keep(content) for name, content in parts.boundaries.items()},
        keep(parts.residuals) if service.dataset.publish.universe else None,
        tuple(tables),
    )
    changed = publication.write_pointer(
        place, publication.Publication({**former.datasets, dataset_id: entry}, options or former.options), key
    )
    files = set(entry.files())
    return PublishReport(
        dataset_id,
        service.digest,
        len(tables),
        tuple(refused),
        len(files),
        sum(ref.bytes for ref in files),
        len(set(written)),
        changed,
        key.public.fingerprint,
    )


def _former(place: Storage, key: SigningKey) -> publication.Publication:
    """The publication that is there; that of another workspace is refused."""
    if place.size(publication.POINTER) is None:
        return publication.Publication({})
    try:
        return publication.read_publication(place, key.public)[0]
    except SignatureUnusable:
        raise PublicationUnusable(
            "The folder contains the publication of another workspace.",
            "Choose another folder for this workspace.",
        ) from None
    except PublicationUnusable as error:
        raise PublicationUnusable(
            f"{error.message} Its list of datasets is lost.",
            "Move the folder away, and publish every dataset again.",
        ) from None


def _distributions(service: DatasetService, parts: PublicParts) -> Any:
    """The distributions that a reader of the publication derives; it must derive the same description."""
    dataset = parts.dataset()
    if _description_values(dataset) != _description_values(
        replace(service.dataset, kept_by="", file=FileOptions())
    ):
        raise PublicationUnusable(
            "The description cannot be written without loss.", "Report it: see SECURITY.md."
        )
    return partial(distributions_of, public_protector(dataset, service.noise_text()))


def _description_values(dataset: Dataset) -> list[Any]:
    plain = [
        getattr(dataset, each.name) for each in fields(Dataset) if each.compare and each.name != "variables"
    ]
    return [*plain, *map(asdict, dataset.variables)]


def _release_bytes(release: Release, question: CheckedRequest, distributions: Any) -> bytes:
    content = write_release(release, question.asked)
    again = read_release(content).for_request(question.asked, release.dataset, release.digest, distributions)
    if not same_release(release, again):
        raise PublicationUnusable(
            f'The table "{release.title}" cannot be written without loss.', "Report it: see SECURITY.md."
        )
    return content


def same_release(one: Release, other: Release) -> bool:
    """Whether two releases are equal, with their arrays and the distribution of their noise."""
    told = ("digest", "request", "dimensions", "notes", "promise", "verdict", "measure", "title")
    return (
        all(getattr(one, name) == getattr(other, name) for name in told)
        and all(_same(getattr(one, name), getattr(other, name)) for name in ARRAYS)
        and _same(one.distribution.kind, other.distribution.kind)
        and one.distribution.document() == other.distribution.document()
    )


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.dtype == other.dtype and np.array_equal(one, other))
