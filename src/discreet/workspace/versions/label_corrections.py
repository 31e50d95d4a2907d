"""Labels, descriptions and notes that were corrected after a load: the version and its numbers stay as they are.

    datasets/<id>/wording.json   {"digest", "description", "seal"}

A description belongs to its version and is sealed with it. A corrected one stands beside it, is sealed as well, and may
differ in words only: whatever decides a number (codes, order, protection, rules) must be equal. It serves the one
version that it was written for.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tomllib
from dataclasses import replace
from pathlib import Path

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import (
    Change,
    description_changes,
    parse_dataset,
    parse_names_only,
)
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.workspace.sealed import fsync_path
from discreet.workspace.versions.version import Version, read_version

WORDING = "wording.json"
#: The keys of a description that are words for people, and who may see it; all others decide numbers.
WORDS = frozenset(
    {
        "label", "labels", "description", "notes", "source", "topic", "unit", "population", "reference_date", "about",
        "classification", "publish", "access",
    }
)  # fmt: skip


def relabel_dataset(folder: Path, description: str) -> str:
    """Show the served version of a dataset in the words of another description; returns the version's digest.

    Raises:
        BadRequest: The dataset is not served, or more than words differ.
        BadDescription: The description cannot be read.
        SecretUnusable, WorkspaceUnusable: The version cannot be read.
    """
    home = folder / "datasets" / parse_names_only(description).id
    if not (home / "current").is_file():
        raise BadRequest(f'"{home.name}" is not served here.', "Load it first.")
    digest = (home / "current").read_text("ascii", errors="replace").strip()
    secret = read_secret(folder / "secret")
    version = read_version(home / digest, secret)
    changes = description_changes(tomllib.loads(version.description), tomllib.loads(description))
    differs = next((change for change in changes if not _is_text_change(change)), None)
    if differs is not None:
        raise BadRequest(
            f"The description differs from that of the load in `{differs.place}`, which is more than words.",
            "Change labels, descriptions and notes only, or load the records again as a new version.",
        )
    parse_dataset(description, version.revisions.defaults)
    document = {
        "digest": digest,
        "description": description,
        "seal": _labels_seal(secret, digest, description),
    }
    aside = home / f".history-{secrets.token_hex(8)}"
    aside.write_text(json.dumps(document) + "\n", "utf-8")
    fsync_path(aside)
    aside.replace(home / WORDING)
    fsync_path(home)
    return digest


def apply_labels(home: Path, digest: str, version: Version, secret: Secret) -> Dataset:
    """The dataset of a version in its newest words.

    Raises:
        WorkspaceUnusable: The words were changed after they were written.
    """
    text, wording = current_description(home, digest, version, secret)
    if not wording:
        return version.dataset
    dataset = parse_dataset(text, version.revisions.defaults, version.boundaries)
    return replace(version.revisions.keyed(dataset), wording=wording)


def current_description(home: Path, digest: str, version: Version, secret: Secret) -> tuple[str, str]:
    """The newest description of a version, and a hash of its words where they were corrected.

    Raises:
        WorkspaceUnusable: The words were changed after they were written.
    """
    try:
        document = json.loads((home / WORDING).read_text("utf-8"))
        if document["digest"] != digest:
            return version.description, ""
        text, seal = str(document["description"]), document["seal"]
    except FileNotFoundError:
        return version.description, ""
    except (OSError, ValueError, TypeError, KeyError):
        raise _labels_unusable(home) from None
    if seal != _labels_seal(secret, digest, text):
        raise _labels_unusable(home)
    return text, hashlib.sha256(text.encode()).hexdigest()[:16]


def labels_mtime(home: Path) -> int:
    """When the words of a dataset were corrected, as the file system tells it; 0 where they never were."""
    try:
        return (home / WORDING).stat().st_mtime_ns
    except OSError:
        return 0


def _is_text_change(change: Change) -> bool:
    """Whether a change is one of words; `universe` is of a variable, and decides numbers in [protection]."""
    words = WORDS | ({"universe"} if change.path[0] == "variable" else set())
    return not words.isdisjoint(change.path)


def _labels_seal(secret: Secret, digest: str, description: str) -> str:
    return secret.derive(Purpose.WORDING, digest, description).hex()


def _labels_unusable(home: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f'The corrected words of "{home.name}" cannot be read, or were changed after they were written.',
        f"Correct them again with `discreet relabel`, or remove {WORDING} from its folder.",
    )
