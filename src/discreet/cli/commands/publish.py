"""`discreet publish`: the declared tables of a dataset as signed files, or as a static site."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit_json, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, JsonOption, WorkspaceOption, open_workspace

if TYPE_CHECKING:
    from discreet.publish.publisher import DatasetReport, PublishPlan

_MOST_SHOWN = 10


def publish(
    dataset: DatasetArgument,
    to: Annotated[str, typer.Option("--to", help="A folder, or a bucket as s3://bucket/path.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell how much would be published; nothing is counted.")
    ] = False,
    site: Annotated[
        bool, typer.Option("--site", help="Write a static site instead: pages and files for any web server.")
    ] = False,
    most_files: Annotated[
        int | None, typer.Option(min=1, help="Publish up to so many files; 20,000 by default.")
    ] = None,
    most_bytes: Annotated[
        int | None, typer.Option(min=1, help="Publish up to so many bytes; 2,000,000,000 by default.")
    ] = None,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Publish the tables of `publish` in dataset.toml: protected releases as signed files, for a server without records."""
    from discreet.cli.console import simulation_bar
    from discreet.publish.file_store import open_storage
    from discreet.publish.publisher import Limits, plan_publication
    from discreet.publish.publisher import publish as write_publication
    from discreet.records.signing import signing_key
    from discreet.web.pages.static_site import plan_site, write_site
    from discreet.workspace.folder_layout import lock_dataset

    doors, options = open_workspace(workspace)
    limits = Limits(
        **{name: most for name, most in (("files", most_files), ("bytes", most_bytes)) if most is not None}
    )
    try:
        if dry_run:
            plan = (plan_site if site else plan_publication)(doors, dataset, limits)
            _print_plan(plan, as_json=as_json)
            return
        with simulation_bar("tables") as progress, lock_dataset(doors.folder):
            if site:
                report: DatasetReport = write_site(doors, dataset, open_storage(to), limits, progress)
            else:
                about = {"publisher": options.publisher, "licence": options.licence}
                report = write_publication(
                    doors,
                    dataset,
                    open_storage(to),
                    signing_key(doors.folder),
                    limits=limits,
                    options={name: each for name, each in about.items() if each},
                    progress=progress,
                )
        _print_report(report, to, as_json=as_json)
    finally:
        doors.close()


def _print_plan(plan: PublishPlan, *, as_json: bool) -> None:
    refused = [{"table": name, "why": why} for name, why in plan.refused]
    if as_json:
        tables = [request.permalink for request in plan.requests]
        emit_json({"tables": tables, "refused": refused, "files": plan.files, "bytes": plan.bytes})
        return
    print_text(
        f"{len(plan.requests):,} tables would be published: {plan.files:,} files, up to {plan.bytes:,} bytes before "
        "they are compressed."
    )
    _print_refused(plan.refused)


def _print_report(report: DatasetReport, to: str, *, as_json: bool) -> None:
    if as_json:
        refused = [{"table": name, "why": why} for name, why in report.refused]
        emit_json({**asdict(report), "refused": refused, "to": to})
        return
    what = f"{report.tables:,} tables" if report.tables else "the numbers of the universe"
    print_text(
        f"Published: {what} of {report.dataset}, version {report.digest[:8]}, in {report.files:,} files and "
        f"{report.bytes:,} bytes; {report.written:,} files are new."
    )
    _print_refused(report.refused)
    key = getattr(report, "key", "")
    last = (
        f"Signed by the key {key[:16]}. Serve it: discreet serve --published {to} --public-key FILE, where "
        "`discreet public-key --out FILE` writes the file."
        if key
        else f"Put {to} behind any web server. To look at it: python -m http.server --directory {to}"
    )
    print_text(last)


def _print_refused(refused: tuple[tuple[str, str], ...]) -> None:
    for name, why in refused[:_MOST_SHOWN]:
        print_text(f"Left out: {name}. {why}")
    if len(refused) > _MOST_SHOWN:
        print_text(f"Left out: {len(refused) - _MOST_SHOWN:,} more.")


COMMAND = Command(publish, OPERATE)
