"""`discreet serve`: the table builder and the HTTP API over a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import HostOption, PortOption, ThreadsOption, WorkspaceOption, open_workspace
from discreet.errors import BadRequest
from discreet.model.access import PUBLIC

if TYPE_CHECKING:
    from discreet.release.dataset_registry import DatasetRegistry
    from discreet.workspace.options import Options


def serve(
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    threads: ThreadsOption = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve; one a core is good.")] = None,
    public_url: Annotated[
        str | None, typer.Option(help="The address under which readers find the server, a path included.")
    ] = None,
    trusted_hosts: Annotated[
        str | None, typer.Option(help="Host names that it answers for beside its own, separated by commas.")
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(
            help="Serve what `discreet publish` wrote there, a folder or a bucket, with no workspace."
        ),
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="The public key of the office that published it.")
    ] = None,
) -> None:
    """Serve the table builder and the HTTP API."""
    from discreet.web.run import serve as serve_app

    given = {"host": host, "port": port, "threads": threads, "workers": workers}
    addresses = {"public_url": public_url, "trusted_hosts": trusted_hosts}
    if published is None and public_key is None:
        doors, options = open_workspace(workspace, **given, **addresses)
        _say_how_open(options)
        serve_app(doors, options)
        return
    if published is None or workspace is not None:
        raise BadRequest(
            "--public-key is for --published, and --published is served without a workspace.",
            "Give --published FOLDER --public-key FILE, or --workspace FOLDER.",
        )
    serve_app(*_open_published(published, public_key, **given, **addresses))


def _say_how_open(options: Options) -> None:
    """Warn when the server listens beyond this machine with neither accounts nor a trusted proxy."""
    from discreet.web.auth.proxies import LOOPBACK, in_networks

    if in_networks(options.host, LOOPBACK) or options.host == "localhost" or options.trusted_proxies:
        return
    who = "may ask" if options.access == PUBLIC else "may try keys"
    print_message(
        f"Everybody who reaches port {options.port} of this machine {who}, and everybody on the way reads keys and answers: "
        "there is no TLS here, and no proxy is named in trusted_proxies. See docs/how-to/deploy.md."
    )


def _open_published(
    published: str, public_key: Path | None, **given: int | str | None
) -> tuple[DatasetRegistry, Options]:
    """The registry of a publication, with its signature checked if a public key is given."""
    from discreet.publish.file_store import open_storage
    from discreet.publish.published_registry import open_publication
    from discreet.records.signing import read_public_key
    from discreet.workspace.options import options_from

    doors = open_publication(
        open_storage(published), None if public_key is None else read_public_key(public_key)
    )
    if public_key is None:
        print_message(
            f"The publication is whole, and signed by the key {doors.signer.fingerprint}. Whose key this is was not "
            "checked: give --public-key FILE."
        )
    return doors, options_from(doors.options, **given)


COMMAND = Command(serve, OPERATE)
