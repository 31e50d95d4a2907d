r"""Load with cautions for the custodian: changed records, ids, missing rules, lost categories, groups that differ by few.

A sliver is a pair of declared groups that differ by few people: a reader who may query both learns about the people in one
and not in the other. For every two declared unions A and B of a variable's categories (categories, coarser levels, code
lists, the total),

    |A \ B| + |B \ A|  in  1 ... k - 1      is reported.

Cautions may show true counts. They are for the custodian only and reach no release.

Source: Rinott et al. (2018), sections 2.2 and 8 (differencing).
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.file_io import toml_string
from discreet.model.hierarchy import finer
from discreet.protect.plan import NoisePlan
from discreet.protect.promise import noise_cautions
from discreet.records.changes import Changes
from discreet.records.draft.column_roles import FEWEST_A_CATEGORY, id_caution
from discreet.records.draft.describe_file import Draft
from discreet.records.draft.toml_text import DRAFT_FORM, one_line
from discreet.records.engine import AggregateQuery, Engine, records_in
from discreet.release.budget_document import amount_document
from discreet.release.measures.weighted import weight_cautions
from discreet.rules.kinds.groups import close_groups
from discreet.survey.form_choice import MOST_COMPARED, weight_report
from discreet.workspace.demo import refuse_demo
from discreet.workspace.folder_layout import read_description
from discreet.workspace.versions.load_version import (
    LoadJob,
    LoadReport,
    cell_key_noise,
    dry_run_load,
    inspect_records,
    load,
    noise_for,
)
from discreet.workspace.versions.version import ERRORS_OF_PEOPLE, errors_of_people
from discreet.workspace.versions.version_conflicts import NEW_LINEAGE

#: Interfaces take the job and the report from here: the load itself is closed to them.
__all__ = ["LoadJob", "LoadReport", "dry_load_document", "load_with_cautions", "weigh_draft"]

#: With more variables than this there are very many tables.
MANY_VARIABLES = 30
#: How many names a caution lists.
MOST_NAMED = 5
#: The first line of what the weights of a survey say.
CONFIDENTIAL_WEIGHTS = "CONFIDENTIAL, from the weights of the records:"
TOO_LARGE = (
    "The survey is too large to compare the forms of weighted tables here: load a part of its variables to see the errors "
    "to expect."
)
#: The caution of every load under `dp`: the same whatever the records are.
LEFT_OUT = (
    "Under dp a load is never refused because of a record, since a refusal could disclose a person. "
    "Records that do not fit are left out, and so are a person's records beyond records_per_unit. "
    "`discreet check` shows you how many."
)
#: Checks under `dp` only.
OF_DP = (
    "the delta that the noise can promise, the budget's cap, its neighbours, and the records of this version"
)
#: What a load checks, in words.
CHECKED = (
    "the description: every key, variable, hierarchy, rule and structural zero",
    "the noise: its design, and how often it would leave a count exact",
    "every record: its columns, categories, id, and structural zeros",
    "a survey's weights: what [survey] declares, and the bias of its form (cell keys; not of records inside Spark)",
    "the lineage: one method and one budget permanently",
    OF_DP,
)


def load_with_cautions(job: LoadJob) -> LoadReport:
    """Load records and collect all cautions in the report; they are computed before the version is served."""
    refuse_demo(job.folder)

    def inspect(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
        records = None if dataset.protection.is_dp else records_in(engine, dataset)
        return (
            *noise_cautions(noise_for(dataset, job.beside)),
            *description_cautions(dataset, records),
            *sliver_cautions(dataset, engine),
            *weight_cautions(dataset),
            *form_cautions(dataset, engine, job.beside),
        )

    report = load(replace(job, inspect=inspect))
    cautions = [each.sentence for each in report.overlaps]
    if report.before is not None and report.changes is not None:
        after = parse_dataset(job.description)
        cautions = [*disappearing(report.before, after), *cautions]
        if report.changes.records or after.protection.is_dp:
            changed = _changes_sentence(report.changes, job.corrections, is_dp=after.protection.is_dp)
            cautions = [changed, *cautions]
        if errors_of_people(report.before):
            cautions.append(f"The previous version is closed. {ERRORS_OF_PEOPLE[0]}")
    return replace(report, cautions=(*cautions, *report.cautions))


def dry_load_document(job: LoadJob) -> dict[str, Any]:
    """What a load would check, charge and leave; nothing is written and nothing is charged.

    Returns:
        `{dataset, method, records, checked, cautions, left_out, charge}`; `charge` is None under the cell key method,
        else `{budget, epsilon, delta, repeat, left}` (rho and distance under the rule zcdp). `left_out` is None there
        too, else `{problems, counts, surplus}`: what does not fit and is not stored, for the custodian alone.
    """

    def inspect(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
        return form_cautions(dataset, engine, job.beside)

    found = dry_run_load(replace(job, inspect=inspect))
    bad, left_out_cautions = found.left_out, []  # exact figures, for a custodian who checks a file
    if bad is not None:
        left_out_cautions.append(
            f"Not for release: records that do not fit would be left out. {bad.message} {bad.advice}"
        )
    if found.surplus:
        left_out_cautions.append(
            f"Not for release: {_count(found.surplus, 'record')} beyond records_per_unit would be left out; which of a "
            "person's records stay is chosen by key."
        )
    left_out = {
        "problems": [] if bad is None else list(bad.problems),
        "counts": {} if bad is None else bad.counts,
        "surplus": found.surplus,
    }
    charge: dict[str, Any] | None = None
    if found.receipt is not None and isinstance(found.noise, NoisePlan):
        receipt, terms = found.receipt, found.noise.terms
        cost = (Fraction(0), Fraction(0)) if receipt.repeat else (receipt.loss, receipt.failure)
        charge = {
            "budget": terms.name,
            **amount_document(cost, terms.composition),
            "repeat": receipt.repeat,
            "left": amount_document(receipt.left, terms.composition),
        }
    return {
        "dataset": found.dataset.id,
        "method": found.dataset.protection.method,
        "records": found.records,
        "checked": [sentence for sentence in CHECKED if found.receipt is not None or sentence != OF_DP],
        "cautions": [
            *noise_cautions(found.noise),
            *description_cautions(found.dataset, found.records),
            *left_out_cautions,
            *(disappearing(found.before, found.dataset) if found.before is not None else ()),
            *(each.sentence for each in found.overlaps),
            *found.cautions,
        ],
        "left_out": left_out if found.dataset.protection.is_dp else None,
        "charge": charge,
    }


def _changes_sentence(changes: Changes, corrections: str, *, is_dp: bool) -> str:
    """What changed against the current version, and what it means for those people; a fixed sentence under `dp`."""
    if is_dp:
        return "A version is served already. Every version has independent noise, which its charge covers."
    records = "record" if changes.added == 1 else "records"
    counts = f"{changes.added:,} {records} added, {changes.removed:,} removed, {changes.changed:,} changed"
    if changes.left_out:
        counts += f" ({', '.join(changes.left_out)} not compared)"
    counts = f"Compared with the current version: {counts}."
    if corrections == NEW_LINEAGE:
        return (
            f"{counts} All numbers change; readers who average both versions get closer to the true counts."
        )
    return (
        f"{counts} Readers with tables of both versions can single out these people, because every cell "
        "without them keeps its number. Publish later with --corrections collect, or change all numbers with "
        "--corrections new-lineage."
    )


def description_cautions(dataset: Dataset, records: int | None) -> Iterator[str]:
    """Cautions about a description and its number of records; None if nothing may depend on that number."""
    if dataset.protection.is_dp:
        yield LEFT_OUT
    for variable in dataset.variables:
        found = id_caution(variable.name, len(variable), records)
        if found is not None:
            yield found
    if not dataset.rules and not dataset.protection.is_dp:
        yield (
            "The description has no [[rule]], so sparse tables and small areas are published as well. `discreet "
            "describe` drafts common rules."
        )
    count = len(dataset.variables)
    if count > MANY_VARIABLES:
        tables = sum(comb(count, size) for size in (1, 2, 3))
        yield (
            f"{count} variables make {tables:,} tables, and every table reveals a little about each person. Leave "
            "out variables that no one will tabulate."
        )
    if dataset.id_column == ROW_NUMBER:
        yield (
            "The records have no id, so their keys depend on their position in the file. If the order or number "
            "of records changes, all numbers change, and readers with both versions can average the noise. Name "
            "an id_column if there is one."
        )
    if records is not None and records < FEWEST_A_CATEGORY:
        yield f"The file has {_count(records, 'record')}: tables of so few records are either useless or disclosive."


def form_cautions(dataset: Dataset, engine: Engine, beside: Path) -> tuple[str, ...]:
    """What the weights of a survey say of its form, with the errors to expect under each; one caution of several lines.

    Under `dp` there is none, because a load may show nothing of the records.
    """
    if dataset.survey is None or dataset.protection.is_dp:
        return ()
    if dataset.survey.sample_size * len(dataset.variables) > MOST_COMPARED:
        return (TOO_LARGE,)
    report = weight_report(dataset, engine, cell_key_noise(dataset.protection, beside))
    return ("\n    ".join([CONFIDENTIAL_WEIGHTS, *report.lines()]),)


def weigh_draft(draft: Draft, file: Path) -> Draft:
    """A draft with the form that fits its weights, and the errors to expect under each form as comments.

    A file that does not fit its draft keeps the draft's own form, and an assumption says why.
    """
    if f"\n{DRAFT_FORM}\n" not in draft.text:
        return draft
    with tempfile.TemporaryDirectory(prefix="discreet-weigh-") as name:
        folder = Path(name)
        for file_name, text in (*draft.code_lists.items(), ("dataset.toml", draft.text)):
            (folder / file_name).write_text(text, "utf-8")
        found: list[str] = []

        def inspect(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
            report = weight_report(dataset, engine, cell_key_noise(dataset.protection))
            found.extend(f"# {one_line(line)}".rstrip() for line in report.lines())
            found.append(f"form = {toml_string(report.proposed.survey.form)}")
            if report.proposed.survey.stratum is not None and report.strata is not None:
                found.append(
                    "# Are these weights public, as the population of a stratum over its sample is? If the sample was"
                )
                found.append("# drawn by these strata, declare strata, too: errors are smaller.")
                found.extend(report.strata.lines)
            return ()

        try:
            text = read_description(folder / "dataset.toml")
            drafted = parse_dataset(text)
            if drafted.survey is None or drafted.survey.sample_size * len(drafted.variables) > MOST_COMPARED:
                return replace(draft, assumed=(*draft.assumed, TOO_LARGE))
            inspect_records(LoadJob(folder, text, file, inspect=inspect))
        except DiscreetError as error:
            return replace(draft, assumed=(*draft.assumed, f"The weights were not analysed: {error.message}"))
    lines = "\n".join([f"# {CONFIDENTIAL_WEIGHTS} Delete these lines before you share the file.", *found])
    return replace(draft, text=draft.text.replace(f"\n{DRAFT_FORM}\n", f"\n{lines}\n", 1))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def disappearing(before: Dataset, after: Dataset) -> Iterator[str]:
    """Variables, categories, weights and rules of the current version that the new one lacks."""
    gone = [v.name for v in before.variables if v.name not in {each.name for each in after.variables}]
    if gone:
        yield f"Readers lose {_count(len(gone), 'variable')}: {_name_list(gone)}. Links to tables of them break."
    for variable in before.variables:
        kept = variable.codes if variable.name in gone else after.variable(variable.name).codes
        if lost := [code for code in variable.codes if code not in set(kept)]:
            what = "category" if len(lost) == 1 else "categories"
            yield f"{variable.name} loses {len(lost):,} {what}: {_name_list(lost)}."
    if before.survey is not None and after.survey is None:
        yield "Weighted tables disappear, because [survey] is gone."
    kinds = [[str(rule.get("kind")) for rule in each.rules] for each in (before, after)]
    lost = [kind for kind in dict.fromkeys(kinds[0]) if kinds[0].count(kind) > kinds[1].count(kind)]
    if lost:
        yield f"Rules of the previous version are missing: {_name_list(lost)}."


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def sliver_cautions(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
    """The slivers of stored records, under the cell key method."""
    if dataset.protection.is_dp:
        return ()
    counts = {}
    for name in variables_to_count(dataset):
        cells, codes = engine.aggregate(AggregateQuery((name,))), np.array(dataset.variable(name).codes)
        counts[name] = dict(zip(codes[cells.codes[0]].tolist(), cells.counts.tolist(), strict=True))
    return find_slivers(dataset, counts)


def variables_to_count(dataset: Dataset) -> tuple[str, ...]:
    """The variables whose one-way counts `find_slivers` needs: finest levels, and those with code lists."""
    levels = {level for hierarchy in dataset.hierarchies for level in hierarchy.levels}
    lists = {code_list.variable for code_list in dataset.code_lists}
    needed = {name for name in levels if not finer(dataset, name)} | lists
    return tuple(v.name for v in dataset.variables if v.name in needed)


def find_slivers(
    dataset: Dataset, counts: Mapping[str, Mapping[str, int]], fewer_than: int = 10
) -> tuple[str, ...]:
    """A sentence for each pair of declared groups that differ by fewer people than a limit.

    `counts` has the people by variable and code; missing codes have none.
    """
    sentences = []
    for name in variables_to_count(dataset):
        if name not in counts:
            continue
        people = np.array(
            [counts[name].get(code, 0) for code in dataset.variable(name).codes], dtype=np.int64
        )
        for one, code, other, close, apart in close_groups(dataset, name, people, fewer_than):
            who = "one person" if apart == 1 else f"{apart} people"
            pair = " and ".join(
                group.capitalize() if level == "total" else f'{group!r} of "{level}"'
                for level, group in ((one, code), (other, close))
            )
            sentences.append(
                f"{pair} differ by {who} "
                f"(fewer than {fewer_than}): merge one with a neighbour, or declare only one of them."
            )
    return tuple(sentences)
