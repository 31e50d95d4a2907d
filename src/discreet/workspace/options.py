"""Options of a workspace: the command line, then DISCREET_*, then `workspace.toml`, then the default. The first one wins.

Comes from: the command line, the environment, the workspace. Goes to: `cli`, `server`, `records`.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from discreet.errors import BadOption, nearest
from discreet.model.engine_section import engine_named

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name (also the key in `workspace.toml`), its default and what it does."""

    name: str
    default: int | str | None
    smallest: int | None
    largest: int | None
    meaning: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"DISCREET_{self.name.upper()}"

    def read(self, value: object, origin: str) -> int | str:
        """Check a value and bring it to its type."""
        if self.smallest is None:
            return ",".join(map(str, value)) if isinstance(value, list) else str(value)
        try:
            number = int(str(value))
        except ValueError:
            number = None
        if number is None or number < self.smallest or (self.largest is not None and number > self.largest):
            upper = "" if self.largest is None else f" and {self.largest:,}"
            raise BadOption(
                f"The option {self.name} from {origin} is {value!r}.",
                f"Give a whole number {'of at least' if not upper else 'between'} {self.smallest:,}{upper}.",
            )
        return number


OPTIONS = (
    Option("host", "127.0.0.1", None, None, "The address that the server listens on."),
    Option("port", 8000, 1, 65_535, "The port that the server listens on."),
    Option(
        "threads",
        None,
        1,
        1024,
        "Threads for one aggregate; all cores by default. Numbers do not depend on it.",
    ),
    Option(
        "ledger",
        None,
        None,
        None,
        "The URL of a PostgreSQL database for the ledger, as SQLAlchemy takes it; by default ledger.sqlite in the "
        "workspace.",
    ),
    Option(
        "page_cells",
        20_000,
        100,
        1_000_000,
        "The largest table that a page shows; larger ones are downloaded.",
    ),
    Option(
        "pxweb_cells",
        100_000,
        1,
        10_000_000,
        "How many cells one call of PxWebApi gives; programs ask for more in parts.",
    ),
    Option("pxweb_calls", 60, 1, 1_000_000, "How many calls of PxWebApi an address may make in 10 seconds."),
    Option(
        "public_url",
        None,
        None,
        None,
        "The address under which readers find the server, a path included; links, citations and feeds use it.",
    ),
    Option(
        "trusted_hosts",
        None,
        None,
        None,
        "Host names, separated by commas, that the server answers for beside its own; `*.x.org` and `*` are read.",
    ),
    Option("publisher", None, None, None, "Who publishes the datasets, as catalogues name it."),
    Option("licence", None, None, None, "The address of the licence of the tables, as catalogues name it."),
)
#: The one option that cannot stand in `workspace.toml`: it says where that is.
WORKSPACE_ENVIRONMENT = "DISCREET_WORKSPACE"
WORKSPACE_FILE = "workspace.toml"


@dataclass(frozen=True, slots=True)
class Options:
    """The options in force."""

    host: str
    port: int
    threads: int | None
    ledger: str | None
    page_cells: int
    pxweb_cells: int
    pxweb_calls: int
    public_url: str | None = None
    trusted_hosts: str | None = None
    publisher: str | None = None
    licence: str | None = None


def default_folder() -> Path:
    """The demo workspace in the user's data folder."""
    return Path(platformdirs.user_data_dir("discreet", appauthor=False)) / "demo"


def workspace_folder(option: Path | None) -> Path:
    """Which workspace: the option, then the environment, then the demo's."""
    if option is not None:
        return option
    named = os.environ.get(WORKSPACE_ENVIRONMENT)
    return Path(named) if named else default_folder()


def read_options(folder: Path, **given: int | str | None) -> Options:
    """The options for a workspace, given those of the command line."""
    in_file = _workspace_file(folder / WORKSPACE_FILE)
    return Options(**{option.name: _value(option, given, in_file) for option in OPTIONS})  # type: ignore[arg-type]


def engine_of_workspace(folder: Path) -> str:
    """The kind that [engine] in `workspace.toml` names, or nothing."""
    return engine_named(_workspace_file(folder / WORKSPACE_FILE).get("engine", {}), BadOption)


def _value(option: Option, given: Mapping[str, object], in_file: Mapping[str, object]) -> int | str | None:
    if given.get(option.name) is not None:
        return option.read(given[option.name], "the command line")
    if os.environ.get(option.environment):
        return option.read(os.environ[option.environment], option.environment)
    if option.name in in_file:
        return option.read(in_file[option.name], WORKSPACE_FILE)
    return option.default


def _workspace_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadOption(
            f"{WORKSPACE_FILE} is not valid TOML: {error}.", "Mend the line that it names."
        ) from None
    known = [*(option.name for option in OPTIONS), "engine"]
    for key in document:
        if key not in known:
            raise BadOption(f'{WORKSPACE_FILE} has the unknown key "{key}".', nearest(key, known))
    return document
