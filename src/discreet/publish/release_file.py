"""A release as a file: a ZIP of plain NumPy arrays and one JSON document. No pickle.

    release.json   the canonical request, notes, promise, verdict; labels that differ from the description's
    values.npy     and noisy, status, errors, noise_shares, signed, unrounded, added, if the release has them
    sampling.*     what the errors of a weighted table depend on (`survey/generalised.py`)

Dimensions, title and the distribution of the noise follow from the public description and noise and are not stored. A
file has the cells of one request, and `StoredRelease.for_request` gives them in any layout.

`pack` serialises public values without loss. Messages keep their template and values, so that pages can translate them:

    pack(("a", message("{n} cells", n=3)))  ->  {"$": "tuple", "of": ["a", {"$": "text", ...}]}

Types that are not listed cannot be packed, so nothing else leaves.

Source: the format of .npy files, numpy.lib.format.
"""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.messages.text import Count, Label, Message
from discreet.model.noise_distribution import NoiseDistribution
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension, TableShape
from discreet.noise.table import NoiseTable
from discreet.noise.table_distribution import DistributionWithSums
from discreet.release.checked_request import ParsedRequest
from discreet.release.notes import magnitude_note, names_note, table_note
from discreet.survey.generalised import TableErrors, from_parts

_KIND = "$"


def pack(value: Any) -> bytes:
    """A value as JSON; equal values give equal bytes."""
    document = json.dumps(_pack(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return document.encode("ascii")


def unpack(content: bytes) -> Any:
    """The value of such a JSON text.

    Raises:
        ValueError, KeyError, TypeError: It is none.
    """
    return _unpack(json.loads(content))


def _pack(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for kind, name, pack in _KINDS:
        if isinstance(value, kind):
            return {_KIND: name, "of": pack(value)} if name else pack(value)
    raise TypeError(f"a {type(value).__name__} is not published")


def _pack_keys(value: dict[Any, Any]) -> dict[str, Any]:
    if not all(isinstance(key, str) and key != _KIND for key in value):
        raise TypeError("only words are keys of what is published")
    return {key: _pack(each) for key, each in value.items()}


#: Types that can be packed, a tag if JSON has no such type, and the function to JSON. Subclasses come first.
_KINDS: tuple[tuple[type | tuple[type, ...], str, Callable[[Any], Any]], ...] = (
    (Message, "text", lambda m: [m.template, _pack_keys(dict(m.values)), m.plural, m.amount]),
    (Label, "label", lambda value: [str.__str__(value), dict(value.others)]),
    (Count, "count", int),
    (str, "", str.__str__),
    ((int, np.integer), "", int),
    ((float, np.floating), "", lambda x: float(x) if isfinite(x) else {_KIND: "float", "of": str(float(x))}),
    (Fraction, "fraction", str),
    (Decimal, "decimal", str),
    (tuple, "tuple", lambda value: [_pack(each) for each in value]),
    (list, "", lambda value: [_pack(each) for each in value]),
    (dict, "", _pack_keys),
)
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "text": lambda of: Message(of[0], _unpack(of[1]), *of[2:]),
    "label": lambda of: Label(*of),
    "count": Count,
    "float": float,
    "fraction": Fraction,
    "decimal": Decimal,
    "tuple": lambda of: tuple(_unpack(each) for each in of),
}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _KIND in value:
        return _PLAIN[value[_KIND]](value["of"])
    return {key: _unpack(each) for key, each in value.items()}


#: From a shape to the distribution of its noise and the noise tables of its note, both public.
Laws = Callable[[TableShape], tuple[NoiseDistribution, tuple[NoiseTable, ...]]]

WORDS = "release.json"
SAMPLING = "sampling."
#: The arrays that a release may have; the first three always.
ARRAYS = ("values", "noisy", "status", "errors", "noise_shares", "signed", "unrounded")
#: The fields of a request that decide its cells.
REQUEST_FIELDS = (
    "dataset", "rows", "columns", "layers", "filters", "groups", "totals", "levels", "measure", "additivity", "fit_to",
)  # fmt: skip
#: The fields of a release that a file stores or derives; a new field must be added to one of these sets.
STORED_FIELDS = {
    *ARRAYS, "dataset", "digest", "request", "dimensions", "distribution", "notes", "promise", "verdict", "measure",
    "sampling",
}  # fmt: skip
#: The fields of one reader's view, which are never in a file.
READER_FIELDS = {"charged", "selection", "derived", "view", "heading", "picture"}


@dataclass(frozen=True, slots=True, eq=False)
class StoredRelease:
    """A release without the parts that follow from the description and the noise.

    Args:
        request: The canonical request, in the layout of the file.
        added: Which cells are sums of others; None if none is.
        notes: The notes except the first and that on names of groups.
        labels: By variable the labels of all its codes, if they differ from the description's.
    """

    request: TableRequest
    arrays: Mapping[str, NDArray[Any]]
    added: NDArray[np.bool_] | None
    notes: tuple[str, ...]
    promise: tuple[str, ...]
    verdict: dict[str, Any] | None
    labels: Mapping[str, tuple[tuple[str, ...], str]]
    sampling: TableErrors | None = None

    def for_request(
        self, asked: ParsedRequest, dataset: Dataset, digest: str, distributions: Laws
    ) -> Release:
        """The release for a request with the same cells, in its layout."""
        order = [self.request.variables.index(name) for name in asked.request.variables]
        arrays = {name: np.ascontiguousarray(each.transpose(order)) for name, each in self.arrays.items()}
        distribution, tables = distributions(asked.shape)
        if self.added is not None:
            distribution = DistributionWithSums(distribution, self.added.transpose(order))
        dimensions = tuple(map(self._with_labels, asked.shape.dimensions))
        additivity = asked.request.additivity or dataset.protection.additivity
        numeric, counted = asked.kind.measure.magnitude, getattr(distribution, "counted", distribution)
        first = (
            magnitude_note(dataset, numeric)
            if numeric
            else table_note(dataset, additivity, dimensions, counted, tables)
        )
        notes = filter(None, (first, *self.notes, names_note(asked.request, dataset)))
        return Release(
            dataset=dataset,
            digest=digest,
            request=asked.request,
            dimensions=dimensions,
            distribution=distribution,
            notes=tuple(notes),
            promise=self.promise,
            verdict=self.verdict,
            measure=asked.kind.measure,
            sampling=self.sampling,
            **arrays,  # type: ignore[arg-type]
        )

    def _with_labels(self, dimension: Dimension) -> Dimension:
        if dimension.name not in self.labels:
            return dimension
        labels, total = self.labels[dimension.name]
        outputs = zip(dimension.outputs, labels, strict=True)
        named = tuple(replace(output, label=label) for output, label in outputs)
        return replace(dimension, outputs=named, total_label=total)


def write_release(release: Release, asked: ParsedRequest) -> bytes:
    """Serialise a whole release without a charge, with its request as it is understood."""
    unknown = {each.name for each in fields(Release)} - STORED_FIELDS - READER_FIELDS
    if unknown or release.charged or release.selection or release.derived or release.heading:
        raise ValueError(f"this is no whole release of the public: {sorted(unknown)}")
    named = names_note(release.request, release.dataset)
    words: dict[str, Any] = {
        "request": {name: getattr(release.request, name) for name in REQUEST_FIELDS},
        "notes": tuple(note for note in release.notes[1:] if note != named),
        "promise": release.promise,
        "verdict": release.verdict,
        "labels": _labels(release, asked),
    }
    arrays = {name: getattr(release, name) for name in ARRAYS}
    if release.sampling is not None:
        words["sampling"], further = release.sampling.parts()
        arrays |= {f"{SAMPLING}{name}": each for name, each in further.items()}
    arrays["added"] = (
        release.distribution.added if isinstance(release.distribution, DistributionWithSums) else None
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(WORDS), pack(words))
        for name, array in arrays.items():
            if array is not None:
                raw = io.BytesIO()
                np.save(raw, np.ascontiguousarray(array), allow_pickle=False)
                archive.writestr(_member(f"{name}.npy"), raw.getvalue())
    return content.getvalue()


def read_release(content: bytes) -> StoredRelease:
    """Parse a release.

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
    further = {name.removeprefix(SAMPLING): arrays.pop(name) for name in names if name.startswith(SAMPLING)}
    sampling = from_parts(words["sampling"], further) if further else None
    return StoredRelease(
        TableRequest(**words["request"]), arrays, added, words["notes"], words["promise"], words["verdict"],
        words["labels"], sampling,
    )  # fmt: skip


def _labels(release: Release, asked: ParsedRequest) -> dict[str, tuple[tuple[str, ...], str]]:
    pairs = zip(release.dimensions, asked.shape.dimensions, strict=True)
    return {
        own.name: (tuple(output.label for output in own.outputs), own.total_label)
        for own, plain in pairs
        if own != plain
    }


def _member(name: str) -> zipfile.ZipInfo:
    """A ZIP member without a timestamp: equal releases give equal files."""
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member
