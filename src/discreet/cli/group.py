"""All commands as one Typer group that builds a command when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import getdoc
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from discreet.cli.registry import by_panel, command_names, find_command

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from discreet.cli.registry import Command

#: A command that another package should bring takes any words: whatever was asked, it says what to install.
ANY_WORDS = {"ignore_unknown_options": True, "allow_extra_args": True}


class LazyCommands(Mapping[str, Any]):
    """From names to commands. The names are known without an import; a command is built when it is taken."""

    def __iter__(self) -> Iterator[str]:
        return iter(command_names())

    def __len__(self) -> int:
        return len(command_names())

    def __getitem__(self, name: str) -> Any:
        command = find_command(name)
        if command is None:
            raise KeyError(name)
        return built(name, command)


class CommandGroup(TyperGroup):
    """The group of `discreet` itself."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = cast("MutableMapping[str, Any]", LazyCommands())

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, panel by panel."""
        del ctx
        return [name for name, _ in by_panel()]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: it needs a sentence about each command, and not its options."""
        self.commands = {name: outline(name, command) for name, command in by_panel()}
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words. A flag that is not given is False here; Typer would load pydantic to find that of None."""
        for option in self.get_params(ctx):
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return super().parse_args(ctx, args)


def outline(name: str, command: Command) -> Any:
    """A declared command with its sentence and its panel only."""
    if isinstance(command.run, typer.Typer):
        return built(name, command)
    return TyperCommand(name, help=getdoc(command.run), rich_help_panel=command.panel)


def built(name: str, command: Command) -> Any:
    """A declared command with its options, as Typer runs it."""
    if isinstance(command.run, typer.Typer):
        made: Any = get_group(command.run)
    else:
        alone = typer.Typer(add_completion=False)
        words = ANY_WORDS if command.brought_by else None
        alone.command(cls=command.cls, context_settings=words)(command.run)
        made = get_command(alone)
    made.name, made.rich_help_panel = name, command.panel
    return made
