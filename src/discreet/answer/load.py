"""Loading for the faces: `workspace/load.py` makes the version, and the custodian is cautioned before it is served."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.answer import slivers
from discreet.answer.budget_document import amount_document
from discreet.answer.load_cautions import description_cautions, disappearing, left_out_cautions
from discreet.answer.measures import weighted
from discreet.model.dataset_toml import parse_dataset
from discreet.protect.exactness import noise_cautions
from discreet.protect.plan import NoisePlan
from discreet.records.cube import records_in
from discreet.workspace.corrections import KEEP_KEYS, NEW_LINEAGE
from discreet.workspace.demo.build import refuse_demo
from discreet.workspace.load import load_dataset as load_version
from discreet.workspace.load import noise_of
from discreet.workspace.load_dry_run import rehearse_load

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.ledger.entries import Receipt
    from discreet.model.dataset import Dataset
    from discreet.records.changes import Changes
    from discreet.records.engine import Engine
    from discreet.records.staging import Progress
    from discreet.workspace.load_dry_run import Rehearsal


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


def load_dataset(
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
        corrections: `keep-keys`, `collect` or `new-lineage` (`workspace/corrections.py`).
        charged: Under `dp`, told what was charged as soon as it is.
        serve_beside: Whether earlier versions are answered beside this one, however few records differ
            (`workspace/history.py`).
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
            *noise_cautions(noise_of(dataset, beside)),
            *description_cautions(
                dataset, None if dataset.protection.is_dp else records_in(records, dataset)
            ),
            *slivers.cautions(dataset, records),
            *weighted.cautions_on(dataset),
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


def dry_load(
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
    found = rehearse_load(folder, description, records, progress, beside, engine)
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
        "left_out": _left_out(found) if found.dataset.protection.is_dp else None,
        "charge": _charge(found),
    }


def _left_out(found: Rehearsal) -> dict[str, Any]:
    bad = found.left_out
    return {
        "problems": [] if bad is None else list(bad.problems),
        "counts": {} if bad is None else bad.counts,
        "surplus": found.surplus,
    }


def _charge(found: Rehearsal) -> dict[str, Any] | None:
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
