"""The options of `discreet design` that are parameters of noise families: made from the registry when they are needed.

One option stands for all families that have a parameter of that name, and its help says what it means in each. A family
that is added in one place has its options here at once.
"""

from __future__ import annotations

import json
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.noise.family import Parameter

#: The command's own options, which also say where to audit a family that has no such parameter.
_OWN = ("epsilon", "delta")
_WISHES = "discreet.design.wishes"
COMPARE = "`compare`, which sets families side by side at one epsilon and delta."


class DesignCommand(TyperCommand):
    """The command with one more option for each parameter of a family."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own options, then those of the families; the help of the argument names the families."""
        from discreet.noise.families import families

        own: list[Any] = super().get_params(ctx)
        family = next(each for each in own if each.name == "family")
        family.help = f"{', '.join(each.name for each in families())}; or {COMPARE}"
        return [*own, *_family_options()]


def wishes(context: typer.Context, own: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were given, by the command's own options or by those of the families."""
    every = own | context.meta.get(_WISHES, {})
    return {name: value for name, value in every.items() if value is not None}


def _family_options() -> list[Any]:
    """Typer makes the options, as it does for a function that has these arguments."""
    from discreet.noise.families import families

    uses: dict[str, list[tuple[str, Parameter]]] = {}
    for family in families():
        for parameter in family.parameters:
            uses.setdefault(parameter.name, []).append((family.name, parameter))

    def arguments() -> None:
        """Stand for the arguments."""

    made = [_argument(name, users) for name, users in uses.items() if name not in _OWN]
    vars(arguments)["__signature__"] = Signature(made)
    app = typer.Typer(add_completion=False)
    app.command()(arguments)
    return list(typer.main.get_command(app).params)


def _argument(name: str, users: list[tuple[str, Parameter]]) -> Argument:
    kind = users[0][1].kind
    word = name.replace("_", "-")
    option = typer.Option(
        None,
        f"--{word}/--no-{word}" if kind is bool else f"--{word}",
        help=_help(users),
        callback=_keep_tables if kind is dict else _keep,
        expose_value=False,
    )
    return Argument(
        name, Argument.KEYWORD_ONLY, default=option, annotation=(str if kind is dict else kind) | None
    )


def _help(users: list[tuple[str, Parameter]]) -> str:
    """What a parameter means, and in which families."""
    meanings: dict[str, list[str]] = {}
    for family, parameter in users:
        meanings.setdefault(parameter.meaning, []).append(family)
    said = "; ".join(f"{meaning} ({', '.join(families)})" for meaning, families in meanings.items())
    return f"{said[0].upper()}{said[1:]}."


def _keep(context: typer.Context, option: typer.CallbackParam, value: Any) -> None:
    context.meta.setdefault(_WISHES, {})[option.name] = value


def _keep_tables(context: typer.Context, option: typer.CallbackParam, value: str | None) -> None:
    """A list of tables is written as JSON: a command line has no other form for it."""
    try:
        _keep(context, option, None if value is None else json.loads(value))
    except json.JSONDecodeError:
        raise BadRequest(
            f"--{option.name} is {value!r}.",
            """Write a JSON list in quotes, as in '[{"from": 0, "D": 5, "V": 3}, {"from": 1000, "D": 15, "V": 9}]'.""",
        ) from None
