"""`discreet load`: check records against their description and store them as a new version.

`discreet check`: the same checks, without a workspace.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Argument, Option

from discreet.cli.console import emit_json, load_bars, messages, report_problems
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.shared_options import OutcomeOption, WorkspaceOption, workspace_folder
from discreet.cli.signals import clean_up_on_signal
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.ledger.entries import Receipt
    from discreet.model.dataset import Dataset

MOST_CAUTIONS = 20


def load(
    description: Annotated[Path, Argument(help="The dataset.toml.")],
    file: str = Argument(
        help=(
            "File of records, of any type that `describe` reads; with --engine spark a table or URL in Spark "
            "(spark:census.people, spark:hdfs://name/people)."
        )
    ),
    engine: str | None = Option(
        None,
        help="Storage engine for the records; by default that of the description or the workspace.",
    ),
    corrections: str = Option(
        "keep-keys",
        help=(
            "If records were corrected: keep-keys (unchanged cells keep their numbers), collect (compare only, "
            "publish nothing yet) or new-lineage (all numbers change)."
        ),
    ),
    dry_run: bool = Option(
        False,
        "--dry-run",
        help=(
            "Check everything that could stop the load and show what it would charge. Nothing is written or "
            "charged."
        ),
    ),
    serve_beside: bool = Option(
        False,
        "--serve-beside",
        help="Keep earlier versions available (version=), even if few records differ.",
    ),
    workspace: WorkspaceOption = None,
    as_json: OutcomeOption = False,
) -> None:
    """Check a file of records against its dataset.toml and load it. If anything is wrong, nothing changes."""
    from discreet.model.description.dataset_toml import parse_dataset
    from discreet.release.load_cautions import LoadJob, dry_load_document, load_with_cautions
    from discreet.workspace.folder_layout import name_description_in_errors, read_description
    from discreet.workspace.versions.history import lineage_defaults

    text = read_description(description)
    folder = workspace_folder(workspace)
    with name_description_in_errors(description):
        dataset = parse_dataset(text, lineage_defaults(folder, text))
    if dry_run and corrections != "keep-keys":
        raise BadRequest(
            f"--dry-run cannot be combined with --corrections {corrections}: a dry run compares no records.",
            "Drop one of them. --corrections collect compares the records without publishing.",
        )
    with (
        report_problems(as_json=as_json),
        name_description_in_errors(description),
        load_bars() as progress_for,
    ):
        progress = progress_for(dataset.id, None)
        job = LoadJob(folder, text, file, progress, description.parent, engine, corrections, serve_beside)
        found = dry_load_document(job) if dry_run else load_with_cautions(job)
    if isinstance(found, dict):
        show_dry_run(found, as_json=as_json)
        return
    digest, receipt = found.digest, found.receipt
    _show_cautions(found.cautions)
    if corrections == "collect":
        messages.print(f"Nothing was published: {dataset.id} stays at version {digest[:8]}.", soft_wrap=True)
    if as_json:
        document: dict[str, Any] = {"dataset": dataset.id, "digest": digest, "workspace": str(folder)}
        if receipt is not None:
            charged = [0.0, 0.0] if receipt.repeat else [float(receipt.loss), float(receipt.failure)]
            document |= {"charged": charged, "left": list(map(float, receipt.left))}
        emit_json(document)
    elif corrections != "collect":
        messages.print(f"Loaded {dataset.id}, version {digest[:8]}, into {folder}", soft_wrap=True)
        if corrections == "new-lineage":
            messages.print("It has new keys, so all its numbers change.")
        _show_replaced(folder, dataset, receipt)


def check(
    file: Annotated[Path, Argument(help="File of records, of any type that `describe` reads.")],
    description: Path = Argument(help="The dataset.toml."),
    workspace: Path | None = Option(
        None,
        "--workspace",
        "-w",
        help="Workspace whose served version the records are compared with; by default none.",
    ),
    as_json: OutcomeOption = False,
) -> None:
    """Check a file of records against its dataset.toml and list all problems. Nothing is written."""
    from discreet.release.load_cautions import LoadJob, dry_load_document
    from discreet.workspace.folder_layout import name_description_in_errors, read_description

    clean_up_on_signal()
    text = read_description(description)
    with tempfile.TemporaryDirectory(prefix="discreet-check-") as nowhere:
        folder = workspace or Path(nowhere) / "workspace"
        with (
            report_problems(as_json=as_json),
            name_description_in_errors(description),
            load_bars() as progress_for,
        ):
            job = LoadJob(folder, text, file, progress_for(file.name, None), description.parent)
            found = dry_load_document(job)
    show_dry_run(found, as_json=as_json)


COMMANDS = {"load": Command(load, MAKE_TABLES), "check": Command(check, MAKE_TABLES)}


def _show_replaced(folder: Path, dataset: Dataset, receipt: Receipt | None) -> None:
    """Whether the version before can still be queried; under `dp` the charge, and what the budget has left."""
    from discreet.model.privacy_budget import format_amount
    from discreet.model.universe import dp_terms
    from discreet.release.dataset_registry import open_registry

    with closing(open_registry(folder, threads=1)) as registry:
        for version in registry.versions(dataset.id)[:-1][-1:]:
            closed = f"is no longer available. {version.closed}"
            state = closed if version.closed else "is still available (version=)."
            messages.print(f"The previous version {version.digest[:8]} {state}", soft_wrap=True)
        if receipt is None:
            return
        basic = dp_terms(dataset)[0].composition == "basic"
        loss, failure = ("epsilon", "delta") if basic else ("rho", "distance")
        cost = f"{loss} {format_amount(receipt.loss)}, {failure} {format_amount(receipt.failure)}"
        before = " before, and nothing now" if receipt.repeat else ""
        messages.print(f"Charged {cost}{before}.", soft_wrap=True)
        messages.print(Text(registry.open(dataset.id).budget_left() or ""), soft_wrap=True)


def show_dry_run(found: dict[str, Any], *, as_json: bool) -> None:
    """Print what a load would do."""
    if as_json:
        emit_json(found)
        return
    for sentence in found["checked"]:
        messages.print(f"Checked {sentence}.", soft_wrap=True)
    messages.print(f"{found['records']:,} record{'' if found['records'] == 1 else 's'}.")
    _show_cautions(found["cautions"])
    charge = found["charge"]
    if charge is not None:
        loss = next(name for name in ("epsilon", "rho") if name in charge)
        messages.print(
            f'A load would charge {loss} {charge[loss]:.12g} to the budget "{charge["budget"]}"'
            f"{', which was charged before,' if charge['repeat'] else ''} and leave {charge['left'][loss]:.12g}.",
            soft_wrap=True,
        )
    messages.print(
        "Not checked: which records differ from the served version, and groups that differ by a few people. "
        "A load warns about these; --corrections collect lists what changed.",
        soft_wrap=True,
    )
    messages.print("Nothing was written and nothing was charged.")


def _show_cautions(cautions: Sequence[str]) -> None:
    """Print what only the custodian may know: changes, ids, declared groups that differ by a few people."""
    if cautions:
        count = "1 caution" if len(cautions) == 1 else f"{len(cautions)} cautions"
        messages.print(f"{count} (confidential):", style="bold")
    for caution in cautions[:MOST_CAUTIONS]:
        messages.print(Text(f"  {caution}"), soft_wrap=True)
    if len(cautions) > MOST_CAUTIONS:
        messages.print(f"  and {len(cautions) - MOST_CAUTIONS} more")
