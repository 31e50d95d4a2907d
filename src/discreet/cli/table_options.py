"""The options that say which table, declared once: a command has them as one value.

    @asks_table
    def interval(dataset: PlaceArgument, asked: Asked, ...):
        place.request(**asked, measure=measure)

On the command line they stand where `asked` stands.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from discreet.cli.completion import complete_variable

if TYPE_CHECKING:
    from collections.abc import Callable

#: What is given of rows, columns, layers, filters, groups and levels, by these names; None where nothing is.
Asked: TypeAlias = dict[str, "list[str] | None"]

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


def _variables(option: str, meaning: str) -> Any:
    return Annotated[list[str] | None, typer.Option(option, help=meaning, autocompletion=complete_variable)]


_OPTIONS = {
    "rows": _variables("--rows", "Variables down the side, comma-separated."),
    "columns": _variables("--columns", "Variables along the top, comma-separated."),
    "layers": _variables("--layers", "Variables of which each category is a table of its own."),
    "filters": FilterOption,
    "groups": GroupOption,
    "levels": Annotated[
        list[str] | None,
        typer.Option(
            "--levels",
            help="Levels to show, as in district=region,district or age=broad; district=* for all; may be repeated.",
        ),
    ],
}


def asks_table(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of a table, which it gets as `asked`."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name == "asked":
            parameters += [
                inspect.Parameter(option, parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for option, kind in _OPTIONS.items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        command(asked={name: given.pop(name) for name in _OPTIONS}, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
