"""`discreet serve`: the table builder and the HTTP API over a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import HostOption, PortOption, ThreadsOption, WorkspaceOption, open_workspace
from discreet.cli.registry import OPERATE, Command


def serve(
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    threads: ThreadsOption = None,
    public_url: Annotated[
        str | None, typer.Option(help="The address under which readers find the server, a path included.")
    ] = None,
    trusted_hosts: Annotated[
        str | None, typer.Option(help="Host names that it answers for beside its own, separated by commas.")
    ] = None,
) -> None:
    """Serve the table builder and the HTTP API."""
    from discreet.server.app import serve as serve_app

    given = {"host": host, "port": port, "threads": threads}
    serve_app(*open_workspace(workspace, **given, public_url=public_url, trusted_hosts=trusted_hosts))


COMMAND = Command(serve, OPERATE)
