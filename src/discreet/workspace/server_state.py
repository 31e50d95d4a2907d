"""Where a server writes: its log of requests, the tokens that its processes share, what was held back and why.

    <workspace>/server/log/       the log of requests (`web/audit/log.py`)
    <workspace>/server/shared.sqlite   tokens and holds, of all processes (`web/auth/rate_limit.py`)
    <workspace>/server/alerts.jsonl    what the watch found

The option `state` names another folder, for a workspace that the server may only read. What stands there is no part of
the workspace: no backup has it, and nothing that is published depends on it.
"""

from __future__ import annotations

from pathlib import Path

from discreet.records.keys import Purpose, create_secret, read_secret
from discreet.workspace.options import read_options

FOLDER = "server"
#: The secret of a server that serves a publication, which has none.
OWN_SECRET = "secret"  # noqa: S105 - the name of a file


def state_folder(folder: Path) -> Path:
    """Where the server of a workspace writes."""
    named = read_options(folder).state
    return Path(named) if named else folder / FOLDER


def standalone_log_key(state: Path) -> bytes:
    """The key of the log of a server without a workspace: made once, and kept beside the log."""
    create_secret(state / OWN_SECRET)
    return read_secret(state / OWN_SECRET).derive(Purpose.AUDIT_LOG)


def log_key(folder: Path) -> bytes:
    """The key that seals the log and hashes addresses in it; whoever has not the secret cannot make a line.

    Raises:
        SecretUnusable: The workspace has no secret that can be used.
    """
    return read_secret(folder / "secret").derive(Purpose.AUDIT_LOG)
