"""Options of a workspace, each declared once: the command line, then DISCREET_*, then `workspace.toml`, then the default."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from discreet.errors import BadOption
from discreet.model.description.sections import parse_engine
from discreet.model.messages.text import nearest

#: The workspace itself is no option of `workspace.toml`, which lies in it.
WORKSPACE_ENVIRONMENT = "DISCREET_WORKSPACE"
WORKSPACE_FILE = "workspace.toml"


def _text(default: str | None, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


def _number(default: int | None, smallest: int, largest: int, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning, "smallest": smallest, "largest": largest})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options in force. A field's name is its key in `workspace.toml`; DISCREET_NAME sets it, too."""

    host: str = _text("127.0.0.1", "IP address the server listens on.")
    port: int = _number(8000, 1, 65_535, "Port the server listens on.")
    threads: int | None = _number(
        None, 1, 1024, "Threads per query; by default all cores. Numbers do not depend on it."
    )
    ledger: str | None = _text(
        None,
        "SQLAlchemy URL of a PostgreSQL database for the ledger; by default ledger.sqlite in the workspace.",
    )
    page_cells: int = _number(
        2_000,
        100,
        20_000,
        "Largest table that a page draws completely; of larger tables it draws the visible part.",
    )
    pxweb_cells: int = _number(
        100_000,
        1,
        10_000_000,
        "Maximum number of cells per PxWebApi call; clients fetch larger tables in parts.",
    )
    nonzero_cells: int | None = _number(
        None,
        1,
        2**62,
        "Maximum number of cells of a table whose non-zero cells are listed; by default the dataset's "
        "max_cells.",
    )
    pxweb_calls: int = _number(60, 1, 1_000_000, "PxWebApi rate limit: calls per IP address in 10 seconds.")
    public_url: str | None = _text(
        None,
        "Public URL of the server, including a path; used in links, citations and feeds.",
    )
    trusted_hosts: str | None = _text(
        None,
        "Additional host names the server answers for, comma-separated; `*.x.org` and `*` are allowed.",
    )
    workers: int = _number(1, 1, 64, "Number of server processes; each opens the datasets itself.")
    cache_mb: int = _number(
        64, 0, 100_000, "Size of the response cache of all processes in megabytes; 0 turns it off."
    )
    cache_folder: str | None = _text(None, "Ignored with a warning: responses are cached in memory.")
    cache_folder_mb: int = _number(1_000, 1, 10_000_000, "Ignored, as cache_folder.")
    connections: int = _number(2_000, 8, 1_000_000, "Maximum number of open connections per process.")
    header_seconds: int = _number(10, 1, 3_600, "Timeout for the headers of a request, in seconds.")
    body_seconds: int = _number(20, 1, 3_600, "Timeout for the body of a request, in seconds.")
    idle_seconds: int = _number(15, 1, 3_600, "Keep-alive timeout of idle connections, in seconds.")
    write_seconds: int = _number(
        20, 1, 3_600, "Timeout for clients that stop reading a response, in seconds."
    )
    cells_in_flight: int = _number(
        1_500_000,
        10_000,
        1_000_000_000,
        "Maximum number of cells of large tables in progress in all processes; further requests wait or get "
        "503.",
    )
    publisher: str | None = _text(None, "Publisher of the datasets, for catalogues.")
    licence: str | None = _text(None, "URL of the licence of the tables, for catalogues.")
    access: str = _text(
        "public", "Who may see datasets that have no [access]: public, reader, analyst or custodian."
    )
    trusted_proxies: str | None = _text(
        None,
        "IP addresses and networks of trusted proxies, comma-separated; their headers decide the client's IP "
        "address and account.",
    )
    proxy_account_header: str | None = _text(
        None,
        "Header in which a trusted proxy passes the signed-in account, as in X-Forwarded-User.",
    )
    proxy_role_header: str | None = _text(
        None, "Header in which a trusted proxy passes roles or groups, comma-separated."
    )
    sign_in_role: str = _text("reader", "Default role of accounts of the identity provider.")
    oidc_issuer: str | None = _text(
        None, "OpenID Connect issuer whose tokens are accepted; needs the extra oidc."
    )
    oidc_audience: str | None = _text(None, "Required audience of these tokens.")
    oidc_account_claim: str = _text("sub", "Claim of a token that holds the account.")
    oidc_role_claim: str = _text("roles", "Claim of a token that holds roles.")
    account_calls: int = _number(
        30_000, 0, 10_000_000, "Rate limit per account: calls in 10 seconds; 0 for none."
    )
    address_calls: int = _number(
        3_000,
        0,
        10_000_000,
        "Rate limit per IP address without an account: calls in 10 seconds; 0 for none.",
    )
    state: str | None = _text(
        None,
        "Folder for the server's audit log and shared state; by default `server` in the workspace.",
    )
    log: str = _text("on", "Audit log of requests: on or off.")
    log_addresses: str = _text("hashed", "How IP addresses are logged: hashed, truncated, full or none.")
    log_failure: str = _text(
        "go-on", "If the log cannot be written: go-on (keep answering) or stop (answer 503)."
    )
    log_megabytes: int = _number(64, 1, 10_000, "Size in megabytes at which a log file is rotated.")
    log_days: int = _number(90, 1, 36_500, "Days after which a log file is deleted.")
    metrics_addresses: str | None = _text(
        "127.0.0.1,::1", "IP addresses and networks that may read /metrics; everyone else gets 404."
    )
    traces: str | None = _text(None, "otlp: export OpenTelemetry spans; needs the extra otel.")


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of one option; numbers have bounds, texts have none."""

    name: str
    default: int | str | None
    meaning: str
    smallest: int | None = None
    largest: int | None = None

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"DISCREET_{self.name.upper()}"

    def read(self, value: object, origin: str) -> int | str:
        """Parse and validate a value."""
        if self.smallest is None or self.largest is None:
            return ",".join(map(str, value)) if isinstance(value, list) else str(value)
        try:
            number = int(str(value))
        except ValueError:
            number = None
        if number is None or not self.smallest <= number <= self.largest:
            raise BadOption(
                f"The option {self.name} from {origin} is {value!r}.",
                f"Give a whole number between {self.smallest:,} and {self.largest:,}.",
            )
        return number

    def value(self, given: Mapping[str, object], in_file: Mapping[str, object]) -> int | str | None:
        """The value from the first source that has one."""
        if given.get(self.name) is not None:
            return self.read(given[self.name], "the command line")
        if os.environ.get(self.environment):
            return self.read(os.environ[self.environment], self.environment)
        if self.name in in_file:
            return self.read(in_file[self.name], WORKSPACE_FILE)
        return self.default


OPTIONS = tuple(Option(each.name, getattr(Options(), each.name), **each.metadata) for each in fields(Options))


def default_folder() -> Path:
    """The demo workspace in the user's data folder."""
    return Path(platformdirs.user_data_dir("discreet", appauthor=False)) / "demo"


def workspace_folder(option: Path | None) -> Path:
    """The workspace: the option, then the environment, then the demo's."""
    if option is not None:
        return option
    named = os.environ.get(WORKSPACE_ENVIRONMENT)
    return Path(named) if named else default_folder()


def read_options(folder: Path, **given: int | str | None) -> Options:
    """The options of a workspace, with those of the command line."""
    return options_from(_workspace_file(folder), **given)


def options_from(in_file: Mapping[str, object], **given: int | str | None) -> Options:
    """The options from the content of a file, with those of the command line."""
    return Options(**{option.name: option.value(given, in_file) for option in OPTIONS})  # type: ignore[arg-type]


def engine_of_workspace(folder: Path) -> str:
    """The kind that [engine] in `workspace.toml` names; empty without one."""
    return parse_engine(_workspace_file(folder).get("engine", {}), BadOption)


def watch_of_workspace(folder: Path) -> dict[str, Any]:
    """The section [watch] of `workspace.toml`."""
    section = _workspace_file(folder).get("watch", {})
    if not isinstance(section, dict):
        raise BadOption("`watch` is not a section.", "Write [watch] before its lines.")
    return section


def _workspace_file(folder: Path) -> dict[str, Any]:
    path = folder / WORKSPACE_FILE
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadOption(f"{WORKSPACE_FILE} is not valid TOML: {error}.", "Fix that line.") from None
    known = [*(option.name for option in OPTIONS), "engine", "watch"]
    for key in document:
        if key not in known:
            raise BadOption(f'{WORKSPACE_FILE} has the unknown key "{key}".', nearest(key, known))
    return document
