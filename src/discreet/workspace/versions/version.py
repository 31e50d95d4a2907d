"""One version of a dataset on disk: written at load and sealed, so that no later change goes unnoticed.

    dataset.toml           the description
    noise.json             the noise as integers: one noise table (cellkey) or the noise plan (dp)
    version.json           the revisions of arithmetic and defaults: {"arithmetic": 2, "defaults": 1}
    records.seal           keyed hashes of the record files (`workspace/sealed.py`)
    records.fingerprint    under dp: the keyed fingerprint of the records, from which noise keys are derived
    survey.json            the published constants of a survey's errors, if they were measured (`public_parts.py`)
    measures.json          the integers of the noise of sums, if the description has measures
    boundaries.V.geojson   the boundaries of the categories of a variable V, if the description names some
    engine                 the engine that stores the records, if it is not duckdb
    ledger.mark            how far the ledger had come at the last charge (`checkpoints.py`)
    secret.check           two keyed hashes: of the version's name, and of all of the above
    data.duckdb            the records in duckdb; codes.bin with it for large files
    ids.sketch             a sealed sketch of the record ids, if records have ids (`version_conflicts.py`)
    residuals.npy          the noisy residuals of a joint universe (`public_parts.py`)
    cubes/                 pre-aggregated tables, with a sealed list (`version_engine.py`)

Any other file in the folder is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription, DiscreetError, SecretUnusable, WorkspaceUnusable
from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.revision import knows_arithmetic, newest_arithmetic, newest_defaults
from discreet.model.survey import DESIGN_EFFECTS, GENERALISED, read_constants
from discreet.noise.files import content_hash, read_noise_table, write_noise_table
from discreet.noise.table import NoiseTable
from discreet.records.engine import DEFAULT_ENGINE
from discreet.records.keys import Purpose, Secret
from discreet.workspace.sealed import (
    RECORDS_SEAL,
    RecordsSeal,
    load_again,
    read_records_seal,
    refuse_foreign_files,
    replace_file,
)

if TYPE_CHECKING:
    from discreet.protect.plan import NoisePlan

DESCRIPTION = "dataset.toml"
NOISE = "noise.json"
REVISIONS = "version.json"
SECRET_CHECK = "secret.check"  # noqa: S105 - a file name
FINGERPRINT = "records.fingerprint"
ENGINE = "engine"
MARK = "ledger.mark"
CONSTANTS = "survey.json"
MEASURES = "measures.json"
#: The file in a dataset's folder that names the version that is served.
CURRENT = "current"
#: What is said of a version whose printed errors come from exact weights, and what to do.
ERRORS_OF_PEOPLE = (
    "It was loaded by 0.2.0: its relative standard errors come from the exact weights in a cell and may "
    "disclose people of unusual weight.",
    "Load the same description and records again: estimates stay the same, errors are computed from "
    "released numbers and published constants, and this version is closed.",
)
#: The name of a version.
DIGEST = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True, slots=True)
class Revisions:
    """The program's revisions at the load of a version (`model/revision.py`).

    Args:
        arithmetic: The algorithm that answers queries.
        defaults: The defaults of keys that its description leaves out.
        keys: How many sets of keys its lineage has had; `--corrections new-lineage` starts the next.
    """

    arithmetic: int = 1
    defaults: int = 1
    keys: int = 1

    @property
    def text(self) -> str:
        """The content of `version.json`.

        >>> Revisions(2, 1, 3).text
        '{"arithmetic": 2, "defaults": 1, "keys": 3}'
        """
        document = asdict(self)
        if self.keys == 1:
            del document["keys"]
        return json.dumps(document, sort_keys=True)

    def keyed(self, dataset: Dataset) -> Dataset:
        """The dataset with the lineage that its keys are derived from."""
        return dataset if self.keys == 1 else replace(dataset, lineage=f"{dataset.lineage}\n{self.keys}")


def read_revisions(folder: Path) -> Revisions:
    """Parse the revisions of a version; both are 1 where it was loaded before they had numbers."""
    try:
        found = json.loads((folder / REVISIONS).read_text("utf-8"))
        return Revisions(**{key: int(value) for key, value in found.items()})
    except FileNotFoundError:
        return Revisions()
    except (OSError, ValueError, TypeError, AttributeError):
        raise load_again(f"The revisions of version {folder.name[:8]} cannot be read.") from None


def refuse_unknown_revisions(folder: Path, revisions: Revisions) -> None:
    """Refuse a version of a newer program, or with an arithmetic that is not supported any more."""
    if knows_arithmetic(revisions.arithmetic) and 1 <= revisions.defaults <= newest_defaults():
        return
    newer = revisions.arithmetic > newest_arithmetic() or revisions.defaults > newest_defaults()
    raise WorkspaceUnusable(
        f'Version {folder.name[:8]} of "{folder.parent.name}" was loaded under revision '
        f"{revisions.arithmetic} of the arithmetic and {revisions.defaults} of the defaults, which this "
        "version of Discreet does not support.",
        "Use the newer version of Discreet that loaded it." if newer else "Load the dataset again.",
    )


@dataclass(frozen=True)
class Version:
    """A version as a load wrote it and `read_version` validated it.

    Args:
        dataset: The parsed description.
        description: Its text.
        noise: The noise table, or the noise plan.
        revisions: The program's revisions at the load.
        records: The seal of the record files.
        fingerprint: Under `dp`, of the records. Secret.
        kept_by: The engine that stores the records.
        boundaries: By variable.
        marked: Whether the version has a checkpoint of its ledger; the first versions had none.
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
    def has_constants(self) -> bool:
        """Whether it has the constants of a survey's printed errors; versions of 0.2.0 have none."""
        return self.dataset.survey is not None and self.dataset.survey.errors == GENERALISED

    @property
    def constants_text(self) -> str:
        """The content of `survey.json`."""
        survey = self.dataset.survey
        return (
            ""
            if survey is None or not self.has_constants
            else json.dumps(survey.constants.as_json(), sort_keys=True)
        )

    @property
    def measures_text(self) -> str:
        """The content of `measures.json`; empty without measures."""
        if not self.dataset.measures:
            return ""
        from discreet.noise.magnitude import tables_text  # noqa: PLC0415 - counts start without it

        return tables_text(self.dataset)

    @property
    def file_names(self) -> frozenset[str]:
        """The names of its files without those of the records."""
        names = {DESCRIPTION, NOISE, REVISIONS, RECORDS_SEAL, SECRET_CHECK, MARK}
        names |= set() if isinstance(self.noise, NoiseTable) else {FINGERPRINT}
        names |= {CONSTANTS} if self.has_constants else set()
        names |= {MEASURES} if self.dataset.measures else set()
        names |= {ENGINE} if self.kept_by != DEFAULT_ENGINE else set()
        return frozenset(names.union(map(boundaries_file_name, self.boundaries)))

    def __repr__(self) -> str:
        return f"<Version of {self.dataset.id}>"


def with_constants(dataset: Dataset, constants: Mapping[str, Any] | None) -> Dataset:
    """A dataset with the published constants of its survey; without them it is of 0.2.0 and keeps its errors."""
    if dataset.survey is None:
        return dataset
    if not constants:
        return replace(dataset, survey=replace(dataset.survey, errors=DESIGN_EFFECTS))
    return replace(dataset, survey=replace(dataset.survey, constants=read_constants(constants)))


def errors_of_people(dataset: Dataset) -> bool:
    """Whether printed errors come from the weights of the people in a cell; see `ERRORS_OF_PEOPLE`."""
    return dataset.survey is not None and not dataset.protection.is_dp and dataset.survey.errors_of_people


def boundaries_file_name(name: str) -> str:
    """The file with the boundaries of a variable."""
    return f"boundaries.{name}.geojson"


def boundaries_hash(boundaries: Mapping[str, Boundaries]) -> str:
    """A hash of all boundaries; empty if there are none."""
    return "\n".join(
        f"{name} {hashlib.sha256(boundaries[name].content).hexdigest()}" for name in sorted(boundaries)
    )


def noise_hash(noise: NoiseTable | NoisePlan) -> str:
    """A hash of the integers that protect a version."""
    if not isinstance(noise, NoiseTable):
        from discreet.protect.plan import plan_text  # noqa: PLC0415 - only `dp` needs plans

        return hashlib.sha256(plan_text(noise).encode()).hexdigest()
    return content_hash(noise)


def write_version(folder: Path, version: Version, digest: str, secret: Secret) -> None:
    """Write and seal all files of a version without the records."""
    (folder / DESCRIPTION).write_text(version.description, "utf-8")
    if not isinstance(version.noise, NoiseTable):
        from discreet.protect.plan import plan_text  # noqa: PLC0415 - only `dp` needs plans

        (folder / NOISE).write_text(plan_text(version.noise), "utf-8")
        (folder / FINGERPRINT).write_text(version.fingerprint, "ascii")
    else:
        write_noise_table(version.noise, folder / NOISE)
    for name, each in version.boundaries.items():
        (folder / boundaries_file_name(name)).write_bytes(each.content)
    if version.kept_by != DEFAULT_ENGINE:
        (folder / ENGINE).write_text(f"{version.kept_by}\n", "utf-8")
    if version.has_constants:
        (folder / CONSTANTS).write_text(version.constants_text, "ascii")
    if version.dataset.measures:
        (folder / MEASURES).write_text(version.measures_text, "ascii")
    (folder / REVISIONS).write_text(version.revisions.text, "utf-8")
    (folder / RECORDS_SEAL).write_text(version.records.text, "utf-8")
    sealed = _secret_check(secret, digest, version, noise_hash(version.noise))
    (folder / SECRET_CHECK).write_text(sealed, "ascii")


def read_version(folder: Path, secret: Secret) -> Version:
    """Read, parse and validate a version.

    Raises:
        SecretUnusable: It was loaded with another secret.
        WorkspaceUnusable: It is incomplete, was changed after the load, was loaded by a newer program, or its
            folder has an unknown file.
    """
    revisions = read_revisions(folder)
    refuse_unknown_revisions(folder, revisions)
    try:
        description = (folder / DESCRIPTION).read_text("utf-8")
        boundaries = {
            path.name.split(".")[1]: Boundaries(path.read_bytes())
            for path in sorted(folder.glob(boundaries_file_name("*")))
        }
        dataset = revisions.keyed(parse_dataset(description, revisions.defaults, boundaries))
        stored = folder / CONSTANTS
        dataset = with_constants(dataset, json.loads(stored.read_text("ascii")) if stored.is_file() else None)
        if dataset.measures:
            from discreet.noise.magnitude import with_tables  # noqa: PLC0415 - counts start without it

            dataset = with_tables(dataset, (folder / MEASURES).read_text("ascii"))
    except (KeyError, TypeError, ValueError):
        raise _version_changed_error(folder) from None
    except (OSError, UnicodeDecodeError):
        raise load_again(f'The version {folder.name[:8]} of "{folder.parent.name}" is incomplete.') from None
    except BadDescription:
        raise _version_changed_error(folder) from None
    refuse_other_secret(folder, secret)
    noise, fingerprint, integers = _read_noise(folder, dataset)
    records = read_records_seal(folder)
    engine = folder / ENGINE
    kept_by = engine.read_text("utf-8", errors="replace").strip() if engine.is_file() else DEFAULT_ENGINE
    version = Version(dataset, description, noise, revisions, records, fingerprint, kept_by, boundaries)
    version = _verify_seal(folder, version, integers, secret)
    if folder.parent.name != dataset.id:  # a copied version would be served under a wrong name
        raise load_again(
            f'Version {folder.name[:8]} belongs to "{dataset.id}", but is in the folder of "{folder.parent.name}".'
        )
    refuse_foreign_files(folder, records, version.file_names, secret)
    return version


def _verify_seal(folder: Path, version: Version, integers: str, secret: Secret) -> Version:
    """The version as it was sealed: with a checkpoint of its ledger, or from before there were checkpoints.

    `integers` is the hash of the stored noise.
    """
    found = (folder / SECRET_CHECK).read_text("ascii", errors="replace")
    for sealed in (replace(version, marked=True), version):
        if found == _secret_check(secret, folder.name, sealed, integers):
            if sealed.marked and not (folder / MARK).is_file():
                raise WorkspaceUnusable(
                    f'Version {folder.name[:8]} of "{folder.parent.name}" has lost its ledger checkpoint.',
                    f"Restore {MARK!r} from your newest backup.",
                )
            return sealed
    raise _version_changed_error(folder)


def _version_changed_error(folder: Path) -> WorkspaceUnusable:
    return load_again(f"Version {folder.name[:8]} was changed after it was loaded.")


def refuse_other_secret(folder: Path, secret: Secret) -> None:
    """Refuse a secret other than that of the load: cell keys would not fit the record keys."""
    path = folder / SECRET_CHECK
    expected = secret.derive(Purpose.SECRET_CHECK, folder.name).hex()
    if not path.is_file() or path.read_text("ascii", errors="replace").split("\n")[0] != expected:
        raise SecretUnusable(
            f"Version {folder.name[:8]} was loaded with another secret.",
            "Restore the workspace's `secret` from your backup.",
        )


def _read_noise(folder: Path, dataset: Dataset) -> tuple[NoiseTable | NoisePlan, str, str]:
    """The noise, the fingerprint of the records under `dp`, and `noise_hash`: a plan's file is the text that is hashed."""
    try:
        if dataset.protection.is_dp:
            from discreet.protect.plan import read_plan  # noqa: PLC0415 - only `dp` needs plans

            fingerprint = (folder / FINGERPRINT).read_text("ascii")
            stored = (folder / NOISE).read_bytes()
            plan = read_plan(stored.decode(), dataset)
            return plan, fingerprint, hashlib.sha256(stored).hexdigest()
        table = read_noise_table(folder / NOISE)
        return table, "", noise_hash(table)
    except (DiscreetError, OSError, UnicodeDecodeError) as error:
        said = f" {error.message}" if isinstance(error, DiscreetError) else ""
        raise load_again(f"The noise table of version {folder.name[:8]} cannot be used.{said}") from None


def _secret_check(secret: Secret, digest: str, version: Version, integers: str) -> str:
    sealed = secret.derive(
        Purpose.VERSION_SEAL,
        digest,
        version.description,
        integers,
        "" if isinstance(version.noise, NoiseTable) else version.fingerprint,
        f"engine {version.kept_by}",
        version.revisions.text,
        version.records.text,
        *([boundaries_hash(version.boundaries)] if version.boundaries else []),
        *([MARK] if version.marked else []),
        *([version.constants_text] if version.has_constants else []),
        *([version.measures_text] if version.dataset.measures else []),
    )
    return f"{secret.derive(Purpose.SECRET_CHECK, digest).hex()}\n{sealed.hex()}\n"


def current_digest(home: Path) -> str:
    """The version that a dataset's folder names as current; empty if there is none."""
    current = home / CURRENT
    digest = current.read_text("ascii", errors="replace").strip() if current.is_file() else ""
    return digest if DIGEST.match(digest) else ""


def set_current(home: Path, digest: str) -> None:
    """Serve a version that is on disk: replace `current` in one step."""
    replace_file(home / CURRENT, digest + "\n", ".current-")


def version_files(folder: Path, name: str) -> Iterator[Path]:
    """The files of a name in all versions of a workspace, removed ones included."""
    for place in ("*/[0-9a-f]*", "*/removed/*"):
        yield from (folder / "datasets").glob(f"{place}/{name}")
