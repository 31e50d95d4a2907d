"""What would be published, before anything is counted: which tables, how many files and bytes, and whether that is too much."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

from discreet.answer.measures import measure_kind, measures_of
from discreet.errors import BadDescription, TooMuchToPublish
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.answer.doors import Doors
    from discreet.errors import Refused
    from discreet.model.dataset import Dataset
    from discreet.workspace.public_parts import PublicParts

#: More than this is published only where somebody raises it.
MOST_FILES, MOST_BYTES = 20_000, 2_000_000_000
#: The words of a table, at most.
_WORDS = 20_000
#: More tables than this are not listed one by one to add up their cells.
_MOST_LISTED = 1_000_000
#: Beside the tables: description, noise, list and pointer.
_OTHERS = 4


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be published."""

    files: int = MOST_FILES
    bytes: int = MOST_BYTES

    def refuse_more(self, files: int, size: int) -> None:
        """Refuse before anything is counted.

        Raises:
            TooMuchToPublish: With the number of files and bytes.
        """
        if files > self.files or size > self.bytes:
            raise TooMuchToPublish(
                f"The publication would have {files:,} files and some {size:,} bytes before they are compressed; at most "
                f"{self.files:,} files and {self.bytes:,} bytes are written.",
                "Declare fewer tables in [publish], or raise --most-files and --most-bytes.",
            )


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What would be published.

    Args:
        requests: The tables that are asked for.
        refused: Tables that the declared variables give and the rules refuse, each with the reason.
        files: How many files there are at most.
        bytes: How large they are at most, together.
    """

    requests: tuple[TableRequest, ...]
    refused: tuple[tuple[str, str], ...]
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a dataset.

    Args:
        dataset: Its id.
        digest: The version.
        tables: How many tables; 0 where a universe is published.
        refused: Tables that were left out, each with the reason.
        files: How many files it has there.
        bytes: How large they are together.
        written: How many of them were not there yet.
    """

    dataset: str
    digest: str
    tables: int
    refused: tuple[tuple[str, str], ...]
    files: int
    bytes: int
    written: int


def plan_publication(doors: Doors, dataset_id: str, limits: Limits) -> PublishPlan:
    """Which tables `[publish]` declares, and how much that is; no record is counted.

    Raises:
        BadDescription: Nothing is declared, or a universe that is not there.
        Refused: A table that is named by itself is refused.
        TooMuchToPublish: With the number of files and bytes.
    """
    door, parts = doors.door(dataset_id), doors.public_parts(dataset_id)
    declared = door.dataset.publish
    if declared.is_empty:
        raise BadDescription(
            f'"{dataset_id}" declares nothing to publish.',
            "Add [publish] with `variables` or `tables` to dataset.toml, and run `discreet relabel`.",
        )
    _refuse_no_universe(door.dataset, parts)
    limits.refuse_more(*_at_most(door.dataset))
    requests, refused, size = [], [], len(parts.residuals) if declared.universe else 0
    for request in declared_requests(door.dataset):
        found = door.foresee(request)
        if found.refusal is not None:
            refused.append(left_out(request, found.refusal, declared.tables))
            continue
        requests.append(found.asked.request)
        size += _WORDS + found.asked.shape.cells * _cell_bytes(door.dataset, request.measure)
    limits.refuse_more(len(requests) + _OTHERS, size)
    return PublishPlan(tuple(requests), tuple(refused), len(requests) + _OTHERS, size)


def _at_most(dataset: Dataset) -> tuple[int, int]:
    """How many files and bytes the declared tables have, if no rule refuses one; not even their shapes are made."""
    declared, measures = dataset.publish, measures_of(dataset)
    count = len(declared.variables)
    crossed = sum(comb(count, size) for size in range(1, min(declared.up_to, count) + 1))
    files = len(measures) * (crossed + len(declared.tables))
    if files > _MOST_LISTED:
        return files + _OTHERS, files * _WORDS
    cells = sum(prod(len(dataset.variable(name)) + 1 for name in names) for names in declared.margins())
    each = sum(_cell_bytes(dataset, measure.name) for measure in measures)
    return files + _OTHERS, files * _WORDS + cells * each


def declared_requests(dataset: Dataset) -> Iterator[TableRequest]:
    """The tables that `[publish]` declares, under every measure; the shortest variable along the top."""
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
    """Residuals tell every table of the universe: what a rule would withhold of one, too."""
    if not dataset.publish.universe:
        return
    if not parts.residuals:
        raise BadDescription(
            "universe of [publish] is for a joint dp universe, and this dataset has none.",
            'Declare `variables` or `tables`, or method = "dp" with margins = "joint".',
        )
    if dataset.rules or dataset.publish.variables or dataset.publish.tables:
        raise BadDescription(
            "universe of [publish] gives away the numbers of all its tables, and rules or tables are declared beside it.",
            "Leave universe out and declare the tables, or leave out the rules and the tables.",
        )


def left_out(request: TableRequest, refusal: Refused, tables: tuple[tuple[str, ...], ...]) -> tuple[str, str]:
    """A table that is left out; one that is named by itself is an error."""
    name = "*".join(request.variables)
    if any(set(request.variables) == set(table) for table in tables):
        raise type(refusal)(f'The table "{name}" of [publish] is refused: {refusal.message}', refusal.advice)
    return name, str(refusal.message)


def _cell_bytes(dataset: Dataset, measure: str) -> int:
    """The most that a cell takes: values, noisy counts and status, and what may stand beside them."""
    beside = 2 * measure_kind(measure).weights + dataset.protection.clips + dataset.protection.is_dp
    return 8 + 8 + 1 + 1 + 8 * beside
