"""`discreet load`: check records against their description and store them as a new version."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from discreet.cli.console import emit_json, messages
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.shared_options import OutcomeOption, WorkspaceOption

if TYPE_CHECKING:
    from discreet.ledger.entries import Receipt
    from discreet.model.dataset import Dataset

MOST_CAUTIONS = 20


def load(
    description: Annotated[Path, typer.Argument(help="The dataset.toml.")],
    file: Annotated[
        str,
        typer.Argument(
            help="The records: a file of any kind that `describe` reads, or with --engine spark a table or address "
            "in Spark (spark:census.people, spark:hdfs://name/people)."
        ),
    ],
    engine: Annotated[
        str | None,
        typer.Option(
            help="The engine that keeps the records; by default the one that the description or the workspace names.",
        ),
    ] = None,
    corrections: Annotated[
        str,
        typer.Option(
            help="Where records differ from those that are served: keep-keys (serve them; cells that did not change "
            "keep their numbers), collect (compare only, serve nothing yet) or new-lineage (all numbers change).",
        ),
    ] = "keep-keys",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check all that a load could be refused for; tell what would be charged; write and charge nothing.",
        ),
    ] = False,
    serve_beside: Annotated[
        bool,
        typer.Option(
            "--serve-beside",
            help="Answer earlier versions (version=) beside this one, however few records differ.",
        ),
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: OutcomeOption = False,
) -> None:
    """Check a file of records against its dataset.toml and load it; bad input leaves nothing behind."""
    from discreet.cli.console import load_bars, report_problems
    from discreet.model.description.dataset_toml import parse_dataset
    from discreet.release.load_cautions import LoadJob, dry_load_document, load_with_cautions
    from discreet.workspace.description_file import name_description_in_errors, read_description
    from discreet.workspace.options import workspace_folder
    from discreet.workspace.versions.lineage import lineage_defaults

    text = read_description(description)
    folder = workspace_folder(workspace)
    with name_description_in_errors(description):
        dataset = parse_dataset(text, lineage_defaults(folder, text))
    if dry_run:
        _refuse_corrections(corrections)
    with (
        report_problems(as_json=as_json),
        name_description_in_errors(description),
        load_bars() as progress_for,
    ):
        progress = progress_for(dataset.id, None)
        job = LoadJob(folder, text, file, progress, description.parent, engine, corrections, serve_beside)
        found = dry_load_document(job) if dry_run else None
        report = None if dry_run else load_with_cautions(job)
    if found is not None:
        show_dry_run(found, as_json=as_json)
    if report is None:
        return
    digest = report.digest
    _tell(report.cautions)
    if corrections == "collect":
        messages.print(f"Nothing was published: {dataset.id} stays at version {digest[:8]}.", soft_wrap=True)
    if as_json:
        emit_json(
            {"dataset": dataset.id, "digest": digest, "workspace": str(folder), **_charged(report.receipt)}
        )
    elif corrections != "collect":
        messages.print(f"Loaded {dataset.id}, version {digest[:8]}, into {folder}", soft_wrap=True)
        if corrections == "new-lineage":
            messages.print("It has new keys: all its numbers change.")
        _tell_replaced(folder, dataset.id)
        if report.receipt is not None:
            _tell_charge(report.receipt, dataset)
            _tell_left(folder, dataset.id)


COMMAND = Command(load, MAKE_TABLES)


def _tell_charge(receipt: Receipt, dataset: Dataset) -> None:
    """What the load was charged; nothing where the same records and plan were charged before."""
    from discreet.model.privacy_budget import format_amount
    from discreet.model.universe import dp_terms

    basic = dp_terms(dataset)[0].composition == "basic"
    names = ("epsilon", "delta") if basic else ("rho", "distance")
    cost = f"{names[0]} {format_amount(receipt.loss)}, {names[1]} {format_amount(receipt.failure)}"
    messages.print(f"Charged {cost}{' before, and nothing now' if receipt.repeat else ''}.", soft_wrap=True)


def _charged(receipt: Receipt | None) -> dict[str, Any]:
    """Under `dp`, what was charged now and what the budget has left: loss and failure."""
    if receipt is None:
        return {}
    return {
        "charged": [0.0, 0.0] if receipt.repeat else [float(receipt.loss), float(receipt.failure)],
        "left": [float(amount) for amount in receipt.left],
    }


def show_dry_run(found: dict[str, Any], *, as_json: bool) -> None:
    """What a load would do, for people or as JSON."""
    if as_json:
        emit_json(found)
        return
    for sentence in found["checked"]:
        messages.print(f"Checked {sentence}.", soft_wrap=True)
    messages.print(f"{found['records']:,} record{'' if found['records'] == 1 else 's'}.")
    _tell(found["cautions"])
    charge = found["charge"]
    if charge is not None:
        loss = next(name for name in ("epsilon", "rho") if name in charge)
        messages.print(
            f'A load would charge {loss} {charge[loss]:.12g} to the budget "{charge["budget"]}"'
            f"{', which was charged before,' if charge['repeat'] else ''} and leave {charge['left'][loss]:.12g}.",
            soft_wrap=True,
        )
    messages.print(
        "Not looked at: which records changed against the version that is served, and groups that differ by a few "
        "people. A load cautions you of them; --corrections collect tells what changed.",
        soft_wrap=True,
    )
    messages.print("Nothing was written and nothing was charged.")


def _refuse_corrections(corrections: str) -> None:
    """A dry run compares no records, so a choice about corrections would do nothing."""
    from discreet.errors import BadRequest

    if corrections != "keep-keys":
        raise BadRequest(
            f"--dry-run and --corrections {corrections} cannot be combined: a dry run compares no records.",
            "Leave one of them out; --corrections collect compares the records and serves nothing.",
        )


def _tell_replaced(folder: Path, dataset: str) -> None:
    """Whether the version before is still answered, and why not."""
    from discreet.release.dataset_registry import open_registry

    with closing(open_registry(folder, threads=1)) as doors:
        replaced = doors.versions(dataset)[:-1][-1:]
    for version in replaced:
        told = (
            f"is not answered any more. {version.closed}"
            if version.closed
            else "is still answered (version=)."
        )
        messages.print(f"Version {version.digest[:8]}, which it replaces, {told}", soft_wrap=True)


def _tell_left(folder: Path, dataset: str) -> None:
    """What the budget has left now that the version is charged to it."""
    from discreet.release.dataset_registry import open_registry

    with closing(open_registry(folder, threads=1)) as doors:
        messages.print(Text(doors.door(dataset).budget_left() or ""), soft_wrap=True)


def _tell(cautions: Sequence[str]) -> None:
    """What the custodian alone should know: changes, ids, declared groups that differ by a few people."""
    if cautions:
        count = "1 caution" if len(cautions) == 1 else f"{len(cautions)} cautions"
        messages.print(f"{count}, for your eyes only:", style="bold")
    for caution in cautions[:MOST_CAUTIONS]:
        messages.print(Text(f"  {caution}"), soft_wrap=True)
    if len(cautions) > MOST_CAUTIONS:
        messages.print(f"  and {len(cautions) - MOST_CAUTIONS} more")
