"""`discreet versions`: the versions of a dataset, and which can be queried.

`discreet compare`: one table in two versions, cell by cell.
`discreet use`: serve another stored version.
`discreet remove`: remove the records of a version, or of a whole dataset.
`discreet relabel`: correct labels, descriptions and notes of the current version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, messages, output, print_grid, print_text
from discreet.cli.registry import EXAMINE, OPERATE, Command
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.inference.version_comparison import VersionComparison


def versions(
    dataset: shared.DatasetArgument,
    workspace: shared.WorkspaceOption = None,
    as_json: shared.JsonOption = False,
) -> None:
    """List the versions of a dataset: which is served, which are still available, and why others are not."""
    from discreet.workspace.folder_layout import dataset_folder, list_versions
    from discreet.workspace.operate.make_cubes import cube_summary

    home = dataset_folder(shared.workspace_folder(workspace), dataset)
    found = list_versions(home)
    cubes = {each.digest: cube_summary(home / each.digest) for each in found}
    if as_json:
        listed = [{**asdict(each), "cubes": cubes[each.digest]} for each in found]
        emit_json({"dataset": dataset, "versions": listed})
        return
    table = Table("digest", "version", "loaded", "state")
    for each in found:
        state = "served" if each.current else each.closed or "available with `version=`"
        table.add_row(*map(Text, (each.digest[:8], each.version, each.loaded, state)))
    output.print(table)
    for digest, sizes in cubes.items():
        if sizes:
            output.print(Text(f"Cubes of {digest[:8]}: {sizes}."))


def use(
    dataset: shared.DatasetArgument,
    version: str = Argument(help="A version: its name, or 8 or more letters of its id."),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Roll back to an earlier version of a dataset, or forward again. Nothing is charged and no number changes."""
    from discreet.workspace.operate.manage_versions import roll_back

    found = roll_back(shared.workspace_folder(workspace), dataset, version)
    messages.print(f"{dataset}: now serving version {found.version} ({found.digest[:8]}).", markup=False)


REMAINS = (
    "The description of each removed version, the fingerprint of its keys, the history and all charges "
    "in the ledger remain. Published tables cannot be taken back. Backups may still contain the records, "
    "and so may old disk blocks."
)


def remove(
    dataset: shared.DatasetArgument,
    version: str = Option("", "--version", help="Delete only this version; by default the whole dataset."),
    yes: bool = Option(False, "--yes", help="Do not ask."),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Delete a version or a whole dataset with its records; charges stay in the ledger."""
    from discreet.workspace.operate.manage_versions import remove_dataset, remove_version

    what = f"version {version} of {dataset}" if version else f"all versions of {dataset}"
    if not yes and not typer.confirm(f"Permanently remove {what}?", err=True):
        raise BadRequest("Nothing was removed.", "Answer yes, or add --yes.")
    folder = shared.workspace_folder(workspace)
    gone = [remove_version(folder, dataset, version)] if version else remove_dataset(folder, dataset)
    messages.print(
        f"Removed: {', '.join(digest[:8] for digest in gone) or 'nothing was left'}. {REMAINS}", markup=False
    )


def relabel(
    description: Path = Argument(help="The dataset.toml with corrected labels."),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Correct labels, descriptions and notes without a new version; codes and protection must stay the same."""
    from discreet.workspace.folder_layout import name_description_in_errors, read_description
    from discreet.workspace.versions.label_corrections import relabel_dataset

    with name_description_in_errors(description):
        digest = relabel_dataset(shared.workspace_folder(workspace), read_description(description))
    messages.print(f"Version {digest[:8]} now shows the corrected labels.", markup=False)


#: The length at which a value is cut.
SHORT = 80


@shared.takes_table_query
def compare(
    dataset: shared.TargetArgument,
    other: Annotated[str, Option("--with", help="Version to compare with.")],
    asked: shared.TableQuery,
    version: shared.VersionOption = "",
    measure: str = Option("count", help="count, or weighted for datasets with survey weights."),
    level: float = Option(0.95, help="Minimum probability that an interval covers the true value."),
    descriptions: bool = Option(
        False, "--descriptions", help="Compare the two descriptions key by key, instead of a table."
    ),
    as_json: shared.JsonOption = False,
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Compare a table in two versions: both numbers of each cell, their difference and their ratio."""
    from discreet.cli.target import open_target

    if descriptions:
        _compare_descriptions(dataset, version, other, workspace, as_json=as_json)
        return
    target = open_target(dataset, workspace, threads, version)
    request = target.request(**asked, measure=measure)
    registry = target.service, target.at(other)
    for service in registry:  # where one version refuses the table, the other is not charged for it
        service.check(request)
    found = target.answers.compare_versions(registry[0].release(request), registry[1].release(request), level)
    if as_json:
        emit_json(found.document())
    else:
        _show_comparison(found)


def _compare_descriptions(
    dataset: str, version: str, other: str, workspace: Path | None, *, as_json: bool
) -> None:
    from discreet.workspace.operate.manage_versions import compare_descriptions

    def short(value: object) -> str:
        text = "nothing" if value is None else str(value)
        return text if len(text) <= SHORT else f"{text[:SHORT]} ..."

    found = list(compare_descriptions(shared.workspace_folder(workspace), dataset, version, other))
    if as_json:
        emit_json({"dataset": dataset, "changes": list(map(asdict, found))})
        return
    for change in found:
        print_text(f"{change.place}: {short(change.before)} -> {short(change.after)}")
    if not found:
        output.print("The descriptions are the same.")


def _show_comparison(found: VersionComparison) -> None:
    document = found.document()
    names = document["dimensions"]
    headers = [*names, found.release.digest[:8], found.other.digest[:8], "difference", "ratio"]
    lines = [
        [
            *cell["codes"],
            *("-" if cell[name] is None else f"{cell[name]:,}" for name in ("value", "with")),
            _interval(cell["difference"], "{:,.0f}"),
            _interval(cell["ratio"], "{:.4g}"),
        ]
        for cell in document["cells"]
    ]
    print_grid(output, found.release.title, headers, lines, len(names), together=4)
    sure = f"Each interval covers the true value with probability at least {100 * found.level:g} %."
    for text in (sure, *document["note"]):
        output.print(Text(text), style="dim")


def _interval(found: Mapping[str, Any], pattern: str) -> str:
    estimate, low, high = (
        "-" if found[name] is None else pattern.format(found[name]) for name in ("estimate", "low", "high")
    )
    return "-" if estimate == "-" else f"{estimate} ({low} to {high})"


COMMANDS = {
    "versions": Command(versions, OPERATE),
    "use": Command(use, OPERATE),
    "remove": Command(remove, OPERATE),
    "relabel": Command(relabel, OPERATE),
    "compare": Command(compare, EXAMINE),
}
