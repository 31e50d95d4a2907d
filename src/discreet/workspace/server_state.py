"""The folder in which a server writes; not part of the workspace, and in no backup.

    <workspace>/server/log/            the audit log (`web/audit/log.py`)
    <workspace>/server/shared.sqlite   rate limits and blocks, shared by all processes (`web/auth/rate_limit.py`)
    <workspace>/server/alerts.jsonl    alerts of the detectors

The option `state` names another folder, for a workspace that the server may only read.
"""

from __future__ import annotations

from pathlib import Path

from discreet.records.keys import Purpose, create_secret, read_secret
from discreet.workspace.options import read_options

FOLDER = "server"
#: The secret of a server that serves a publication, which has none.
OWN_SECRET = "secret"  # noqa: S105 - the name of a file


def state_folder(folder: Path) -> Path:
    """The folder in which the server of a workspace writes."""
    named = read_options(folder).state
    return Path(named) if named else folder / FOLDER


def standalone_log_key(state: Path) -> bytes:
    """The log key of a server without a workspace; created once, next to the log."""
    create_secret(state / OWN_SECRET)
    return read_secret(state / OWN_SECRET).derive(Purpose.AUDIT_LOG)


def log_key(folder: Path) -> bytes:
    """The key that seals the audit log and hashes IP addresses in it.

    Raises:
        SecretUnusable: The workspace has no secret that can be used.
    """
    return read_secret(folder / "secret").derive(Purpose.AUDIT_LOG)
