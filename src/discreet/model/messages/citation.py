"""Citation and provenance of a table, as lines of name and text for file formats.

The mandatory note comes first. That counts are perturbed is stated for the table, never for a cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.release import STATUS_MEANING

if TYPE_CHECKING:
    from discreet.model.columns import Listing
    from discreet.model.dataset import Dataset
    from discreet.model.release import Release
    from discreet.model.request import TableRequest


class Citable(Protocol):
    """A release, or a request before it is answered."""

    @property
    def dataset(self) -> Dataset:
        """The public description."""

    @property
    def digest(self) -> str:
        """The version id."""

    @property
    def request(self) -> TableRequest:
        """The canonical request."""

    @property
    def title(self) -> str:
        """The measure and the variables."""


def citation(cited: Citable, address: str = "") -> str:
    """How to cite a table: title, dataset, version, and its URL or query."""
    last = address or message("Query: {query}", query=cited.request.permalink)
    return join_sentences(
        [*_with_full_stops(cited.title), dataset_citation(cited.dataset, cited.digest), last]
    )


def dataset_citation(dataset: Dataset, digest: str) -> str:
    """How to cite a dataset: label, version and source."""
    named = message(
        "{label}, version {version} ({digest})",
        label=dataset.label,
        version=dataset.version,
        digest=digest[:8],
    )
    return join_sentences(_with_full_stops(named, dataset.source))


def _with_full_stops(*parts: str) -> list[str]:
    return [Message("{part:bare}.", {"part": part}) for part in parts if part]


def provenance(release: Release | Listing) -> list[tuple[str, str]]:
    """The lines that accompany a table, without empty ones; a name may occur several times."""
    dataset = release.dataset
    lines = [
        ("title", release.title),
        *(("note", note) for note in release.notes),
        ("perturbed", "Yes: noise protects the numbers of this table. Which cells it changed is not told."),
        *(("promise", sentence) for sentence in release.promise),
        ("dataset", f"{dataset.id}: {dataset.label}"),
        ("source", dataset.source),
        ("version", dataset.version),
        ("digest", release.digest),
        ("citation", citation(release)),
        ("query", release.query),
        ("selection", "" if release.selection is None else release.selection.text),
        ("unit", dataset.unit),
        ("population", dataset.population),
        ("reference date", dataset.reference_date),
        ("method", dataset.protection.method),
        ("additivity", release.request.additivity or dataset.protection.additivity),
        *((f"status {letter}", meaning) for letter, meaning in STATUS_MEANING.items()),
    ]
    return [(name, text) for name, text in lines if text]
