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

    host: str = _text("127.0.0.1", "The address that the server listens on.")
    port: int = _number(8000, 1, 65_535, "The port that the server listens on.")
    threads: int | None = _number(
        None, 1, 1024, "Threads for one aggregate; all cores by default. Numbers do not depend on it."
    )
    ledger: str | None = _text(
        None,
        "The URL of a PostgreSQL database for the ledger, as SQLAlchemy takes it; by default ledger.sqlite in the "
        "workspace.",
    )
    page_cells: int = _number(
        2_000,
        100,
        20_000,
        "The largest table that a page draws at once; of larger ones it draws what the reader looks at.",
    )
    pxweb_cells: int = _number(
        100_000, 1, 10_000_000, "How many cells one call of PxWebApi gives; programs ask for more in parts."
    )
    nonzero_cells: int | None = _number(
        None,
        1,
        2**62,
        "How many cells a table may have of which a server lists those that are not 0; the dataset's max_cells by default.",
    )
    pxweb_calls: int = _number(
        60, 1, 1_000_000, "How many calls of PxWebApi an address may make in 10 seconds."
    )
    public_url: str | None = _text(
        None,
        "The address under which readers find the server, a path included; links, citations and feeds use it.",
    )
    trusted_hosts: str | None = _text(
        None,
        "Host names, separated by commas, that the server answers for beside its own; `*.x.org` and `*` are read.",
    )
    workers: int = _number(1, 1, 64, "How many processes serve; each opens the datasets for itself.")
    cache_mb: int = _number(
        64, 0, 100_000, "Megabytes of answers that all processes keep in memory; 0 keeps none."
    )
    cache_folder: str | None = _text(None, "Ignored, with a warning: responses are cached in memory.")
    cache_folder_mb: int = _number(1_000, 1, 10_000_000, "Ignored, as cache_folder.")
    connections: int = _number(2_000, 8, 1_000_000, "How many connections each process holds at once.")
    header_seconds: int = _number(
        10, 1, 3_600, "Seconds within which the headers of a request must be complete."
    )
    body_seconds: int = _number(20, 1, 3_600, "Seconds within which the body of a request must be complete.")
    idle_seconds: int = _number(
        15, 1, 3_600, "Seconds that a connection stays open without a further request."
    )
    write_seconds: int = _number(20, 1, 3_600, "Seconds after which a reader who takes nothing is cut off.")
    cells_in_flight: int = _number(
        1_500_000,
        10_000,
        1_000_000_000,
        "How many cells of large tables all processes make and send at once; further ones wait, or get 503.",
    )
    publisher: str | None = _text(None, "Who publishes the datasets, as catalogues name it.")
    licence: str | None = _text(None, "The address of the licence of the tables, as catalogues name it.")
    access: str = _text(
        "public", "Who may see datasets that have no [access]: public, reader, analyst or custodian."
    )
    trusted_proxies: str | None = _text(
        None,
        "Addresses and networks of proxies, separated by commas: what they say of the reader's address and account is "
        "believed.",
    )
    proxy_account_header: str | None = _text(
        None,
        "The header in which a trusted proxy names the account that it signed in, as in X-Forwarded-User.",
    )
    proxy_role_header: str | None = _text(
        None, "The header in which it names roles or groups, separated by commas."
    )
    sign_in_role: str = _text(
        "reader", "The role of somebody whom the office's sign-in names, where no other is told."
    )
    oidc_issuer: str | None = _text(
        None, "The issuer of OpenID Connect whose tokens are accepted; it needs the extra oidc."
    )
    oidc_audience: str | None = _text(None, "The audience that these tokens must name.")
    oidc_account_claim: str = _text("sub", "The claim of a token that names the account.")
    oidc_role_claim: str = _text("roles", "The claim of a token that names roles.")
    account_calls: int = _number(
        30_000, 0, 10_000_000, "How many calls an account may make in 10 seconds; 0 for any."
    )
    address_calls: int = _number(
        3_000,
        0,
        10_000_000,
        "How many calls an address may make in 10 seconds without an account; 0 for any.",
    )
    state: str | None = _text(
        None,
        "The folder in which the server writes its log and what its processes share; by default server in the workspace.",
    )
    log: str = _text("on", "Whether requests are logged: on or off.")
    log_addresses: str = _text("hashed", "What the log keeps of addresses: hashed, truncated, full or none.")
    log_failure: str = _text(
        "go-on", "What happens where the log cannot be written: go-on answers, stop answers 503."
    )
    log_megabytes: int = _number(64, 1, 10_000, "A file of the log that is larger is turned over.")
    log_days: int = _number(90, 1, 36_500, "After so many days a file of the log is removed.")
    metrics_addresses: str | None = _text(
        "127.0.0.1,::1", "Addresses and networks that may read /metrics; for all others it is not there."
    )
    traces: str | None = _text(None, "otlp: spans for OpenTelemetry; it needs the extra otel.")


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
        raise BadOption(
            f"{WORKSPACE_FILE} is not valid TOML: {error}.", "Mend the line that it names."
        ) from None
    known = [*(option.name for option in OPTIONS), "engine", "watch"]
    for key in document:
        if key not in known:
            raise BadOption(f'{WORKSPACE_FILE} has the unknown key "{key}".', nearest(key, known))
    return document
