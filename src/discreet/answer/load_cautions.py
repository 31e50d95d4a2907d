"""What a custodian is cautioned of before a version is served, in plain words: ids, rules, size, what disappears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.model.dataset import ROW_NUMBER
from discreet.records.id_like import FEWEST_A_CATEGORY, id_caution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.errors import BadRecords
    from discreet.model.dataset import Dataset

#: More variables than this make very many tables.
MANY_VARIABLES = 30
#: So many names are listed.
MOST_NAMED = 5


#: What every load under `dp` says: the same whatever the records are.
LEFT_OUT = (
    "Under dp no record is a reason to refuse a load, since that would tell of a person. A record that does not fit is "
    "left out, and so are a person's records beyond records_per_unit. `discreet check` tells you alone how many."
)


def description_cautions(dataset: Dataset, records: int | None) -> Iterator[str]:
    """What is asked about a description and so many records; None where nothing may depend on how many there are."""
    if dataset.protection.is_dp:
        yield LEFT_OUT
    for variable in dataset.variables:
        found = id_caution(variable.name, len(variable), records)
        if found is not None:
            yield found
    if not dataset.rules and not dataset.protection.is_dp:
        yield (
            "The description has no [[rule]]: sparse tables and small areas are shown as they come. "
            "`discreet describe` drafts the rules of the demo."
        )
    if len(dataset.variables) > MANY_VARIABLES:
        yield (
            f"{len(dataset.variables)} variables make {_tables(dataset):,} tables: the more can be asked, the more can "
            "be learned about one person. Leave out what nobody will tabulate."
        )
    if dataset.id_column == ROW_NUMBER:
        yield (
            "The records have no id: their keys follow their places in the file. A file in another order, or with a "
            "record more or fewer, has other numbers, and whoever has both versions can average their noise."
        )
    if records is not None and records < FEWEST_A_CATEGORY:
        yield f"The file has {_count(records, 'record')}: hardly anything can be said of so few and protect them."


def left_out_cautions(left_out: BadRecords | None, surplus: int) -> Iterator[str]:
    """What would not be kept under `dp`: exact figures, for the custodian who checks a file."""
    if left_out is not None:
        yield f"Not for release: records that do not fit would be left out. {left_out.message} {left_out.advice}"
    if surplus:
        beyond = f"{_count(surplus, 'record')} beyond records_per_unit would be left out"
        yield f"Not for release: {beyond}; which of a person's records stay is chosen by key."


def _tables(dataset: Dataset) -> int:
    """How many choices of one, two and three variables there are."""
    n = len(dataset.variables)
    return n + n * (n - 1) // 2 + n * (n - 1) * (n - 2) // 6


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def disappearing(before: Dataset, after: Dataset) -> Iterator[str]:
    """What readers of the version that is served will look for in vain."""
    gone = [v.name for v in before.variables if v.name not in {each.name for each in after.variables}]
    if gone:
        yield f"Readers lose {_count(len(gone), 'variable')}: {_named(gone)}. Links to tables of them break."
    for variable in before.variables:
        lost = [] if variable.name in gone else _lost(variable.codes, after.variable(variable.name).codes)
        if lost:
            what = "category" if len(lost) == 1 else "categories"
            yield f"{variable.name} loses {len(lost):,} {what}: {_named(lost)}."
    if before.survey is not None and after.survey is None:
        yield "Readers lose weighted tables: [survey] is gone."
    kinds = [[str(rule.get("kind")) for rule in each.rules] for each in (before, after)]
    lost = [kind for kind in dict.fromkeys(kinds[0]) if kinds[0].count(kind) > kinds[1].count(kind)]
    if lost:
        yield f"Rules that protected the version before are gone: {_named(lost)}."


def _lost(before: Sequence[str], after: Sequence[str]) -> list[str]:
    kept = set(after)
    return [code for code in before if code not in kept]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
