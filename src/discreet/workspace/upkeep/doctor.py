"""The examination of a workspace: everything that could stop it from answering rightly, found before a reader does.

Each finding is sound, a caution, or a fault with what to do. Nothing is changed, and no finding tells a number of people.
"""

from __future__ import annotations

import shutil
import stat
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from discreet.errors import DiscreetError, RecordsAway
from discreet.protect.plan import NoisePlan
from discreet.records.secret import read_secret
from discreet.workspace.booking import declared_budget
from discreet.workspace.corrections import served_digest
from discreet.workspace.cube_files import refuse_bad_cubes
from discreet.workspace.engine_place import open_engine, refuse_away, refuse_unsound
from discreet.workspace.history import read_history
from discreet.workspace.ledger_place import has_ledger, open_ledger, refuse_lost_ledger
from discreet.workspace.options import read_options
from discreet.workspace.records_seal import CUBES, verify_records
from discreet.workspace.schema import refuse_newer_workspace
from discreet.workspace.upkeep.places import homes, refuse_no_workspace, size_of
from discreet.workspace.upkeep.rotation import RETIRED
from discreet.workspace.version import DIGEST, read_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

State = Literal["sound", "caution", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        what: The thing.
        state: How it is.
        said: What was found, in a sentence.
        advice: What to do; empty where nothing is to be done.
    """

    what: str
    state: State
    said: str
    advice: str = ""


def examine(folder: Path, *, records: bool = True) -> list[Finding]:
    """Look at everything.

    Args:
        folder: The workspace.
        records: Whether all stored records are read and compared with their seals; it takes the time of reading them.

    Raises:
        NotFound: There is no workspace.
    """
    refuse_no_workspace(folder)
    return [
        _tried("schema", "It can be read by this program.", lambda: refuse_newer_workspace(folder)),
        _tried("options", "They can be read.", lambda: read_options(folder)),
        _tried(
            "secret",
            "It is there, long enough and readable by its owner only.",
            lambda: read_secret(folder / "secret"),
        ),
        _permissions(folder),
        _ledger(folder),
        *(finding for home in homes(folder) for finding in _dataset(home, records=records)),
        *(
            Finding(
                old.name,
                "caution",
                "It holds an old secret, and records that were loaded with it.",
                "Remove it when nothing of it is needed.",
            )
            for old in sorted(folder.glob(f"{RETIRED}*"))
        ),
        _disk(folder),
    ]


def _tried(what: str, sound: str, look: Callable[[], object]) -> Finding:
    try:
        look()
    except DiscreetError as error:
        state: State = "caution" if isinstance(error, RecordsAway) else "fault"
        return Finding(what, state, error.message, error.advice)
    except OSError as error:
        return Finding(
            what, "fault", f"It cannot be read: {error.strerror}.", "Look at the disk and at its permissions."
        )
    return Finding(what, "sound", sound)


def _permissions(folder: Path) -> Finding:
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return Finding(
            "permissions", "fault", "Others can look into the workspace.", f"Run: chmod 700 {folder}"
        )
    return Finding("permissions", "sound", "Only its owner can look into the workspace.")


def _ledger(folder: Path) -> Finding:
    lagging = []

    def look() -> None:
        if not has_ledger(folder):
            refuse_lost_ledger(folder)
            return
        ledger = open_ledger(folder)
        lagging.append(ledger.database.may_lose_by_fail_over())
        ledger.close()

    sound = "It adds up, its chain is whole and extends all marks; or none is needed."
    found = _tried("ledger", sound, look)
    if found.state == "sound" and any(lagging):
        return Finding(
            "ledger",
            "caution",
            "Its PostgreSQL server has a standby that may lag: after a fail-over the last charges may be missing, and the "
            "ledger would then be refused.",
            "Set synchronous_standby_names on the server.",
        )
    return found


def _dataset(home: Path, *, records: bool) -> Iterator[Finding]:
    """What a dataset has: its pointer, its history, each version, and what should not be there."""
    served = served_digest(home)
    versions = sorted(place for place in home.iterdir() if DIGEST.match(place.name))
    if not served:
        removed = not versions and not (home / "current").exists()
        yield (
            Finding(home.name, "sound", "It was removed; its history is kept.")
            if removed
            else Finding(
                home.name,
                "fault",
                "It has no version that is served.",
                "Serve one with `discreet use`, or load it again.",
            )
        )
    secret_file = home.parents[1] / "secret"
    yield _tried(
        f"{home.name}: history", "It is sealed.", lambda: read_history(home, served, read_secret(secret_file))
    )
    for place in versions:
        word = "served" if place.name == served else "kept"
        yield _tried(
            f"{home.name} {place.name[:8]}",
            f"It is {word}, complete and as it was loaded." if records else f"It is {word} and complete.",
            partial(_look_at, place, secret_file, records=records),
        )
        yield from _cubes(place, secret_file)
    left = [
        entry.name
        for entry in home.iterdir()
        if entry.name.startswith((".loading-", ".current-", ".history-", ".mark-"))
    ]
    if left:
        yield Finding(
            home.name,
            "caution",
            f"{len(left)} leavings of loads that did not finish.",
            "The next load removes them.",
        )


def _cubes(place: Path, secret_file: Path) -> Iterator[Finding]:
    """What a version's cubes are; all of their bytes are read."""
    if (place / CUBES).is_dir():
        yield _tried(
            f"{place.parent.name} {place.name[:8]}: cubes",
            "They are sealed, and as they were built.",
            lambda: refuse_bad_cubes(place, read_secret(secret_file), place.name),
        )


def _look_at(place: Path, secret_file: Path, *, records: bool) -> None:
    secret = read_secret(secret_file)
    version = read_version(place, secret)
    if isinstance(version.noise, NoisePlan):
        _refuse_other_terms(secret_file.parent, version.noise)
    refuse_away(place, version)
    if records:
        verify_records(place, version.records, secret)
        refuse_unsound(place, version, secret)
    else:
        open_engine(place, version, secret).close()


def _refuse_other_terms(folder: Path, plan: NoisePlan) -> None:
    """The budget in the ledger must be the one that the version declares."""
    with closing(open_ledger(folder)) as ledger:
        ledger.refuse_other_terms(declared_budget(plan))


def _disk(folder: Path) -> Finding:
    """Whether the largest dataset could be loaded once more: a new version stands beside the old one."""
    largest = max((size_of(home) for home in homes(folder)), default=0)
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**30:.1f} GB are free; the largest dataset takes {largest / 2**30:.1f} GB."
    if free < 2 * largest:
        return Finding(
            "disk", "caution", said, "A load keeps the old version: make room for twice the dataset."
        )
    return Finding("disk", "sound", said)
