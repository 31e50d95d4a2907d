"""One version of a dataset on disk: what was written at load, sealed so that nothing of it can be changed.

    dataset.toml           the description
    noise.json             what protects it, as integers: one noise table (cellkey) or the noise plan (dp)
    version.json           the revisions of arithmetic and defaults; versions of the first days have none
    secret.check           tells whether the secret is the one of the load, and whether the three above are unchanged
    records.fingerprint    under dp: the keyed fingerprint that the noise of the records depends on
    engine                 the kind of engine that keeps the records, where it is not duckdb
    data.duckdb            the records, where duckdb keeps them

Comes from: `load`. Goes to: `Workspace`, which serves it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, SecretUnusable, WorkspaceUnusable
from discreet.model.dataset_toml import parse_dataset
from discreet.noise.files import content_hash, read_noise_table, write_noise_table
from discreet.protect.plan import NoisePlan
from discreet.protect.plan_file import plan_text, read_plan
from discreet.records.engine import DEFAULT_ENGINE
from discreet.workspace.revisions import REVISIONS, Revisions, read_revisions, refuse_unknown_revisions

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable
    from discreet.records.secret import Secret

DESCRIPTION = "dataset.toml"
NOISE = "noise.json"
SECRET_CHECK = "secret.check"  # noqa: S105 - a file name
FINGERPRINT = "records.fingerprint"
ENGINE = "engine"
#: What the name of a version looks like.
DIGEST = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True)
class Version:
    """What was written at load.

    Args:
        dataset: The description.
        description: Its text.
        noise: The noise table, or the noise plan.
        fingerprint: Under `dp`, of the records. Never show it.
        kept_by: The kind of engine that keeps the records.
        revisions: What it was loaded under; None where they were not written down yet, and were the first.
    """

    dataset: Dataset
    description: str
    noise: NoiseTable | NoisePlan
    fingerprint: str = ""
    kept_by: str = DEFAULT_ENGINE
    revisions: Revisions | None = None

    def __repr__(self) -> str:
        return f"<Version of {self.dataset.id}>"


def noise_hash(noise: NoiseTable | NoisePlan) -> str:
    """A hash of the integers that protect a version."""
    if isinstance(noise, NoisePlan):
        return hashlib.sha256(plan_text(noise).encode()).hexdigest()
    return content_hash(noise)


def write_version(folder: Path, version: Version, digest: str, secret: Secret) -> None:
    """Write everything but the records, and seal it."""
    (folder / DESCRIPTION).write_text(version.description, "utf-8")
    if isinstance(version.noise, NoisePlan):
        (folder / NOISE).write_text(plan_text(version.noise), "utf-8")
        (folder / FINGERPRINT).write_text(version.fingerprint, "ascii")
    else:
        write_noise_table(version.noise, folder / NOISE)
    if version.kept_by != DEFAULT_ENGINE:
        (folder / ENGINE).write_text(f"{version.kept_by}\n", "utf-8")
    if version.revisions is not None:
        (folder / REVISIONS).write_text(version.revisions.text, "utf-8")
    (folder / SECRET_CHECK).write_text(_seal(secret, digest, version), "ascii")


def read_version(folder: Path, secret: Secret) -> Version:
    """Read a version, or refuse it.

    Raises:
        SecretUnusable: It was loaded with another secret.
        WorkspaceUnusable: It is not complete, was changed after the load, or was loaded by a newer program.
    """
    revisions = read_revisions(folder)
    refuse_unknown_revisions(folder, revisions or Revisions())
    try:
        description = (folder / DESCRIPTION).read_text("utf-8")
        dataset = parse_dataset(description, (revisions or Revisions()).defaults)
    except (OSError, UnicodeDecodeError):
        raise WorkspaceUnusable(
            f'The version {folder.name[:8]} of "{folder.parent.name}" is not complete.',
            "Load the dataset again.",
        ) from None
    refuse_other_secret(folder, secret)
    noise, fingerprint = _read_noise(folder, dataset)
    version = Version(dataset, description, noise, fingerprint, _read_engine(folder), revisions)
    if (folder / SECRET_CHECK).read_text("ascii", errors="replace") != _seal(secret, folder.name, version):
        raise WorkspaceUnusable(
            f"Version {folder.name[:8]} was changed after it was loaded.", "Load the dataset again."
        )
    return version


def refuse_other_secret(folder: Path, secret: Secret) -> None:
    """Records keyed by one secret and cells by another would change every number."""
    path = folder / SECRET_CHECK
    expected = secret.derive("secret-check", folder.name).hex()
    if not path.is_file() or path.read_text("ascii", errors="replace").split("\n")[0] != expected:
        raise SecretUnusable(
            f"The secret is not the one with which version {folder.name[:8]} was loaded.",
            "Restore the workspace's `secret` from your backup.",
        )


def _read_noise(folder: Path, dataset: Dataset) -> tuple[NoiseTable | NoisePlan, str]:
    """The stored integers; anything wrong with them means no answers."""
    try:
        if dataset.protection.is_dp:
            fingerprint = (folder / FINGERPRINT).read_text("ascii")
            return read_plan((folder / NOISE).read_text("utf-8"), dataset), fingerprint
        return read_noise_table(folder / NOISE), ""
    except (DiscreetError, OSError, UnicodeDecodeError) as error:
        said = f" {error.message}" if isinstance(error, DiscreetError) else ""
        raise WorkspaceUnusable(
            f"The noise table of version {folder.name[:8]} cannot be used.{said}", "Load the dataset again."
        ) from None


def _read_engine(folder: Path) -> str:
    path = folder / ENGINE
    return path.read_text("utf-8", errors="replace").strip() if path.is_file() else DEFAULT_ENGINE


def _seal(secret: Secret, digest: str, version: Version) -> str:
    """Two values that only the secret of the load gives: of the version's name, and of what protects it."""
    parts = (digest, version.description, noise_hash(version.noise))
    fingerprint = (version.fingerprint,) if isinstance(version.noise, NoisePlan) else ()
    elsewhere = (f"engine {version.kept_by}",) if version.kept_by != DEFAULT_ENGINE else ()
    revisions = () if version.revisions is None else (version.revisions.text,)
    sealed = secret.derive("version-seal", *parts, *fingerprint, *elsewhere, *revisions)
    return f"{secret.derive('secret-check', digest).hex()}\n{sealed.hex()}\n"
