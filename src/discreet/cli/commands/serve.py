"""`discreet serve`: the table builder and the HTTP API over a workspace."""

from __future__ import annotations

from discreet.cli.options import HostOption, PortOption, ThreadsOption, WorkspaceOption, open_workspace
from discreet.cli.registry import OPERATE, Command


def serve(
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Serve the table builder and the HTTP API."""
    from discreet.server.app import serve as serve_app

    serve_app(*open_workspace(workspace, host=host, port=port, threads=threads))


COMMAND = Command(serve, OPERATE)
