"""Options that several commands share, and how a command opens its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.completion import complete_dataset, complete_variable
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.answer.door import Doors
    from discreet.workspace.options import Options

#: The API key of who asks: in the environment, since a command line is seen by others.
KEY_ENVIRONMENT = "DISCREET_KEY"
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace", "-w", help="The folder of the workspace; by default DISCREET_WORKSPACE, else the demo."
    ),
]
DatasetArgument = Annotated[str, typer.Argument(help="The dataset's id.", autocompletion=complete_dataset)]
PlaceArgument = Annotated[
    str,
    typer.Argument(
        help="The dataset's id, or its address on a server: https://host/datasets/ID.",
        autocompletion=complete_dataset,
    ),
]
RowsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rows", help="Variables down the side, comma-separated.", autocompletion=complete_variable
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", help="Variables along the top, comma-separated.", autocompletion=complete_variable
    ),
]
LayersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--layers",
        help="Variables of which each category is a table of its own.",
        autocompletion=complete_variable,
    ),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        help="Who is counted, as in birthplace=2,3 age=25..64 birthplace!=1 or district=region:R01; may be repeated.",
    ),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="Groups of categories, as in age=15-19+20-24,25-29 or with names age=Young:..14,Old:65..; may be repeated.",
    ),
]
LevelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--levels",
        help="Levels to show, as in district=region,district or age=broad; district=* for all; may be repeated.",
    ),
]
VersionOption = Annotated[
    str,
    typer.Option("--version", help="8 letters or more of a version's digest, or its name; else the newest."),
]
HostOption = Annotated[str | None, typer.Option(help="The address to listen on.")]
PortOption = Annotated[int | None, typer.Option(help="The port to listen on.")]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads for one aggregate; all cores by default.")]


def chosen_picture(picture: str | None, plot: Path | None, default: str) -> str:
    """Which picture is drawn; a wish for one without a file to draw it into is refused.

    Raises:
        BadRequest: `--picture` without `--plot`.
    """
    if picture is not None and plot is None:
        raise BadRequest(
            "--picture chooses a picture, and no picture is asked for.", "Add --plot FILE.svg or FILE.png."
        )
    return picture or default


def open_workspace(option: Path | None, **given: int | str | None) -> tuple[Doors, Options]:
    """The doors of a command's workspace; the demo's is built when it is first used."""
    from discreet.answer.door import open_doors
    from discreet.workspace.options import default_folder, read_options, workspace_folder

    folder = workspace_folder(option)
    if folder == default_folder():
        _build_demo(folder)
    options = read_options(folder, **given)
    return open_doors(folder, threads=options.threads), options


def _build_demo(folder: Path) -> None:
    from discreet.cli.progress import load_bars
    from discreet.workspace.demo.build import build_demo

    with load_bars() as progress_for:
        build_demo(folder, progress_for)
