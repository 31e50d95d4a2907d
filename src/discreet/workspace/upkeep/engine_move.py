"""Move a version to another engine: the same records, keys and seals, hence the same digest and the same numbers.

Every engine can tell its records by one aggregate over all columns, so each pair of engines can be moved between with the
means of `records/engine.py` alone. Cubes do not depend on the engine and go along. The new place is complete, sealed and
compared before it takes the name of the old one;
between the two renames, an instant, the version is not answered.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.records.engine import engine_kind, forget_records
from discreet.records.record_tag import record_tag
from discreet.records.secret import read_secret
from discreet.records.staged_again import staged_again
from discreet.workspace.corrections import served_digest
from discreet.workspace.disk import keep, keep_names
from discreet.workspace.engine_place import open_engine, refuse_unsound
from discreet.workspace.ledger_marks import MARK, marks_locked
from discreet.workspace.recognition import SKETCH
from discreet.workspace.records_seal import CUBES, seal_records, verify_records
from discreet.workspace.residuals import RESIDUALS
from discreet.workspace.upkeep.places import find_version, home_of, lock
from discreet.workspace.version import read_version, write_version

if TYPE_CHECKING:
    from pathlib import Path


def move_engine(folder: Path, dataset_id: str, wanted: str, word: str = "") -> str:
    """Let another engine keep a version; returns the version's digest, which does not change.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        wanted: The engine that shall keep it.
        word: The beginning of the version's digest, or its name; the served one by default.

    Raises:
        UnknownDataset, UnknownVersion, UnknownEngine: With the nearest match.
        BadRequest: It is kept by that engine already.
        WorkspaceUnusable: It cannot be read whole; it stays where it is.
    """
    kind, home = engine_kind(wanted), home_of(folder, dataset_id)
    with lock(home):
        digest = find_version(home, word).digest if word else served_digest(home)
        place, secret = home / digest, read_secret(folder / "secret")
        version = read_version(place, secret)
        if version.kept_by == kind.name:
            raise BadRequest(f'Version {digest[:8]} is kept by "{wanted}" already.', "Name another engine.")
        verify_records(place, version.records, secret)
        refuse_unsound(place, version, secret)
        moving = home / f".loading-{secrets.token_hex(8)}"
        moving.mkdir(mode=0o700)
        try:
            engine = open_engine(place, version, secret)
            staged = staged_again(engine, version.dataset, moving)
            engine.close()
            kind.store(staged, version.dataset, moving, record_tag(secret, digest))
            staged.unlink()
            for kept in (RESIDUALS, SKETCH):
                if (place / kept).is_file():
                    shutil.copy2(place / kept, moving / kept)
            if (place / CUBES).is_dir():
                shutil.copytree(place / CUBES, moving / CUBES)
            moved = replace(version, kept_by=kind.name, records=seal_records(moving, secret, digest))
            write_version(moving, moved, digest, secret)
            keep(moving)
            old = home / f".loading-{secrets.token_hex(8)}"
            with marks_locked(home):  # a charge may raise the mark until the last moment
                place.rename(old)
                if (old / MARK).is_file():
                    shutil.copy2(old / MARK, moving / MARK)
                moving.rename(place)
                keep_names(home)
        except BaseException:
            forget_records(moving)
            shutil.rmtree(moving, ignore_errors=True)
            raise
        refuse_unsound(place, read_version(place, secret), secret)
        forget_records(old)
        shutil.rmtree(old)
    return digest
