"""The interface of engines: store the records of a version, and run one aggregate over them.

A kind of engine stores the checked, keyed and coded records of a new version, and opens a stored version as an engine. One
module of `records/engines` is one kind and defines `KIND`; other packages call `register`.

An engine groups records by the integer codes of some columns, after filters on codes, and returns for each group its
count, the sum of its record keys and, on request, of weights and other stored integers. Zeros, margins and noise are the
same NumPy code for every engine. An engine may offer a large table in parts (`InParts`), or count a dense table in place
(`CountsDense`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnknownEngine
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential, MeasureSums
from discreet.model.plugins import Extra, Registry
from discreet.records.keys import Secret
from discreet.records.storage import NULL_VALUE, RECORD_KEY, WEIGHT

if TYPE_CHECKING:
    from discreet.records.fingerprint import Fingerprint
    from discreet.records.staging import Progress, Read


#: A choice of groups.
Rows = slice | NDArray[np.bool_] | NDArray[np.intp]
#: The engine of a version that names none.
DEFAULT_ENGINE = "duckdb"


@dataclass(frozen=True, slots=True)
class MeasureQuery:
    """What is added up of a numeric column: its sum and the `top` largest contributions, whether or not `zeros` count."""

    column: str
    top: int
    zeros: bool = False


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """One aggregate: group by columns, filter by codes, sum weights and other columns."""

    group_by: tuple[str, ...]
    filters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    weights: bool = False
    sums: tuple[str, ...] = ()
    measures: tuple[MeasureQuery, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """All columns of codes that the aggregate reads."""
        return frozenset(self.group_by) | {name for name, _ in self.filters}


@dataclass(slots=True, eq=False, repr=False)
class SparseCells(Confidential):
    """The nonempty groups: codes of each grouped variable, records, and sums of keys, weights and other requested columns.

    Confidential, like the exact table made of them.
    """

    codes: tuple[NDArray[np.integer], ...]
    counts: NDArray[np.int64]
    key_sums: NDArray[np.uint64]
    weight_sums: NDArray[np.int64] | None = None
    sums: tuple[NDArray[np.int64], ...] = ()
    measures: tuple[MeasureSums, ...] = ()

    def rows(self, kept: Rows) -> SparseCells:
        """Some of the groups."""
        return SparseCells(
            tuple(codes[kept] for codes in self.codes),
            self.counts[kept],
            self.key_sums[kept],
            None if self.weight_sums is None else self.weight_sums[kept],
            tuple(column[kept] for column in self.sums),
            tuple(each.map(lambda column: column[kept]) for each in self.measures),
        )

    def __repr__(self) -> str:
        return f"<SparseCells by {len(self.codes)} variables, confidential>"


class Engine(Protocol):
    """A store of records that counts them."""

    @property
    def tag(self) -> str:
        """The tag stored with the records; empty if there is none. Constant cost."""

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; exact integers, groups in any order."""

    def sound(self) -> bool:
        """Whether records outside the sealed files are those of the load; reads all of them."""

    def close(self) -> None:
        """Release the records."""


@runtime_checkable
class InParts(Protocol):
    """An engine that can return a large table in parts, without a hash table of all groups."""

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The aggregate in small parts; a group may be in several parts, which add up."""


@runtime_checkable
class CountsDense(Protocol):
    """An engine that can count a dense table in place."""

    def dense(
        self, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
    ) -> SparseCells | None:
        """One group for each cell; None if `aggregate` is the better way.

        `lookups` have for each grouped variable the offset of each code in the flat table; below zero: not counted.
        """


def records_in(engine: Engine, dataset: Dataset) -> int:
    """The number of records. Confidential."""
    return int(engine.aggregate(AggregateQuery((dataset.variables[0].name,))).counts.sum())


def dense_of(
    engine: Engine, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
) -> SparseCells | None:
    """The aggregate as a dense table, if the engine offers that."""
    return engine.dense(query, lookups, cells) if isinstance(engine, CountsDense) else None


def parts_of(engine: Engine, query: AggregateQuery) -> Iterator[SparseCells]:
    """The aggregate in parts, if the engine offers that; else in one."""
    if isinstance(engine, InParts):
        yield from engine.parts(query)
    else:
        yield engine.aggregate(query)


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine, as `[engine]` and `--engine` name it.

    Args:
        store: `store(staged, dataset, folder, tag)` stores the records of a new version. `staged` is an Arrow file with the
            columns of `storage_schema(dataset)`, in the order of the source; it is removed afterwards. The folder
            is renamed or removed as the load ends; every file in it is sealed and must not change afterwards. `tag` is
            stored with the records and returned by the engine.
        open: `open(folder, dataset, threads)` opens a stored version read-only, before or after its folder is renamed.
            `threads` is a hint (None: all cores); no number depends on it.
        forget: `forget(folder)` removes data outside the folder of a version; nothing by default.
        take: `take(records, dataset, secret, folder, fingerprint, progress)` reads, checks and keys records that live
            with the engine, and adds them to the fingerprint; returns `staged` for `store`, and the result of reading.
            None means that the readers of files do it, as for most engines.
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
    """The SQL name of a variable."""
    if not name.isidentifier() or not name.isascii():
        raise ValueError("not a variable name")
    return f"{quote}{name}{quote}"


def select_sql(
    query: AggregateQuery,
    records: str,
    count: str,
    key: str,
    total: str,
    group: str = "{}",
    quote: str = '"',
    largest: str = "",
) -> str:
    """The SQL of an aggregate without its grouping: codes g0, g1, ..., records n, keys k, weights w and sums s0, s1, ...

    `group`, `key` and `total` are expressions of a column, which replaces `{}`; `largest` is a list of the largest values
    of a column, with their number. Without it records are ranked by window functions.

    >>> select_sql(AggregateQuery(("sex",), (("age", (1, 2)),)), "t", "count(*)", "sum({})", "sum({})")
    'SELECT "sex" AS g0, count(*) AS n, sum("record_key") AS k FROM t WHERE "age" IN (1, 2)'
    """

    def listed(expression: str, names: tuple[str, ...], alias: str) -> list[str]:
        columns = (identifier(name, quote) for name in names)
        return [f"{expression.format(column)} AS {alias}{place}" for place, column in enumerate(columns)]

    chosen = [
        *listed(group, query.group_by, "g"),
        f"{count} AS n",
        f"{key.format(identifier(RECORD_KEY, quote))} AS k",
    ]
    chosen += [f"{total.format(identifier(WEIGHT, quote))} AS w"] if query.weights else []
    chosen += listed(total, query.sums, "s")
    inside = (
        f"{identifier(name, quote)} IN ({', '.join(str(int(code)) for code in codes)})"
        for name, codes in query.filters
    )
    where = f" WHERE {' AND '.join(inside)}" if query.filters else ""
    if query.measures:
        chosen += [
            each
            for place in range(len(query.measures))
            for each in _measure_sql(query, place, total, quote, largest)
        ]
        if not largest:
            records, where = _ranked(query, f"{records}{where}", quote), ""
    return f"SELECT {', '.join(chosen)} FROM {records}{where}"


def _contributes(query: MeasureQuery, quote: str) -> str:
    column = identifier(query.column, quote)
    return f"{column} <> {NULL_VALUE}{'' if query.zeros else f' AND {column} <> 0'}"


def _measure_sql(query: AggregateQuery, place: int, total: str, quote: str, largest: str) -> list[str]:
    """Of one measure the contributors c0, their keys q0, the sum t0, and the largest contributions x0_1, x0_2, ..."""
    own = query.measures[place]
    column, inside = identifier(own.column, quote), _contributes(own, quote)

    def of(value: str) -> str:
        return f"CASE WHEN {inside} THEN {value} END"

    summed = (("c", "1"), ("q", identifier(RECORD_KEY, quote)), ("t", column))
    found = [f"coalesce({total.format(of(value))}, 0) AS {kind}{place}" for kind, value in summed]
    for rank in range(1, own.top + 1):
        if largest:
            value = f"({largest.format(of(f'abs({column})'), own.top)})[{rank}]"
        else:
            value = f"max(CASE WHEN _rank{place} = {rank} THEN {of(f'abs({column})')} END)"
        found.append(f"coalesce({value}, 0) AS x{place}_{rank}")
    return found


def measure_columns(query: AggregateQuery) -> list[str]:
    """The names of the columns that `select_sql` adds for measures, in their order."""
    return [
        name
        for place, own in enumerate(query.measures)
        for name in (
            *(f"{kind}{place}" for kind in "cqt"),
            *(f"x{place}_{rank}" for rank in range(1, own.top + 1)),
        )
    ]


def measure_sums(
    query: AggregateQuery, column: Callable[[str], NDArray[np.int64]]
) -> tuple[MeasureSums, ...]:
    """What was added up of measures, from the columns of a result by their names."""
    return tuple(
        MeasureSums(
            column(f"c{place}"),
            column(f"q{place}").astype(np.uint64),
            column(f"t{place}"),
            np.stack([column(f"x{place}_{rank}") for rank in range(1, own.top + 1)], axis=1),
        )
        for place, own in enumerate(query.measures)
    )


def _ranked(query: AggregateQuery, records: str, quote: str) -> str:
    """The records with their ranks by size within their group, one column for each measure."""
    groups = ", ".join(identifier(name, quote) for name in query.group_by)
    within = f"PARTITION BY {groups} " if groups else ""
    ranks = (
        f"row_number() OVER ({within}ORDER BY CASE WHEN {_contributes(own, quote)} "
        f"THEN abs({identifier(own.column, quote)}) ELSE -1 END DESC) AS _rank{place}"
        for place, own in enumerate(query.measures)
    )
    return f"(SELECT *, {', '.join(ranks)} FROM {records}) AS ranked"


_REGISTRY: Registry[EngineKind] = Registry("discreet.records.engines", "KIND", "engine", UnknownEngine)


def engine_kinds() -> tuple[EngineKind, ...]:
    """Every kind of engine."""
    return _REGISTRY.members()


def register(kind: EngineKind) -> None:
    """Add a kind of engine of another package."""
    _REGISTRY.register(kind)


def engine_kind(name: str) -> EngineKind:
    """The kind of a name, ready to use."""
    kind = _REGISTRY.named(name)
    if kind.needs is not None:
        kind.needs.refuse_missing(f'The engine "{name}"')
    return kind


def forget_records(folder: Path) -> None:
    """Remove data that engines keep outside the folder of a removed version or an aborted load."""
    for kind in engine_kinds():
        kind.forget(folder)
