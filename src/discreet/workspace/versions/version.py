"""The revisions that a version was loaded under: of the arithmetic that answers it, and of the defaults it left out.

    version.json   {"arithmetic": 2, "defaults": 1}, written at load and sealed

A version without the file was loaded before revisions had numbers: both are 1. A revision that this program does not
know is refused before anything else of the version is read.

One version of a dataset on disk: what was written at load, sealed so that nothing of it can be changed.

    dataset.toml           the description
    noise.json             what protects it, as integers: one noise table (cellkey) or the noise plan (dp)
    version.json           the revisions of arithmetic and defaults
    records.seal           keyed hashes of the files with the records (`records_seal.py`)
    records.fingerprint    under dp: the keyed fingerprint that the noise of the records depends on
    boundaries.V.geojson   the shapes of the categories of a variable V, where the description names some
    engine                 the kind of engine that keeps the records, where it is not duckdb
    ledger.mark            how far the ledger had come when something was last charged (`ledger_marks.py`)
    secret.check           tells whether the secret is the one of the load, and whether all of the above is unchanged
    data.duckdb            the records, where duckdb keeps them; where there are many, codes.bin beside it
    ids.sketch             a sealed sketch of the ids of the records, where they have ids (`recognition.py`)
    residuals.npy          of a joint universe, its noisy residuals (`residuals.py`)
    cubes/                 sums that were added up beforehand, with a sealed list of their own (`cube_files.py`)

Nothing else may stand there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from discreet.errors import BadDescription, DiscreetError, SecretUnusable, WorkspaceUnusable
from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.revision import knows_arithmetic, newest_arithmetic, newest_defaults
from discreet.noise.files import content_hash, read_noise_table, write_noise_table
from discreet.noise.table import NoiseTable
from discreet.protect.plan import NoisePlan
from discreet.protect.plan_file import plan_text, read_plan
from discreet.records.engine import DEFAULT_ENGINE
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import RECORDS_SEAL, RecordsSeal, read_records_seal, refuse_foreign_files
from discreet.workspace.versions.checkpoints import MARK

REVISIONS = "version.json"


@dataclass(frozen=True, slots=True)
class Revisions:
    """What a version was loaded under.

    Args:
        arithmetic: The arithmetic that answers it (`model/revision.py`).
        defaults: The defaults of keys that its description leaves out (`model/revision.py`).
        keys: How many sets of keys its lineage has had: a load with `--corrections new-lineage` begins the next.
    """

    arithmetic: int = 1
    defaults: int = 1
    keys: int = 1

    @property
    def text(self) -> str:
        """What is stored and sealed; the first keys go without saying.

        >>> Revisions().text
        '{"arithmetic": 1, "defaults": 1}'
        >>> Revisions(2, 1, 3).text
        '{"arithmetic": 2, "defaults": 1, "keys": 3}'
        """
        told = asdict(self)
        return json.dumps(
            {name: told[name] for name in told if name != "keys" or self.keys > 1}, sort_keys=True
        )

    def keyed(self, dataset: Dataset) -> Dataset:
        """The dataset with the lineage that its keys are derived from: its own, or a later one of the same name."""
        return dataset if self.keys == 1 else replace(dataset, lineage=f"{dataset.lineage}\n{self.keys}")


def read_revisions(folder: Path) -> Revisions:
    """The revisions of a version; the first where it was loaded before they had numbers.

    Raises:
        WorkspaceUnusable: They cannot be read.
    """
    try:
        found = json.loads((folder / REVISIONS).read_text("utf-8"))
        return Revisions(**{key: int(value) for key, value in found.items()})
    except FileNotFoundError:
        return Revisions()
    except (OSError, ValueError, TypeError, AttributeError):
        raise WorkspaceUnusable(
            f"The revisions of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None


def refuse_unknown_revisions(folder: Path, revisions: Revisions) -> None:
    """Refuse a version that this program cannot answer as it was loaded.

    Raises:
        WorkspaceUnusable: A newer program loaded it, or its arithmetic was given up.
    """
    if knows_arithmetic(revisions.arithmetic) and 1 <= revisions.defaults <= newest_defaults():
        return
    newer = revisions.arithmetic > newest_arithmetic() or revisions.defaults > newest_defaults()
    raise WorkspaceUnusable(
        f'Version {folder.name[:8]} of "{folder.parent.name}" was loaded under revision {revisions.arithmetic} of '
        f"the arithmetic and {revisions.defaults} of the defaults, which this version of Discreet does not know.",
        "Use the newer version of Discreet that loaded it." if newer else "Load the dataset again.",
    )


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
        revisions: What it was loaded under.
        records: The seal of the files with the records.
        fingerprint: Under `dp`, of the records. Never show it.
        kept_by: The kind of engine that keeps the records.
        boundaries: By variable.
        marked: Whether the version has a mark of its ledger; those of before there were marks need none.
    """

    dataset: Dataset
    description: str
    noise: NoiseTable | NoisePlan
    revisions: Revisions
    records: RecordsSeal
    fingerprint: str = ""
    kept_by: str = DEFAULT_ENGINE
    boundaries: Mapping[str, Boundaries] = field(default_factory=dict)
    marked: bool = False

    @property
    def file_names(self) -> frozenset[str]:
        """The names of its files but those of the records."""
        under_dp = {FINGERPRINT} if isinstance(self.noise, NoisePlan) else set()
        elsewhere = {ENGINE} if self.kept_by != DEFAULT_ENGINE else set()
        shapes = {boundaries_file_name(name) for name in self.boundaries}
        return frozenset(
            {DESCRIPTION, NOISE, REVISIONS, RECORDS_SEAL, SECRET_CHECK, MARK} | under_dp | elsewhere | shapes
        )

    def __repr__(self) -> str:
        return f"<Version of {self.dataset.id}>"


def boundaries_file_name(name: str) -> str:
    """The file that keeps the boundaries of a variable."""
    return f"boundaries.{name}.geojson"


def boundaries_hash(boundaries: Mapping[str, Boundaries]) -> str:
    """A hash of all shapes; empty where there are none, as before there could be any."""
    told = [f"{name} {hashlib.sha256(boundaries[name].content).hexdigest()}" for name in sorted(boundaries)]
    return "\n".join(told)


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
    for name, each in version.boundaries.items():
        (folder / boundaries_file_name(name)).write_bytes(each.content)
    if version.kept_by != DEFAULT_ENGINE:
        (folder / ENGINE).write_text(f"{version.kept_by}\n", "utf-8")
    (folder / REVISIONS).write_text(version.revisions.text, "utf-8")
    (folder / RECORDS_SEAL).write_text(version.records.text, "utf-8")
    (folder / SECRET_CHECK).write_text(_secret_check(secret, digest, version), "ascii")


def read_version(folder: Path, secret: Secret) -> Version:
    """Read a version, or refuse it.

    Raises:
        SecretUnusable: It was loaded with another secret.
        WorkspaceUnusable: It is not complete, was changed after the load, was loaded by a newer program, or its
            folder holds something foreign.
    """
    revisions = read_revisions(folder)
    refuse_unknown_revisions(folder, revisions)
    try:
        description = (folder / DESCRIPTION).read_text("utf-8")
        shapes = _read_boundaries(folder)
        dataset = revisions.keyed(parse_dataset(description, revisions.defaults, shapes))
    except (OSError, UnicodeDecodeError):
        raise WorkspaceUnusable(
            f'The version {folder.name[:8]} of "{folder.parent.name}" is not complete.',
            "Load the dataset again.",
        ) from None
    except BadDescription:
        raise _version_changed_error(folder) from None
    refuse_other_secret(folder, secret)
    noise, fingerprint = _read_noise(folder, dataset)
    records = read_records_seal(folder)
    engine = _read_engine(folder)
    version = Version(dataset, description, noise, revisions, records, fingerprint, engine, shapes)
    version = _verify_seal(folder, version, secret)
    _refuse_other_dataset(folder, dataset)
    refuse_foreign_files(folder, records, version.file_names, secret)
    return version


def _verify_seal(folder: Path, version: Version, secret: Secret) -> Version:
    """The version as it was sealed: with the mark of its ledger, or before there were marks."""
    found = (folder / SECRET_CHECK).read_text("ascii", errors="replace")
    for sealed in (replace(version, marked=True), version):
        if found == _secret_check(secret, folder.name, sealed):
            if sealed.marked and not (folder / MARK).is_file():
                raise WorkspaceUnusable(
                    f'Version {folder.name[:8]} of "{folder.parent.name}" has lost the mark of its ledger.',
                    f"Bring back {MARK!r} from the newest copy of the workspace.",
                )
            return sealed
    raise _version_changed_error(folder)


def _version_changed_error(folder: Path) -> WorkspaceUnusable:
    return WorkspaceUnusable(
        f"Version {folder.name[:8]} was changed after it was loaded.", "Load the dataset again."
    )


def _refuse_other_dataset(folder: Path, dataset: Dataset) -> None:
    """A whole version in the folder of another dataset would be served under a wrong name."""
    if folder.parent.name != dataset.id:
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} is one of "{dataset.id}", and stands in the folder of "{folder.parent.name}".',
            "Load the dataset again.",
        )


def refuse_other_secret(folder: Path, secret: Secret) -> None:
    """Records keyed by one secret and cells by another would change every number."""
    path = folder / SECRET_CHECK
    expected = secret.derive(Purpose.SECRET_CHECK, folder.name).hex()
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


def _read_boundaries(folder: Path) -> dict[str, Boundaries]:
    """The shapes that stand in a version's folder; the seal tells whether they are those of the load."""
    found = sorted(folder.glob(boundaries_file_name("*")))
    return {path.name.split(".")[1]: Boundaries(path.read_bytes()) for path in found}


def _read_engine(folder: Path) -> str:
    path = folder / ENGINE
    return path.read_text("utf-8", errors="replace").strip() if path.is_file() else DEFAULT_ENGINE


def _secret_check(secret: Secret, digest: str, version: Version) -> str:
    """Two values that only the secret of the load gives: of the version's name, and of all its files."""
    sealed = secret.derive(
        Purpose.VERSION_SEAL,
        digest,
        version.description,
        noise_hash(version.noise),
        version.fingerprint if isinstance(version.noise, NoisePlan) else "",
        f"engine {version.kept_by}",
        version.revisions.text,
        version.records.text,
        *([boundaries_hash(version.boundaries)] if version.boundaries else []),
        *([MARK] if version.marked else []),
    )
    return f"{secret.derive(Purpose.SECRET_CHECK, digest).hex()}\n{sealed.hex()}\n"
