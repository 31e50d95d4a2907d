"""Citation and provenance of a table, parts of refusals, and the attacks of the red team.

The mandatory note comes first. That counts are perturbed is stated for the table, never for a cell.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from discreet.model.columns import Listing
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import coarser
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.release import STATUS_MEANING, Release
from discreet.model.request import TableRequest

#: Of a dataset whose description is a draft: on every page, in every note and citation.
UNCHECKED_DRAFT = message("Unchecked draft on this computer: not for publication")


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
    """How to cite a dataset: label, version and source; of an unchecked draft, that it is not to be cited."""
    named = message(
        "{label}, version {version} ({digest})",
        label=dataset.label,
        version=dataset.version,
        digest=digest[:8],
    )
    draft = [UNCHECKED_DRAFT] if dataset.unchecked_draft else []
    return join_sentences(_with_full_stops(named, dataset.source, *draft))


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


def quote_names(names: Iterable[str]) -> Message:
    """Names in quotes, in a sentence."""
    return Message("{names}", {"names": tuple(f'"{name}"' for name in names)})


def or_coarser(dataset: Dataset, level: str | None) -> str:
    """The end of an advice: a coarser level than the one with the limit."""
    if level is None:
        return ""
    above = coarser(dataset, level)
    if not above:
        return message(", or leave the geography out")
    return message(', or use "{coarser}" in place of "{level}"', coarser=above[0], level=level)


def at_level(level: str | None) -> str:
    """The level at which a limit applies."""
    return "" if level is None else message(' at "{level}" or below', level=level)


def cell_count(cells: int) -> str:
    """The number of cells of a table, rounded to a power of ten where it is huge."""
    if cells < 10**15:
        return Message("{cells:,}", {"cells": cells})
    return message("about 10^{power}", power=len(str(cells)) - 1)


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: the argument of `discreet attack`, and its description. docs/methods/attack-NAME.md explains it."""

    name: str
    what: str

    @property
    def command(self) -> str:
        """The command that measures it for a workspace."""
        return f"discreet attack {self.name} --keep"


RED_TEAM = (
    Attack(
        "bob",
        message(
            "Pairs of tables that differ by one known person are compared, to learn an attribute of this "
            "person."
        ),
    ),
    Attack(
        "averaging",
        message(
            "One count is asked in many ways, in other words and as sums of regrouped parts, and the "
            "answers are averaged."
        ),
    ),
    Attack(
        "versions",
        message(
            "The same tables of two versions are compared, to name the attributes of people who were "
            "removed in between."
        ),
    ),
    Attack(
        "withheld",
        message("Areas that a rule withholds are estimated as totals less the areas that are shown."),
    ),
    Attack(
        "weights",
        message(
            "Counts, weighted counts and sampling errors of the same cells of a survey are put together, "
            "to find the counts."
        ),
    ),
)
