"""Labels, descriptions and notes that were corrected after a load (`discreet relabel`); numbers stay as they are.

    datasets/<id>/wording.json   {"digest", "description", "seal"}

The corrected description applies to one version and may differ from the loaded one in text only: codes, order, protection
and rules must be equal.
"""

import hashlib
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import description_changes, parse_dataset, parse_names_only
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.workspace.folder_layout import lock_dataset
from discreet.workspace.sealed import read_sealed, write_sealed
from discreet.workspace.versions.version import Version, current_digest, read_version

WORDING = "wording.json"
#: The keys of a description that hold text for readers, `access` and `unchecked_draft`; all others decide numbers.
WORDS = frozenset(
    {
        "label", "labels", "description", "notes", "source", "topic", "unit", "population", "reference_date", "about",
        "classification", "publish", "access", "unchecked_draft",
    }
)  # fmt: skip


def relabel_dataset(folder: Path, description: str) -> str:
    """Show the current version of a dataset with the texts of another description; returns the version's digest.

    Raises:
        BadRequest: The dataset is not served, or more than texts differ.
        SecretUnusable, WorkspaceUnusable: The version cannot be read.
    """
    home = folder / "datasets" / parse_names_only(description).id
    if not current_digest(home):
        raise BadRequest(f'"{home.name}" is not served here.', "Load it first.")
    with lock_dataset(home):
        return _write_labels(folder, home, description)


def _write_labels(folder: Path, home: Path, description: str) -> str:
    digest = current_digest(home)
    secret = read_secret(folder / "secret")
    version = read_version(home / digest, secret)
    changes = description_changes(tomllib.loads(version.description), tomllib.loads(description))
    # `universe` is text in [[variable]], and decides numbers in [protection].
    in_variable = WORDS | {"universe"}
    for each in changes:
        if (in_variable if each.path[0] == "variable" else WORDS).isdisjoint(each.path):
            raise BadRequest(
                f"The description differs from the loaded one in `{each.place}`, which is more than a label or note.",
                "Change labels, descriptions and notes only, or load the records again as a new version.",
            )
    parse_dataset(description, version.revisions.defaults)
    document, sealed = {"digest": digest, "description": description}, (digest, description)
    write_sealed(home / WORDING, document, secret, Purpose.WORDING, sealed, temporary=".history-")
    return digest


def apply_labels(home: Path, digest: str, version: Version, secret: Secret) -> Dataset:
    """The dataset of a version, parsed with its newest texts."""
    text, wording = current_description(home, digest, version, secret)
    if not wording:
        return version.dataset
    dataset = parse_dataset(text, version.revisions.defaults, version.boundaries)
    if dataset.measures:
        from discreet.noise.magnitude import with_tables  # noqa: PLC0415 - counts start without it

        dataset = with_tables(dataset, version.measures_text)
    # The constants of printed errors were measured at the load: no text declares them.
    return replace(version.revisions.keyed(dataset), wording=wording, survey=version.dataset.survey)


def current_description(home: Path, digest: str, version: Version, secret: Secret) -> tuple[str, str]:
    """The newest description of a version, and a hash of its text if it was corrected; its seal is validated."""
    error = WorkspaceUnusable(
        f'The corrected labels of "{home.name}" are unreadable or were changed.',
        f"Correct them again with `discreet relabel`, or delete {WORDING} from its folder.",
    )

    def sealed(document: dict[str, Any]) -> tuple[str, str]:
        return document["digest"], str(document["description"])

    found = read_sealed(home / WORDING, secret, Purpose.WORDING, sealed, error)
    if found is None or found["digest"] != digest:
        return version.description, ""
    text = str(found["description"])
    return text, hashlib.sha256(text.encode()).hexdigest()[:16]


def labels_mtime(home: Path) -> int:
    """When the texts of a dataset were corrected, in nanoseconds; 0 if never."""
    try:
        return (home / WORDING).stat().st_mtime_ns
    except OSError:
        return 0
