"""What an engine must do: keep the records of a version, and run one aggregate over them.

A **kind** of engine stores the checked, keyed and coded records of a new version, and opens a stored version
as an **engine**. One module of `records/engines` is one kind and binds `KIND`; other packages and tests call
`register`. Nothing else lists the kinds.

An engine groups the records by the integer codes of some columns, after filters on codes, and returns
for each group that occurs its count, the sum of its record keys and, if asked, of its fixed-point
weights and of further stored integers (replicate weights, squares of weights), all in one pass. Nothing else
is asked of it: zeros, groups, margins and noise are the same NumPy for every engine. An engine may offer the
records of a large table in parts (`InParts`), so that no second table is in memory beside the one that is made, or
count a table in place (`CountsDense`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from discreet.errors import UnknownEngine
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.plugins import Extra, Registry
from discreet.records.keys import Secret

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.records.fingerprint import Fingerprint
    from discreet.records.staging import Progress, Read

    #: Some groups: from one to another, by a mask, or by their numbers.
    Rows = slice | NDArray[np.bool_] | NDArray[np.intp]


#: The kind of a version that names none.
DEFAULT_ENGINE = "duckdb"


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """One aggregate: group by these columns, keep only these codes, sum weights or not, and these columns.

    A load that compares records groups by the columns of keys and weights, too (`records/changes.py`).
    """

    group_by: tuple[str, ...]
    filters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    weights: bool = False
    sums: tuple[str, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """All columns of codes that the aggregate looks at."""
        return frozenset(self.group_by) | {name for name, _ in self.filters}


class SparseCells(Confidential):
    """The groups that occur. Confidential, like the exact table that is made of it.

    Args:
        codes: One array of integer codes per grouped variable.
        counts: Records in each group.
        key_sums: Sum of record keys in each group.
        weight_sums: Sum of fixed-point weights, or None.
        sums: The sums of the further columns that were asked for, in their order.
    """

    __slots__ = ("codes", "counts", "key_sums", "sums", "weight_sums")

    def __init__(
        self,
        codes: tuple[NDArray[np.integer], ...],
        counts: NDArray[np.int64],
        key_sums: NDArray[np.uint64],
        weight_sums: NDArray[np.int64] | None = None,
        sums: tuple[NDArray[np.int64], ...] = (),
    ) -> None:
        self.codes = codes
        self.counts = counts
        self.key_sums = key_sums
        self.weight_sums = weight_sums
        self.sums = sums

    def rows(self, kept: Rows) -> SparseCells:
        """Some of the groups, in the order of their numbers."""
        return SparseCells(
            tuple(codes[kept] for codes in self.codes),
            self.counts[kept],
            self.key_sums[kept],
            None if self.weight_sums is None else self.weight_sums[kept],
            tuple(column[kept] for column in self.sums),
        )

    def __repr__(self) -> str:
        return f"<SparseCells by {len(self.codes)} variables, confidential>"


class Engine(Protocol):
    """Where the records are and where they are counted."""

    @property
    def tag(self) -> str:
        """The tag that was stored beside the records; empty where there is none. Constant cost."""

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; exact integers, in any order of groups."""

    def sound(self) -> bool:
        """Whether records that are kept outside the sealed files are those of the load; reads all of them."""

    def close(self) -> None:
        """Let go of the records."""


@runtime_checkable
class InParts(Protocol):
    """What an engine may offer besides: the records of a large table in parts, which no table of groups holds."""

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The counts and sums of an aggregate in small parts; a group may be in several, and is then their sum."""


@runtime_checkable
class CountsDense(Protocol):
    """What an engine may offer besides: a dense table, counted in place."""

    def dense(
        self, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
    ) -> SparseCells | None:
        """One group for each of so many places; None where `aggregate` is the better way.

        Args:
            query: What is counted.
            lookups: For each grouped variable how far a code moves a record in the flat table; below zero: not counted.
            cells: The places.
        """


def dense_of(
    engine: Engine, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
) -> SparseCells | None:
    """An aggregate as a dense table, where the engine offers that."""
    return engine.dense(query, lookups, cells) if isinstance(engine, CountsDense) else None


def parts_of(engine: Engine, query: AggregateQuery) -> Iterator[SparseCells]:
    """An aggregate in parts, where the engine offers that; else in one."""
    if isinstance(engine, InParts):
        yield from engine.parts(query)
    else:
        yield engine.aggregate(query)


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine, as `[engine]` and `--engine` name it.

    Args:
        name: What people type.
        summary: What it is, in a few words.
        store: `store(staged, dataset, folder, tag)` keeps the records of a new version. `staged` is an Arrow file with
            the columns of `storage_schema(dataset)`, in the order of the source; it is removed afterwards. Records
            kept in `folder` move and vanish with it, since the folder is renamed or removed as the load ends; every
            file in it is sealed, and may not change afterwards. `tag` is kept beside the records and given back.
        open: `open(folder, dataset, threads)` opens a stored version, read-only; its folder has its last name now, or
            that of the load where records are compared before they are served.
            `threads` is a wish (None: as many as there are cores), and no number depends on it.
        needs: What must be installed for it.
        forget: `forget(folder)` removes what is kept outside the folder of a version; nothing by default.
        take: `take(records, dataset, secret, folder, fingerprint, progress)` reads, checks and keys records that live
            with the engine, and adds them to the fingerprint; gives what `store` takes as `staged`, and what was read.
            None where the readers of files do it, as for most engines.
    """

    name: str
    summary: str
    store: Callable[[Path, Dataset, Path, str], None]
    open: Callable[[Path, Dataset, int | None], Engine]
    needs: Extra | None = None
    forget: Callable[[Path], None] = lambda _folder: None
    take: Callable[[object, Dataset, Secret, Path, Fingerprint, Progress], tuple[Path, Read] | None] = (
        lambda *_given: None
    )


def identifier(name: str, quote: str = '"') -> str:
    """The name of a variable in SQL."""
    if not name.isidentifier() or not name.isascii():
        raise ValueError("not a variable name")
    return f"{quote}{name}{quote}"


def where_sql(query: AggregateQuery, quote: str = '"') -> str:
    """The filters of an aggregate in SQL.

    >>> where_sql(AggregateQuery(("sex",), (("age", (1, 2)),)))
    ' WHERE "age" IN (1, 2)'
    """
    each = (
        f"{identifier(name, quote)} IN ({', '.join(str(int(code)) for code in codes)})"
        for name, codes in query.filters
    )
    return f" WHERE {' AND '.join(each)}" if query.filters else ""


_REGISTRY: Registry[EngineKind] = Registry("discreet.records.engines", "KIND", "engine", UnknownEngine)


def engine_kinds() -> tuple[EngineKind, ...]:
    """Every kind of engine."""
    return _REGISTRY.members()


def register(kind: EngineKind) -> None:
    """Offer a kind of engine of another package.

    Raises:
        ValueError: Its name is taken.
    """
    _REGISTRY.register(kind)


def engine_kind(name: str) -> EngineKind:
    """The kind of a name, ready to use.

    Raises:
        UnknownEngine: With the nearest name.
        MissingExtra: It is not installed; the message says what to install.
    """
    kind = _REGISTRY.named(name)
    if kind.needs is not None:
        kind.needs.refuse_missing(f'The engine "{name}"')
    return kind


def forget_records(folder: Path) -> None:
    """Remove what engines keep outside the folder of a version that is removed, or of a load that did not end."""
    for kind in engine_kinds():
        kind.forget(folder)
