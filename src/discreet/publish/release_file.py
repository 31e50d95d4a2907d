"""A release as a file: its arrays and its words, in a ZIP of NumPy's plain arrays and one JSON. No pickle.

    release.json   the canonical request, notes, promise, verdict; labels that differ from the description's
    values.npy     and noisy, status, errors, noise_shares, signed, unrounded, added: each where the release has it

What follows from the public description and the public noise is not stored: dimensions, title, and the law of the noise.
So a file holds the cells of one question, and `KeptRelease.laid_out` gives them to every layout of it.

Source: the format of .npy files, numpy.lib.format.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer.notes import names_note, table_note
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.noise.added_law import AddedLaw
from discreet.publish.packed import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.answer.question import Asked
    from discreet.model.dataset import Dataset
    from discreet.model.noise_law import NoiseLaw
    from discreet.model.shape import Dimension, TableShape
    from discreet.noise.table import NoiseTable

    #: The law of the noise of a shape, and the noise tables of its note; both follow from what is public.
    Laws = Callable[[TableShape], tuple[NoiseLaw, tuple[NoiseTable, ...]]]

WORDS = "release.json"
#: The arrays that a release may have; the first three always.
ARRAYS = ("values", "noisy", "status", "errors", "noise_shares", "signed", "unrounded")
#: Of a request, what decides its cells.
ASKED = (
    "dataset", "rows", "columns", "layers", "filters", "groups", "totals", "levels", "measure", "additivity", "fit_to",
)  # fmt: skip
#: All that a release can have and a file keeps or finds again; another field must be thought about first.
KNOWN = {
    *ARRAYS,
    "dataset",
    "digest",
    "request",
    "dimensions",
    "law",
    "notes",
    "promise",
    "verdict",
    "measure",
}
#: What belongs to one reader, and is never in a file.
ONE_READER = {"charged", "selection", "derived", "view", "heading", "picture"}


@dataclass(frozen=True, slots=True, eq=False)
class KeptRelease:
    """A release without what follows from the description and the noise.

    Args:
        request: The canonical request, in the layout of the file.
        arrays: By name.
        added: Which cells are sums of others; None where none is.
        notes: What readers are told, but for the first note and names of groups.
        promise: What is promised.
        verdict: What the rules found.
        labels: By variable the labels of all its codes, where they are not the description's.
    """

    request: TableRequest
    arrays: Mapping[str, NDArray[Any]]
    added: NDArray[np.bool_] | None
    notes: tuple[str, ...]
    promise: tuple[str, ...]
    verdict: dict[str, Any] | None
    labels: Mapping[str, tuple[tuple[str, ...], str]]

    def laid_out(self, asked: Asked, dataset: Dataset, digest: str, laws: Laws) -> Release:
        """The release of a request that has the same cells, in its own layout."""
        order = [self.request.variables.index(name) for name in asked.request.variables]
        arrays = {name: np.ascontiguousarray(each.transpose(order)) for name, each in self.arrays.items()}
        law, tables = laws(asked.shape)
        if self.added is not None:
            law = AddedLaw(law, self.added.transpose(order))
        dimensions = tuple(map(self._labelled, asked.shape.dimensions))
        additivity = asked.request.additivity or dataset.protection.additivity
        first = table_note(dataset, additivity, dimensions, getattr(law, "counted", law), tables)
        notes = filter(None, (first, *self.notes, names_note(asked.request, dataset)))
        return Release(
            dataset=dataset,
            digest=digest,
            request=asked.request,
            dimensions=dimensions,
            law=law,
            notes=tuple(notes),
            promise=self.promise,
            verdict=self.verdict,
            measure=asked.kind.measure,
            **arrays,  # type: ignore[arg-type]
        )

    def _labelled(self, dimension: Dimension) -> Dimension:
        if dimension.name not in self.labels:
            return dimension
        labels, total = self.labels[dimension.name]
        outputs = zip(dimension.outputs, labels, strict=True)
        named = tuple(replace(output, label=label) for output, label in outputs)
        return replace(dimension, outputs=named, total_label=total)


def write_release(release: Release, asked: Asked) -> bytes:
    """A release as the bytes of a file.

    Args:
        release: A whole table that nobody paid for.
        asked: Its request as it is understood.
    """
    unknown = {each.name for each in fields(Release)} - KNOWN - ONE_READER
    if unknown or release.charged or release.selection or release.derived or release.heading:
        raise ValueError(f"this is no whole release of the public: {sorted(unknown)}")
    named = names_note(release.request, release.dataset)
    words = {
        "request": {name: getattr(release.request, name) for name in ASKED},
        "notes": tuple(note for note in release.notes[1:] if note != named),
        "promise": release.promise,
        "verdict": release.verdict,
        "labels": _labels(release, asked),
    }
    arrays = {name: getattr(release, name) for name in ARRAYS}
    arrays["added"] = release.law.added if isinstance(release.law, AddedLaw) else None
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(WORDS), pack(words))
        for name, array in arrays.items():
            if array is not None:
                archive.writestr(_member(f"{name}.npy"), _npy(array))
    return content.getvalue()


def read_release(content: bytes) -> KeptRelease:
    """The release of a file.

    Raises:
        ValueError, KeyError, TypeError, zipfile.BadZipFile: It is none.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        words = unpack(archive.read(WORDS))
        names = [name.removesuffix(".npy") for name in archive.namelist() if name != WORDS]
        arrays = {
            name: np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False) for name in names
        }
    added = arrays.pop("added", None)
    return KeptRelease(
        TableRequest(**words["request"]), arrays, added, words["notes"], words["promise"], words["verdict"],
        words["labels"],
    )  # fmt: skip


def _labels(release: Release, asked: Asked) -> dict[str, tuple[tuple[str, ...], str]]:
    pairs = zip(release.dimensions, asked.shape.dimensions, strict=True)
    return {
        own.name: (tuple(output.label for output in own.outputs), own.total_label)
        for own, plain in pairs
        if own != plain
    }


def _npy(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.save(content, np.ascontiguousarray(array), allow_pickle=False)
    return content.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    """A member of the ZIP with no time of its own: the same release is the same file."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member
