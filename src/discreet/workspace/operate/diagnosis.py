"""`discreet doctor`: checks of a workspace. Each finding is sound, a caution, or a fault with advice.

Nothing is changed, and no finding contains a number of people.
"""

import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from discreet.errors import DiscreetError, RecordsAway
from discreet.protect.charges import version_budget
from discreet.protect.plan import NoisePlan
from discreet.records.keys import read_secret
from discreet.workspace.folder_layout import (
    dataset_folders,
    find_leftovers,
    folder_size,
    refuse_newer_workspace,
    refuse_no_workspace,
)
from discreet.workspace.ledger_location import has_ledger, open_ledger, refuse_lost_ledger
from discreet.workspace.operate.rotate import RETIRED
from discreet.workspace.options import read_options
from discreet.workspace.sealed import CUBES, verify_records
from discreet.workspace.versions.history import read_history
from discreet.workspace.versions.version import (
    DIGEST,
    ERRORS_OF_PEOPLE,
    current_digest,
    errors_of_people,
    read_version,
)
from discreet.workspace.versions.version_engine import (
    open_engine,
    refuse_missing_records,
    verify_cubes,
    verify_engine,
)

State = Literal["sound", "caution", "fault"]
OLD_SECRET = (
    "It contains an old secret and the records loaded with it.",
    "Delete it when you no longer need it.",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, in a word and in a sentence."""

    what: str
    state: State
    said: str
    advice: str = ""


def examine(folder: Path, *, records: bool = True) -> list[Finding]:
    """Run all checks.

    Args:
        folder: The workspace.
        records: Whether to read all stored records and verify their seals, which takes as long as reading them.
    """
    refuse_no_workspace(folder)
    return [
        _probe("schema", "It has a supported schema.", lambda: refuse_newer_workspace(folder)),
        _probe("options", "They can be read.", lambda: read_options(folder)),
        _probe(
            "secret",
            "It exists, is long enough, and only its owner can read it.",
            lambda: read_secret(folder / "secret"),
        ),
        Finding(
            "permissions",
            "fault",
            "Other users of this machine can read the workspace folder.",
            f"Run: chmod 700 {folder}",
        )
        if stat.S_IMODE(folder.stat().st_mode) & 0o077
        else Finding("permissions", "sound", "Only the owner can read the workspace folder."),
        _ledger(folder),
        *(finding for home in dataset_folders(folder) for finding in _dataset(home, records=records)),
        *(Finding(old.name, "caution", *OLD_SECRET) for old in sorted(folder.glob(f"{RETIRED}*"))),
        _disk(folder),
    ]


def _probe(what: str, sound: str, look: Callable[[], object]) -> Finding:
    try:
        look()
    except DiscreetError as error:
        state: State = "caution" if isinstance(error, RecordsAway) else "fault"
        return Finding(what, state, error.message, error.advice)
    except OSError as error:
        return Finding(
            what, "fault", f"It cannot be read: {error.strerror}.", "Check the disk and the permissions."
        )
    return Finding(what, "sound", sound)


def _ledger(folder: Path) -> Finding:
    lagging = False

    def look() -> None:
        nonlocal lagging
        if has_ledger(folder):
            with closing(open_ledger(folder)) as ledger:
                lagging = ledger.database.may_lose_by_fail_over()
        else:
            refuse_lost_ledger(folder)

    sound = (
        "Its sums are right, its hash chain is intact and extends all checkpoints; or no ledger is needed."
    )
    found = _probe("ledger", sound, look)
    if lagging:
        return Finding(
            "ledger",
            "caution",
            "Its PostgreSQL server has an asynchronous standby: after a fail-over the last charges may be "
            "missing, and the ledger would then be refused.",
            "Set synchronous_standby_names on the server.",
        )
    return found


def _dataset(home: Path, *, records: bool) -> Iterator[Finding]:
    served = current_digest(home)
    versions = sorted(place for place in home.iterdir() if DIGEST.match(place.name))
    if not served and not versions and not (home / "current").exists():
        yield Finding(home.name, "sound", "It was removed; its history remains.")
    elif not served:
        advice = "Serve one with `discreet use`, or load it again."
        yield Finding(home.name, "fault", "None of its versions is served.", advice)
    secret_file = home.parents[1] / "secret"
    yield _probe(
        f"{home.name}: history", "It is sealed.", lambda: read_history(home, served, read_secret(secret_file))
    )
    for place in versions:
        word = "served" if place.name == served else "kept"
        yield _probe(
            f"{home.name} {place.name[:8]}",
            f"It is {word}, complete and unchanged since its load."
            if records
            else f"It is {word} and complete.",
            partial(_examine_version, place, secret_file, records=records),
        )
        if _singles_out(place, secret_file):
            yield Finding(f"{home.name} {place.name[:8]}: errors", "caution", *ERRORS_OF_PEOPLE)
        if (place / CUBES).is_dir():
            yield _probe(
                f"{home.name} {place.name[:8]}: cubes",
                "Their checksums match.",
                partial(_verify_cubes, place, secret_file),
            )
    if left := find_leftovers(home):
        said = f"{len(left)} temporary files or folders of commands that are running or were interrupted."
        yield Finding(
            home.name,
            "caution",
            said,
            "The next load, backup or other command that changes the dataset removes them.",
        )


def _singles_out(place: Path, secret_file: Path) -> bool:
    """Whether a version is queried whose printed errors come from the weights of the people in a cell."""
    with suppress(DiscreetError, OSError):
        secret = read_secret(secret_file)
        history = read_history(place.parent, current_digest(place.parent), secret)
        closed = {entry.digest for entry in history.versions if entry.closed}
        dataset = read_version(place, secret).dataset
        return place.name not in closed and errors_of_people(dataset)
    return False


def _verify_cubes(place: Path, secret_file: Path) -> None:
    verify_cubes(place, read_secret(secret_file), place.name)


def _examine_version(place: Path, secret_file: Path, *, records: bool) -> None:
    secret = read_secret(secret_file)
    version = read_version(place, secret)
    if isinstance(version.noise, NoisePlan):
        with closing(open_ledger(secret_file.parent)) as ledger:
            ledger.refuse_other_terms(version_budget(version.noise))
    refuse_missing_records(place, version)
    if records:
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
    else:
        open_engine(place, version, secret).close()


def _disk(folder: Path) -> Finding:
    largest = max((folder_size(home) for home in dataset_folders(folder)), default=0)
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**30:.1f} GB are free; the largest dataset takes {largest / 2**30:.1f} GB."
    if free >= 2 * largest:
        return Finding("disk", "sound", said)
    return Finding("disk", "caution", said, "Free space for twice the dataset: a load keeps the old version.")
