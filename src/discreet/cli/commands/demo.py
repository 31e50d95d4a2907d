"""`discreet demo`: build the demo workspace on first use and serve it."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import HostOption, PortOption, WorkspaceOption


def demo(
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Only build the demo workspace.")] = False,
) -> None:
    """Build the demo datasets (a synthetic census and a survey) and serve the table builder."""
    from discreet.cli.console import load_bars
    from discreet.release.dataset_registry import open_registry
    from discreet.workspace.demo.demo_workspace import make_demo
    from discreet.workspace.options import read_options, workspace_folder

    folder = workspace_folder(workspace)
    with load_bars() as progress_for:
        built = make_demo(folder, progress_for)
    print_message(f"{'Built' if built else 'Found'} the demo workspace: {folder}")
    if no_serve:
        return
    from discreet.web.run import serve

    options = read_options(folder, host=host, port=port)
    serve(open_registry(folder, threads=options.threads), options)


COMMAND = Command(demo, OPERATE)
