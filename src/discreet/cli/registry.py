"""The registry of commands: those of the modules in `discreet.cli.commands`, and those of other packages.

The name of a module is the name of its command, with hyphens for underscores; `commands.SHARED` lists modules of several
commands, which have `COMMANDS` by name instead of `COMMAND`:

    COMMAND = Command(table, MAKE_TABLES)

An installed package adds a command by an entry point of the group `discreet.commands`, whose value is a `Command`;
a program adds one by `register`. Neither can override a built-in command. A command imports its own module only; the
list of all commands imports every module, so modules import heavy libraries in their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from discreet.cli import commands
from discreet.errors import BadOption, MissingExtra

if TYPE_CHECKING:  # slow to import, and most commands need no entry points
    from importlib.metadata import EntryPoint

MAKE_TABLES = "Make tables"
PROTECT = "Protect"
EXAMINE = "Examine"
OPERATE = "Operate"
#: The panels of `discreet --help`, in their order; a panel of another package comes after them.
PANELS = (MAKE_TABLES, PROTECT, EXAMINE, OPERATE)
GROUP = "discreet.commands"


@dataclass(frozen=True, slots=True)
class Command:
    """A command as its module declares it.

    Args:
        run: A function whose parameters are the options, or a Typer group of such functions.
        panel: The panel in `discreet --help`.
        brought_by: The package that provides it, if it is another one; `run` then says what to install.
        cls: The class of the command, if its options are made at run time.
    """

    run: Callable[..., Any] | typer.Typer
    panel: str
    brought_by: str = ""
    cls: type[TyperCommand] | None = None


#: Commands of the package discreet-studies: listed without it, and then they say what to install.
STUDIES = {
    "attack": (EXAMINE, "Attack invented people under each protection."),
    "bench": (OPERATE, "Time protected tables against their peers."),
    "reproduce": (EXAMINE, "Recompute a paper's tables and figures."),
}


def _missing_command(panel: str, what: str, why: str, advice: str, package: str) -> Command:
    def run(context: typer.Context) -> None:
        raise MissingExtra(f"The command `discreet {context.info_name}` {why}", advice)

    run.__doc__ = what
    return Command(run, panel, package)


_REGISTERED: dict[str, Command] = {}


def register(name: str, command: Command) -> None:
    """Add a command under a new name.

    Raises:
        BadOption: The name is taken.
    """
    if name in set(command_names()):
        raise BadOption(f'A command "{name}" exists already.', "Choose another name.")
    _REGISTERED[name] = command


def command_names() -> list[str]:
    """The names of all commands in alphabetical order; imports no module."""
    return sorted({*_builtin_names(), *STUDIES, *_entry_points(), *_REGISTERED})


def find_command(name: str) -> Command | None:
    """The command of a name: built-in commands first, then those of other packages."""
    if name in _builtin_names():
        found = import_module(f"{commands.__name__}.{commands.SHARED.get(name, name).replace('-', '_')}")
        built_in: Command = found.COMMANDS[name] if hasattr(found, "COMMANDS") else found.COMMAND
        return built_in
    command = _REGISTERED.get(name) or _load_entry_point(name)
    if command is None and name in STUDIES:
        panel, what = STUDIES[name]
        why = "is in the package discreet-studies, which is not installed."
        advice = 'Install it: pip install "discreet-studies"; in a checkout `make setup` does so.'
        what = f"{what} It is in the package discreet-studies."
        return _missing_command(panel, what, why, advice, "discreet-studies")
    return command


def by_panel() -> list[tuple[str, Command]]:
    """All commands, panel by panel."""
    found = [(name, command) for name in command_names() if (command := find_command(name)) is not None]
    order = {panel: place for place, panel in enumerate(PANELS)}
    return sorted(found, key=lambda each: order.get(each[1].panel, len(order)))


@cache
def _builtin_names() -> frozenset[str]:
    modules = {module.name.replace("_", "-") for module in iter_modules(commands.__path__)}
    return frozenset(modules | commands.SHARED.keys())


@cache
def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def _load_entry_point(name: str) -> Command | None:
    """The command of an installed package; a package that cannot be loaded does not break the other commands."""
    point = _entry_points().get(name)
    if point is None:
        return None
    try:
        found: Command = point.load()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the other commands still run
        package = point.dist.name if point.dist else point.value
        why = f"from the package {package} cannot be loaded: {type(error).__name__}."
        return _missing_command(
            OPERATE, f"Cannot be loaded: {package}.", why, "Reinstall the package.", package
        )
    return found


class LazyCommands(Mapping[str, Any]):
    """A mapping from names to commands, which are built when they are looked up."""

    def __iter__(self) -> Iterator[str]:
        return iter(command_names())

    def __len__(self) -> int:
        return len(command_names())

    def __getitem__(self, name: str) -> Any:
        command = find_command(name)
        if command is None:
            raise KeyError(name)
        return build_command(name, command)


class CommandGroup(TyperGroup):
    """The top-level group."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = cast("MutableMapping[str, Any]", LazyCommands())

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, panel by panel."""
        del ctx
        return [name for name, _ in by_panel()]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, which needs a sentence about each command but does not parse its options."""
        self.commands = {
            name: build_command(name, command)
            if isinstance(command.run, typer.Typer)
            else TyperCommand(name, help=getdoc(command.run), rich_help_panel=command.panel)
            for name, command in by_panel()
        }
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Flags default to False here; Typer would import pydantic for a default of None."""
        for option in self.get_params(ctx):
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return super().parse_args(ctx, args)


def build_command(name: str, command: Command) -> Any:
    """A command with its options, as Typer runs it."""
    if isinstance(command.run, typer.Typer):
        made: Any = get_group(command.run)
    else:
        alone = typer.Typer(add_completion=False)
        # A command whose package is missing accepts any words: whatever was typed, it says what to install.
        words = {"ignore_unknown_options": True, "allow_extra_args": True} if command.brought_by else None
        alone.command(cls=command.cls, context_settings=words)(command.run)
        made = get_command(alone)
    made.name, made.rich_help_panel = name, command.panel
    return made
