"""`discreet publish`: the declared tables of a dataset as signed files, or as a static site.

`discreet public-key`: the public key for signatures of a workspace.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit, emit_json, print_message, print_text, simulation_bar
from discreet.cli.registry import OPERATE, Command

if TYPE_CHECKING:
    from discreet.publish.publisher import DatasetReport, PublishPlan

_MOST_SHOWN = 10


def publish(
    dataset: shared.DatasetArgument,
    to: str = Option(..., "--to", help="A folder, or a bucket as s3://bucket/path."),
    dry_run: bool = Option(False, "--dry-run", help="Only show how much would be published."),
    site: bool = Option(
        False, "--site", help="Write a static site instead: pages and files for any web server."
    ),
    most_files: int | None = Option(None, min=1, help="Maximum number of files; 20,000 by default."),
    most_bytes: int | None = Option(None, min=1, help="Maximum number of bytes; 2,000,000,000 by default."),
    as_json: shared.JsonOption = False,
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Publish the tables that dataset.toml lists as signed files, for a server that holds no records."""
    from discreet.publish import publisher
    from discreet.publish.file_store import open_storage
    from discreet.records.signing import signing_key
    from discreet.web.pages.static_site import plan_site, write_site
    from discreet.workspace.sealed import file_lock

    registry, options = shared.open_workspace(workspace)
    given = {"files": most_files, "bytes": most_bytes}
    limits = publisher.Limits(**{name: most for name, most in given.items() if most is not None})
    with closing(registry):
        if dry_run:
            plan = (plan_site if site else publisher.plan_publication)(registry, dataset, limits)
            _print_plan(plan, as_json=as_json)
            return
        with simulation_bar("tables") as progress, file_lock(registry.folder / ".lock"):
            if site:
                report: DatasetReport = write_site(registry, dataset, open_storage(to), limits, progress)
            else:
                metadata = {"publisher": options.publisher, "licence": options.licence}
                report = publisher.publish(
                    registry,
                    dataset,
                    open_storage(to),
                    signing_key(registry.folder),
                    limits=limits,
                    options={name: each for name, each in metadata.items() if each},
                    progress=progress,
                )
        _print_report(report, to, as_json=as_json)


def _print_plan(plan: PublishPlan, *, as_json: bool) -> None:
    if as_json:
        tables = [request.permalink for request in plan.requests]
        refused = [{"table": name, "why": why} for name, why in plan.refused]
        emit_json({"tables": tables, "refused": refused, "files": plan.files, "bytes": plan.bytes})
        return
    print_text(
        f"{len(plan.requests):,} tables would be published: {plan.files:,} files, up to {plan.bytes:,} bytes "
        "before compression."
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
    print_text(
        f"Signed by the key {key[:16]}. Serve it: discreet serve --published {to} --public-key FILE, where "
        "`discreet public-key --out FILE` writes the file."
        if key
        else f"Put {to} behind any web server. To look at it: python -m http.server --directory {to}"
    )


def _print_refused(refused: tuple[tuple[str, str], ...]) -> None:
    for name, why in refused[:_MOST_SHOWN]:
        print_text(f"Left out: {name}. {why}")
    if len(refused) > _MOST_SHOWN:
        print_text(f"Left out: {len(refused) - _MOST_SHOWN:,} more.")


def public_key(
    out: Path | None = Option(None, "--out", "-o", help="Write it to a file."),
    workspace: shared.WorkspaceOption = None,
) -> None:
    """Print the public key of a workspace (PEM), with which anyone can verify what it signed."""
    from discreet.records.signing import signing_key
    from discreet.workspace.folder_layout import refuse_no_workspace

    folder = shared.workspace_folder(workspace)
    refuse_no_workspace(folder)
    public = signing_key(folder).public
    emit(public.text, out)
    print_message(f"SHA-256 of the key: {public.fingerprint}")


COMMANDS = {"publish": Command(publish, OPERATE), "public-key": Command(public_key, OPERATE)}
