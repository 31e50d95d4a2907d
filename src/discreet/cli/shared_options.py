"""Options that several commands share, shell completion, and how a command opens its workspace.

The options of a table query are declared once and passed as one value:

    @takes_table_query
    def interval(dataset: TargetArgument, asked: TableQuery, ...):
        target.request(**asked, measure=measure)

Completion reads the names of folders and the stored descriptions, which are public; no record and no library.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer
from typer import Argument, Option

from discreet.errors import BadRequest, DiscreetError
from discreet.workspace import options

if TYPE_CHECKING:
    from discreet.release.dataset_registry import DatasetRegistry


def complete_dataset(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of the workspace's datasets."""
    names = (path.parent.name for path in _version_pointers(context, "*"))
    return sorted(name for name in names if name.startswith(incomplete))


def complete_variable(context: typer.Context, incomplete: str) -> list[str]:
    """The variables of the dataset on the line; in a list with commas the last one is completed.

    While an option lacks its value (`--rows` and a space) Typer has not parsed the dataset: then those of all are offered.
    """
    before, comma, last = incomplete.rpartition(",")
    dataset = context.params.get("dataset") or "*"
    names = dict.fromkeys(
        name for path in _version_pointers(context, dataset) for name in _variable_names(path)
    )
    return [
        f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in before.split(",")
    ]


def _version_pointers(context: typer.Context, dataset: str) -> list[Path]:
    try:
        folder = workspace_folder(context.params.get("workspace"))
    except DiscreetError:
        return []
    return list((folder / "datasets").glob(f"{dataset}/current"))


def _variable_names(pointer: Path) -> list[str]:
    try:
        description = pointer.parent / pointer.read_text("ascii").strip() / "dataset.toml"
        return [variable["name"] for variable in tomllib.loads(description.read_text("utf-8"))["variable"]]
    except (OSError, ValueError, KeyError):
        return []


workspace_folder, default_folder = options.workspace_folder, options.default_folder
#: The environment variable of the API key: a command line can be read by others.
KEY_ENVIRONMENT = "DISCREET_KEY"
WorkspaceOption = Annotated[
    Path | None,
    Option(
        "--workspace", "-w", help="Folder of the workspace; by default DISCREET_WORKSPACE, else the demo."
    ),
]
DatasetArgument = Annotated[str, Argument(help="The dataset's id.", autocompletion=complete_dataset)]
TargetArgument = Annotated[
    str,
    Argument(
        help="The dataset's id, or its URL on a server: https://host/datasets/ID.",
        autocompletion=complete_dataset,
    ),
]
VersionOption = Annotated[
    str,
    Option("--version", help="A version: its name, or 8 or more letters of its id; by default the newest."),
]
IncludeOption = Annotated[
    list[str] | None,
    Option(help="A column to use as a variable, whatever it looks like; repeat for several."),
]
GeographyOption = Annotated[
    list[str] | None, Option(help="A column of places, whatever it looks like; repeat for several.")
]
EncodingOption = Annotated[
    str, Option(help="Encoding of a CSV file, if it is not detected: utf-8, cp1252, cp1250, utf-16.")
]
DelimiterOption = Annotated[str, Option(help="Delimiter of a CSV file, if it is not detected.")]
TableOption = Annotated[str, Option(help="Sheet of a workbook or table of a database, if there are several.")]
JsonOption = Annotated[bool, Option("--json", help="Print JSON alone on standard output.")]
OutcomeOption = Annotated[bool, Option("--json", help="Print the result as JSON.")]
JsonFileOption = Annotated[Path | None, Option("--out", "-o", help="Write the JSON to this file.")]
PlotOption = Annotated[Path | None, Option(help="Write a picture: FILE.svg or FILE.png.")]
HostOption = Annotated[str | None, Option(help="IP address to listen on.")]
PortOption = Annotated[int | None, Option(help="Port to listen on.")]
ThreadsOption = Annotated[int | None, Option(help="Threads per query; by default all cores.")]


def choose_picture(picture: str | None, plot: Path | None, default: str) -> str:
    """The name of the picture to draw.

    Raises:
        BadRequest: `--picture` without `--plot`.
    """
    if picture is not None and plot is None:
        raise BadRequest("--picture needs a file to write to.", "Add --plot FILE.svg or FILE.png.")
    return picture or default


def open_workspace(option: Path | None, **given: int | str | None) -> tuple[DatasetRegistry, options.Options]:
    """The registry of a command's workspace; the demo is built when it is first used."""
    from discreet.release.dataset_registry import open_registry

    folder = workspace_folder(option)
    if folder == default_folder():
        from discreet.cli.console import load_bars
        from discreet.workspace.demo import make_demo

        with load_bars() as progress_for:
            make_demo(folder, progress_for)
    chosen = options.read_options(folder, **given)
    return open_registry(folder, threads=chosen.threads), chosen


#: The options of a table query by name: rows, columns, layers, filters, groups and levels; None by default.
TableQuery: TypeAlias = dict[str, "list[str] | None"]

FilterOption = Annotated[
    list[str] | None,
    Option(
        "--filter",
        help=(
            "Count only these records, as in birthplace=2,3 age=25..64 birthplace!=1 or district=region:R01; "
            "repeat for several."
        ),
    ),
]
GroupOption = Annotated[
    list[str] | None,
    Option(
        "--group",
        help=(
            "Merge categories, as in age=15-19+20-24,25-29, or with names age=Young:..14,Old:65..; repeat for "
            "several."
        ),
    ),
]


def _variables_option(option: str, meaning: str) -> Any:
    return Annotated[list[str] | None, Option(option, help=meaning, autocompletion=complete_variable)]


_TABLE_OPTIONS = {
    "rows": _variables_option("--rows", "Row variables, comma-separated."),
    "columns": _variables_option("--columns", "Column variables, comma-separated."),
    "layers": _variables_option("--layers", "Layer variables: one table per category."),
    "filters": FilterOption,
    "groups": GroupOption,
    "levels": Annotated[
        list[str] | None,
        Option(
            "--levels",
            help="Levels to show, as in district=region,district or age=broad; district=* for all; repeat for several.",
        ),
    ],
}


def takes_table_query(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a table query to a command, which gets them as `asked`."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name == "asked":
            parameters += [
                inspect.Parameter(option, parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for option, kind in _TABLE_OPTIONS.items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        command(asked={name: given.pop(name) for name in _TABLE_OPTIONS}, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
