r"""What a custodian is cautioned of before a version is served, in plain words: ids, rules, size, what disappears.

Loading for the faces: `workspace/versions/load_version.py` makes the version, and the custodian is cautioned before
    it is served.

Slivers: declared groups that differ by a handful of people, reported to the custodian before the version is served.

Whoever may ask for two groups learns about the people in one and not in the other. For every two declared
unions A and B of a variable's categories (its categories, coarser levels, code lists, everybody):

    |A \ B| + |B \ A|  in  1 ... k - 1      is reported.

This looks at true counts and is for the custodian's eyes only: nothing here reaches a release or a rule.

Source: Rinott et al. (2018), sections 2.2 and 8 (differencing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import BadRecords
from discreet.ledger.entries import Receipt
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import finer
from discreet.protect.plan import NoisePlan
from discreet.protect.promise import noise_cautions
from discreet.records.changes import Changes
from discreet.records.cubes import records_in
from discreet.records.draft.column_roles import FEWEST_A_CATEGORY, id_caution
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.staging import Progress
from discreet.release.budget_document import amount_document
from discreet.release.measures import weighted
from discreet.rules.close_groups import close_groups
from discreet.workspace.demo.demo_workspace import refuse_demo
from discreet.workspace.versions.load_version import DryRun, dry_run_load, noise_for
from discreet.workspace.versions.load_version import load_dataset as load_version
from discreet.workspace.versions.version_conflicts import KEEP_KEYS, NEW_LINEAGE

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
        yield f"Readers lose {_count(len(gone), 'variable')}: {_name_list(gone)}. Links to tables of them break."
    for variable in before.variables:
        lost = (
            [] if variable.name in gone else _lost_codes(variable.codes, after.variable(variable.name).codes)
        )
        if lost:
            what = "category" if len(lost) == 1 else "categories"
            yield f"{variable.name} loses {len(lost):,} {what}: {_name_list(lost)}."
    if before.survey is not None and after.survey is None:
        yield "Readers lose weighted tables: [survey] is gone."
    kinds = [[str(rule.get("kind")) for rule in each.rules] for each in (before, after)]
    lost = [kind for kind in dict.fromkeys(kinds[0]) if kinds[0].count(kind) > kinds[1].count(kind)]
    if lost:
        yield f"Rules that protected the version before are gone: {_name_list(lost)}."


def _lost_codes(before: Sequence[str], after: Sequence[str]) -> list[str]:
    kept = set(after)
    return [code for code in before if code not in kept]


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


#: What is checked under `dp` alone.
OF_DP = (
    "the delta that the noise can promise, the budget's cap, its neighbours, and the records of this version"
)
#: What a load checks, in words.
CHECKED = (
    "the description: every key, variable, hierarchy, rule and structural zero",
    "the noise: its design, and how often it would leave a count exact",
    "every record: its columns, categories, id, and structural zeros",
    "the lineage: one method and one budget for ever",
    OF_DP,
)


def load_with_cautions(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    caution: Callable[[str], None] = lambda _sentence: None,
    engine: str | None = None,
    corrections: str = KEEP_KEYS,
    charged: Callable[[Receipt], None] = lambda _receipt: None,
    *,
    serve_beside: bool = False,
) -> str:
    """Load records into a workspace, creating it if need be; returns the digest of the version that is served.

    Args:
        folder: The workspace.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Told as the load goes on.
        beside: The folder of the description: a noise table's file is looked for there.
        caution: Told, for the custodian's eyes only, of what changed and what disappears against the version that is
            served, of noise that does little, of variables that look like ids, of missing rules, of declared groups
            that differ by a few people, of weights that the survey's form does not suit, and of other datasets that have
            the same ids.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
        corrections: `keep-keys`, `collect` or `new-lineage` (`workspace/versions/version_conflicts.py`).
        charged: Under `dp`, told what was charged as soon as it is.
        serve_beside: Whether earlier versions are answered beside this one, however few records differ
            (`workspace/versions/history.py`).
    """
    refuse_demo(folder)

    def compare(before: Dataset, changes: Changes) -> None:
        after = parse_dataset(description)
        if changes.any or after.protection.is_dp:
            caution(changes_sentence(changes, corrections, is_dp=after.protection.is_dp))
        for sentence in disappearing(before, after):
            caution(sentence)

    def inspect(dataset: Dataset, records: Engine) -> None:
        sentences = (
            *noise_cautions(noise_for(dataset, beside)),
            *description_cautions(
                dataset, None if dataset.protection.is_dp else records_in(records, dataset)
            ),
            *sliver_cautions(dataset, records),
            *weighted.weight_cautions(dataset),
        )
        for sentence in sentences:
            caution(sentence)

    return load_version(
        folder,
        description,
        records,
        progress,
        beside,
        inspect,
        engine,
        corrections,
        compare,
        charged,
        lambda found: caution(found.sentence),
        serve_beside=serve_beside,
    )


def changes_sentence(changes: Changes, corrections: str, *, is_dp: bool) -> str:
    """What changed against the version that is served, and what it means for those people.

    Under `dp` the sentence is the same whatever changed.
    """
    if is_dp:
        return "A version is served already. Every version has noise of its own, which its charge covers."
    records = "record" if changes.added == 1 else "records"
    told = f"{changes.added:,} {records} added, {changes.removed:,} removed, {changes.changed:,} changed"
    if changes.left_out:
        told += f" ({', '.join(changes.left_out)} not compared)"
    told = f"Against the version that is served: {told}."
    if corrections == NEW_LINEAGE:
        return f"{told} All numbers change; whoever averages both versions is nearer to the truth."
    return (
        f"{told} Whoever has tables of both versions can find these people: every cell without them keeps its "
        "number. --corrections collect publishes nothing yet; --corrections new-lineage changes all numbers."
    )


def dry_load_document(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    engine: str | None = None,
) -> dict[str, Any]:
    """What a load would check, charge and leave; nothing is written and nothing is charged.

    Returns:
        `{dataset, method, records, checked, cautions, left_out, charge}`; `charge` is None under the cell key method,
        else `{budget, epsilon, delta, repeat, left}` (rho and distance under the rule zcdp). `left_out` is None there
        too, else `{problems, counts, surplus}`: what does not fit and is not kept, for the custodian alone.
    """
    found = dry_run_load(folder, description, records, progress, beside, engine)
    return {
        "dataset": found.dataset.id,
        "method": found.dataset.protection.method,
        "records": found.records,
        "checked": [sentence for sentence in CHECKED if found.receipt is not None or sentence != OF_DP],
        "cautions": [
            *noise_cautions(found.noise),
            *description_cautions(found.dataset, found.records),
            *left_out_cautions(found.left_out, found.surplus),
            *(disappearing(found.before, found.dataset) if found.before is not None else ()),
            *(each.sentence for each in found.recognised),
        ],
        "left_out": _left_out_document(found) if found.dataset.protection.is_dp else None,
        "charge": _charge_document(found),
    }


def _left_out_document(found: DryRun) -> dict[str, Any]:
    bad = found.left_out
    return {
        "problems": [] if bad is None else list(bad.problems),
        "counts": {} if bad is None else bad.counts,
        "surplus": found.surplus,
    }


def _charge_document(found: DryRun) -> dict[str, Any] | None:
    if found.receipt is None or not isinstance(found.noise, NoisePlan):
        return None
    receipt, terms = found.receipt, found.noise.terms
    cost = (Fraction(0), Fraction(0)) if receipt.repeat else (receipt.loss, receipt.failure)
    return {
        "budget": terms.name,
        **amount_document(cost, terms.composition),
        "repeat": receipt.repeat,
        "left": amount_document(receipt.left, terms.composition),
    }


def sliver_cautions(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
    """What a custodian should know of records before they are served, by the cell key method."""
    return () if dataset.protection.is_dp else find_slivers(dataset, _one_way_counts(dataset, engine))


def _one_way_counts(dataset: Dataset, engine: Engine) -> dict[str, dict[str, int]]:
    """True counts of single variables."""
    found = {}
    for name in variables_to_count(dataset):
        cells = engine.aggregate(AggregateQuery((name,)))
        codes = dataset.variable(name).codes
        found[name] = {
            codes[c]: n for c, n in zip(cells.codes[0].tolist(), cells.counts.tolist(), strict=True)
        }
    return found


def variables_to_count(dataset: Dataset) -> tuple[str, ...]:
    """The variables whose one-way counts `slivers` needs: finest levels, and those with code lists."""
    levels = {level for hierarchy in dataset.hierarchies for level in hierarchy.levels}
    lists = {code_list.variable for code_list in dataset.code_lists}
    needed = {name for name in levels if not finer(dataset, name)} | lists
    return tuple(v.name for v in dataset.variables if v.name in needed)


def find_slivers(
    dataset: Dataset, counts: Mapping[str, Mapping[str, int]], fewer_than: int = 10
) -> tuple[str, ...]:
    """Sentences that name each pair of declared groups with fewer than so many people between them.

    Args:
        dataset: The description.
        counts: By variable, by code, how many people; codes that are left out have none.
        fewer_than: k: the smallest difference that is not reported.
    """
    return tuple(
        sentence
        for name in variables_to_count(dataset)
        if name in counts
        for sentence in _slivers_of_variable(dataset, name, counts[name], fewer_than)
    )


def _slivers_of_variable(
    dataset: Dataset, name: str, counts: Mapping[str, int], fewer_than: int
) -> Iterator[str]:
    codes = dataset.variable(name).codes
    people = np.array([counts.get(code, 0) for code in codes], dtype=np.int64)
    for one, code, other, close, apart in close_groups(dataset, name, people, fewer_than):
        who = "one person" if apart == 1 else f"{apart} people"
        yield (
            f"{_group_name(one, code)} and {_group_name(other, close)} differ by {who} "
            f"(fewer than {fewer_than}): merge one with a neighbour, or declare only one of them."
        )


def _group_name(level: str, code: str) -> str:
    return code.capitalize() if level == "total" else f'{code!r} of "{level}"'
