"""Publish a dataset: its declared tables as releases, each asked for through the door as anybody would.

    publish   every file first, the pointer last: killed at any step, the former publication is whole

A publisher holds a `Door`, so a release is all that it can write of the records. Every file is read back and compared with
its release before it is written. A file that is there already is not written again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import PublicationUnusable, Refused, SignatureUnusable
from discreet.model.dataset import Dataset
from discreet.model.file_section import FileOptions
from discreet.publish.keyless import keyless_protector, laws_of
from discreet.publish.packed import pack
from discreet.publish.publication import (
    POINTER,
    Publication,
    PublishedDataset,
    read_file,
    read_publication,
    ref_to,
    write_pointer,
)
from discreet.publish.publish_plan import Limits, Written, left_out, plan_publication
from discreet.publish.release_file import ASKED, read_release, write_release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question
    from discreet.model.release import Release
    from discreet.publish.place import Place
    from discreet.publish.publication import FileRef
    from discreet.records.signing import SigningKey
    from discreet.workspace.public_parts import PublicParts


@dataclass(frozen=True, slots=True)
class Report(Written):
    """What was published.

    Args:
        changed: Whether the publication is another than before.
        key: The fingerprint of the key that signed it.
    """

    changed: bool
    key: str


def publish(
    doors: Doors,
    dataset_id: str,
    place: Place,
    key: SigningKey,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen value
    options: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Report:
    """Write the declared tables of a dataset, beside the other datasets of the same publication.

    Args:
        doors: Of the workspace.
        dataset_id: The dataset.
        place: Where the publication stands, or will stand.
        key: The workspace's.
        limits: How much may be published.
        options: Who publishes, and under which licence.
        progress: Told how many tables of how many are done.

    Raises:
        BadDescription, Refused, TooMuchToPublish: As `plan_publication`; nothing is written.
        PublicationUnusable, SignatureUnusable: Something else stands at the place.
    """
    former = _former(place, key)
    plan = plan_publication(doors, dataset_id, limits)
    door, parts = doors.door(dataset_id), doors.public_parts(dataset_id)
    written: list[FileRef] = []

    def keep(content: bytes) -> FileRef:
        ref = ref_to(content)
        if not _is_there(place, ref):
            place.write(ref.name, content)
            written.append(ref)
        return ref

    laws = _laws(door, parts)
    tables, refused = [], list(plan.refused)
    for number, request in enumerate(plan.requests):
        progress(number, len(plan.requests))
        try:
            question = door.check(request)
            content = _written(door.answer(question), question, laws)
        except Refused as refusal:
            refused.append(left_out(request, refusal, door.dataset.publish.tables))
            continue
        tables.append(({name: getattr(question.request, name) for name in ASKED}, keep(content)))
    entry = PublishedDataset(
        door.digest,
        keep(pack(_documents(doors, dataset_id, parts))),
        keep(door.noise_text().encode()),
        {name: keep(content) for name, content in parts.boundaries.items()},
        keep(parts.residuals) if door.dataset.publish.universe else None,
        tuple(tables),
    )
    changed = write_pointer(
        place, Publication({**former.datasets, dataset_id: entry}, options or former.options), key
    )
    files = set(entry.files())
    return Report(
        dataset_id,
        door.digest,
        len(tables),
        tuple(refused),
        len(files),
        sum(ref.bytes for ref in files),
        len(set(written)),
        changed,
        key.public.fingerprint,
    )


def _former(place: Place, key: SigningKey) -> Publication:
    """What stands at the place; another's publication is not added to."""
    if place.size(POINTER) is None:
        return Publication({})
    try:
        return read_publication(place, key.public)[0]
    except SignatureUnusable:
        raise PublicationUnusable(
            "Another workspace's publication stands there.", "Choose a folder of its own for this workspace."
        ) from None
    except PublicationUnusable as error:
        raise PublicationUnusable(
            f"{error.message} Which datasets it has is not known any more.",
            "Put the folder aside, and publish every dataset again.",
        ) from None


def _is_there(place: Place, ref: FileRef) -> bool:
    if place.size(ref.name) != ref.bytes:
        return False
    try:
        return bool(read_file(place, ref))
    except PublicationUnusable:
        return False  # damaged: it is written again


def _laws(door: Door, parts: PublicParts) -> Any:
    """The laws that the other side finds; that side must have the same description."""
    dataset = parts.dataset()
    if _said(dataset) != _said(replace(door.dataset, kept_by="", file=FileOptions())):
        raise PublicationUnusable(
            "The description cannot be written without loss.", "Report it: see SECURITY.md."
        )
    return partial(laws_of, keyless_protector(dataset, door.noise_text()))


def _said(dataset: Dataset) -> list[Any]:
    """All that a description says; variables are compared by what they say, too."""
    plain = [
        getattr(dataset, each.name) for each in fields(Dataset) if each.compare and each.name != "variables"
    ]
    return [*plain, *map(asdict, dataset.variables)]


def _written(release: Release, question: Question, laws: Any) -> bytes:
    """A release as a file that gives it again."""
    content = write_release(release, question.asked)
    again = read_release(content).laid_out(question.asked, release.dataset, release.digest, laws)
    if not same_release(release, again):
        raise PublicationUnusable(
            f'The table "{release.title}" cannot be written without loss.', "Report it: see SECURITY.md."
        )
    return content


def same_release(one: Release, other: Release) -> bool:
    """Whether two releases say the same, their arrays and the law of their noise included."""
    told = ("digest", "request", "dimensions", "notes", "promise", "verdict", "measure", "title")
    arrays = ("values", "noisy", "status", "errors", "noise_shares", "signed", "unrounded")
    return (
        all(getattr(one, name) == getattr(other, name) for name in told)
        and all(_same(getattr(one, name), getattr(other, name)) for name in arrays)
        and _same(one.law.kind, other.law.kind)
        and one.law.document() == other.law.document()
    )


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(one.dtype == other.dtype and np.array_equal(one, other))


def _documents(doors: Doors, dataset_id: str, parts: PublicParts) -> dict[str, Any]:
    """What is told of the dataset beside its tables, as it is told today."""
    door = doors.door(dataset_id)
    return {
        "description": parts.description,
        "revisions": asdict(parts.revisions),
        "wording": parts.wording,
        "versions": [asdict(each) for each in doors.versions(dataset_id)],
        "methodology": doors.methodology(dataset_id),
        "budget": door.budget() if door.dataset.protection.is_dp else None,
        "budget_left": door.budget_left(),
    }
