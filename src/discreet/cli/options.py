"""Options that several commands share, and how a command opens its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.completion import complete_dataset
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.answer.doors import Doors
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
VersionOption = Annotated[
    str,
    typer.Option("--version", help="8 letters or more of a version's digest, or its name; else the newest."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(help="A column that shall be a variable, whatever it looks like; may be repeated."),
]
GeographyOption = Annotated[
    list[str] | None,
    typer.Option(help="A column that holds places, whatever it looks like; may be repeated."),
]
EncodingOption = Annotated[
    str,
    typer.Option(help="The encoding of a CSV file, where it is not found: utf-8, cp1252, cp1250, utf-16."),
]
DelimiterOption = Annotated[
    str, typer.Option(help="What separates the fields of a CSV file, where it is not found.")
]
TableOption = Annotated[
    str, typer.Option(help="The sheet of a workbook or the table of a database, where there are several.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]
OutcomeOption = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
JsonFileOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write the JSON to this file.")]
PlotOption = Annotated[Path | None, typer.Option(help="Write a picture: FILE.svg or FILE.png.")]
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
    from discreet.answer.doors import open_doors
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
