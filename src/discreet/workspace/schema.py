"""The schema of a workspace: how its folders and files are laid out, by number.

    workspace.json   {"schema": 1}, written by a load

A workspace without the file was made before schemas had numbers and has schema 1. Opening one changes nothing. A newer
schema than this program knows is refused: what it cannot read in full it must not answer from.

Source: docs/decisions/0007-versions.md.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from discreet.errors import WorkspaceUnusable

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_FILE = "workspace.json"
SCHEMA = 1
#: Where a rotation of the secret puts what it replaces, until it has ended (`upkeep/rotation.py`).
RETIRING = "retiring"


def refuse_newer_workspace(folder: Path) -> None:
    """Refuse a workspace that this program does not know how to read, or whose secret is being rotated.

    Raises:
        WorkspaceUnusable: Its schema is newer, or cannot be read; a rotation was broken off.
    """
    refuse_rotating(folder)
    try:
        schema = int(json.loads((folder / SCHEMA_FILE).read_text("utf-8"))["schema"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, KeyError):
        raise WorkspaceUnusable(
            f"The schema of the workspace ({SCHEMA_FILE}) cannot be read.",
            "Restore the file from your backup.",
        ) from None
    if schema > SCHEMA:
        raise WorkspaceUnusable(
            f"The workspace has schema {schema}, and this version of Discreet knows schemas up to {SCHEMA}.",
            "Use the newer version of Discreet that wrote it.",
        )


def refuse_rotating(folder: Path) -> None:
    """Refuse a workspace between two secrets.

    Raises:
        WorkspaceUnusable: A rotation is under way, or was broken off.
    """
    if (folder / RETIRING).exists():
        raise WorkspaceUnusable(
            "The secret of the workspace is being rotated, or that was broken off.",
            "Wait for `discreet secret rotate`, or run it again: it finishes what was begun.",
        )


def mark_workspace(folder: Path) -> None:
    """Write the schema into a workspace that does not say it yet, in one step."""
    if not (folder / SCHEMA_FILE).exists():
        written = folder / f".{SCHEMA_FILE}-{secrets.token_hex(8)}"
        written.write_text(json.dumps({"schema": SCHEMA}) + "\n", "utf-8")
        written.replace(folder / SCHEMA_FILE)
