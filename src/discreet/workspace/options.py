"""Options of a workspace: the command line, then DISCREET_*, then `workspace.toml`, then the default. The first one wins."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from discreet.errors import BadOption
from discreet.model.description.sections import parse_engine
from discreet.model.messages.text import nearest


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
        2_000,
        100,
        20_000,
        "The largest table that a page draws at once; of larger ones it draws what the reader looks at.",
    ),
    Option(
        "pxweb_cells",
        100_000,
        1,
        10_000_000,
        "How many cells one call of PxWebApi gives; programs ask for more in parts.",
    ),
    Option(
        "nonzero_cells",
        None,
        1,
        2**62,
        "How many cells a table may have of which a server lists those that are not 0; the dataset's max_cells by default.",
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
    Option("workers", 1, 1, 64, "How many processes serve; each opens the datasets for itself."),
    Option(
        "cache_mb", 64, 0, 100_000, "Megabytes of answers that all processes keep in memory; 0 keeps none."
    ),
    Option(
        "cache_folder", None, None, None, "A folder where answers are kept on disk too, for all processes."
    ),
    Option("cache_folder_mb", 1_000, 1, 10_000_000, "Megabytes of answers in that folder."),
    Option("connections", 2_000, 8, 1_000_000, "How many connections each process holds at once."),
    Option("header_seconds", 10, 1, 3_600, "Seconds within which the headers of a request must be complete."),
    Option("body_seconds", 20, 1, 3_600, "Seconds within which the body of a request must be complete."),
    Option("idle_seconds", 15, 1, 3_600, "Seconds that a connection stays open without a further request."),
    Option("write_seconds", 20, 1, 3_600, "Seconds after which a reader who takes nothing is cut off."),
    Option(
        "cells_in_flight",
        1_500_000,
        10_000,
        1_000_000_000,
        "How many cells of large tables all processes make and send at once; further ones wait, or get 503.",
    ),
    Option("publisher", None, None, None, "Who publishes the datasets, as catalogues name it."),
    Option("licence", None, None, None, "The address of the licence of the tables, as catalogues name it."),
    Option(
        "access",
        "public",
        None,
        None,
        "Who may see datasets that have no [access]: public, reader, analyst or custodian.",
    ),
    Option(
        "trusted_proxies",
        None,
        None,
        None,
        "Addresses and networks of proxies, separated by commas: what they say of the reader's address and account is "
        "believed.",
    ),
    Option(
        "proxy_account_header",
        None,
        None,
        None,
        "The header in which a trusted proxy names the account that it signed in, as in X-Forwarded-User.",
    ),
    Option(
        "proxy_role_header",
        None,
        None,
        None,
        "The header in which it names roles or groups, separated by commas.",
    ),
    Option(
        "sign_in_role",
        "reader",
        None,
        None,
        "The role of somebody whom the office's sign-in names, where no other is told.",
    ),
    Option(
        "oidc_issuer",
        None,
        None,
        None,
        "The issuer of OpenID Connect whose tokens are accepted; it needs the extra oidc.",
    ),
    Option("oidc_audience", None, None, None, "The audience that these tokens must name."),
    Option("oidc_account_claim", "sub", None, None, "The claim of a token that names the account."),
    Option("oidc_role_claim", "roles", None, None, "The claim of a token that names roles."),
    Option(
        "account_calls", 30_000, 0, 10_000_000, "How many calls an account may make in 10 seconds; 0 for any."
    ),
    Option(
        "address_calls",
        3_000,
        0,
        10_000_000,
        "How many calls an address may make in 10 seconds without an account; 0 for any.",
    ),
    Option(
        "state",
        None,
        None,
        None,
        "The folder in which the server writes its log and what its processes share; by default server in the workspace.",
    ),
    Option("log", "on", None, None, "Whether requests are logged: on or off."),
    Option(
        "log_addresses",
        "hashed",
        None,
        None,
        "What the log keeps of addresses: hashed, truncated, full or none.",
    ),
    Option(
        "log_failure",
        "go-on",
        None,
        None,
        "What happens where the log cannot be written: go-on answers, stop answers 503.",
    ),
    Option("log_megabytes", 64, 1, 10_000, "A file of the log that is larger is turned over."),
    Option("log_days", 90, 1, 36_500, "After so many days a file of the log is removed."),
    Option(
        "metrics_addresses",
        "127.0.0.1,::1",
        None,
        None,
        "Addresses and networks that may read /metrics; for all others it is not there.",
    ),
    Option("traces", None, None, None, "otlp: spans for OpenTelemetry; it needs the extra otel."),
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
    workers: int = 1
    cache_mb: int = 64
    cache_folder: str | None = None
    cache_folder_mb: int = 1_000
    connections: int = 2_000
    header_seconds: int = 10
    body_seconds: int = 20
    idle_seconds: int = 15
    write_seconds: int = 20
    cells_in_flight: int = 1_500_000
    nonzero_cells: int | None = None
    public_url: str | None = None
    trusted_hosts: str | None = None
    publisher: str | None = None
    licence: str | None = None
    access: str = "public"
    trusted_proxies: str | None = None
    proxy_account_header: str | None = None
    proxy_role_header: str | None = None
    sign_in_role: str = "reader"
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_account_claim: str = "sub"
    oidc_role_claim: str = "roles"
    account_calls: int = 30_000
    address_calls: int = 3_000
    state: str | None = None
    log: str = "on"
    log_addresses: str = "hashed"
    log_failure: str = "go-on"
    log_megabytes: int = 64
    log_days: int = 90
    metrics_addresses: str | None = "127.0.0.1,::1"
    traces: str | None = None


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
    return options_from(_workspace_file(folder / WORKSPACE_FILE), **given)


def options_from(in_file: Mapping[str, object], **given: int | str | None) -> Options:
    """The options, given those of the command line and those of a file, where there is no workspace."""
    return Options(**{option.name: _value(option, given, in_file) for option in OPTIONS})  # type: ignore[arg-type]


def engine_of_workspace(folder: Path) -> str:
    """The kind that [engine] in `workspace.toml` names, or nothing."""
    return parse_engine(_workspace_file(folder / WORKSPACE_FILE).get("engine", {}), BadOption)


def watch_of_workspace(folder: Path) -> dict[str, Any]:
    """The section [watch] of `workspace.toml`, as it stands.

    Raises:
        BadOption: It is no section.
    """
    section = _workspace_file(folder / WORKSPACE_FILE).get("watch", {})
    if not isinstance(section, dict):
        raise BadOption("`watch` is not a section.", "Write [watch] before its lines.")
    return section


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
    known = [*(option.name for option in OPTIONS), "engine", "watch"]
    for key in document:
        if key not in known:
            raise BadOption(f'{WORKSPACE_FILE} has the unknown key "{key}".', nearest(key, known))
    return document
