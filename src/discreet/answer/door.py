"""The door: all that a face may hold of a dataset. It answers; nothing reaches a record through it.

    doors = open_doors(folder)          a workspace, one door for each dataset
    door = doors.door("census", key)    whoever asks, with a key or without
    door.answer(door.check(request))    a `Release`, or a refusal

A method other than a table's imports what it needs when it is called: a table starts without SciPy.

Comes from: a `Workspace`. Goes to: `api`, `cli`, `server`; `assess` opens it with `unlock_door`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.answer import pipeline, question
from discreet.answer.notes import whole_note
from discreet.model.measure import COUNT
from discreet.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction
    from pathlib import Path

    from discreet.answer.question import Question
    from discreet.ledger.group_meter import Asker
    from discreet.margins.closure import Axes, MarginSet
    from discreet.model.dataset import Dataset
    from discreet.model.release import Release
    from discreet.model.request import TableRequest
    from discreet.workspace.version_facts import VersionFacts
    from discreet.workspace.workspace import StoredDataset


class Door:
    """One version of a dataset, for somebody who asks."""

    __slots__ = ("_asker", "_stored")

    def __init__(self, stored: StoredDataset, asker: Asker | None = None) -> None:
        self._stored = stored
        self._asker = asker

    @property
    def dataset(self) -> Dataset:
        """The public description."""
        return self._stored.dataset

    @property
    def digest(self) -> str:
        """Which version answers."""
        return self._stored.digest

    @property
    def account(self) -> str | None:
        """Who asks; None for anybody."""
        return None if self._asker is None else self._asker.account

    def require(self, role: str) -> None:
        """Refuse who asks, unless the account has a role; nobody has none."""
        if self._asker is not None:
            self._asker.require(role)

    def promise(self) -> tuple[str, ...]:
        """What the protection does and does not promise."""
        stored = self._stored
        return stored.protector.promise(stored.dataset.protection, "", COUNT.subject)

    def note(self, additivity: str = "") -> str:
        """What every reader must be told."""
        return whole_note(self.dataset, self._stored.protector.tables, additivity)

    def noise_text(self) -> str:
        """The noise that is looked up, as our JSON: the noise table, or under `dp` the plan with all its tables."""
        from discreet.answer.methodology import noise_text

        return noise_text(self._stored)

    def check(self, request: TableRequest) -> Question:
        """Check a request, before a record is read.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
            Refused: A rule does not allow it; the message says which and what to do.
        """
        return question.check(self._stored, request, self._asker)

    def answer(self, asked: Question) -> Release:
        """Charge, count, protect and release."""
        return pipeline.answer(asked)

    def release(self, request: TableRequest) -> Release:
        """Answer a request, or refuse it."""
        return self.answer(self.check(request))

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """How large a table is and what the rules say of it, without its numbers."""
        from discreet.answer import dry_run

        return dry_run.dry_run(self._stored, request, self._asker)

    def refuse_unreleased(self, request: TableRequest) -> None:
        """Refuse a table that `answer` would refuse, without its numbers; nothing unpaid is read.

        Raises:
            Refused: As `answer` would.
        """
        from discreet.answer import dry_run

        refusal = dry_run.attempt(self._stored, request, self._asker).refusal
        if refusal is not None:
            raise refusal

    def suggestion(self, request: TableRequest) -> tuple[str, TableRequest] | None:
        """The title of the nearest table that is allowed, and its request; None if none was found."""
        from discreet.answer import dry_run

        found = dry_run.suggestion(self._stored, request)
        return None if found is None else (question.title_of(self.dataset, self.read(found)), found)

    def read(self, request: TableRequest) -> question.Asked:
        """Understand a request without asking whether it is allowed."""
        return question.read(self.dataset, request)

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promises and costs, and what its budget has left."""
        from discreet.answer import budgets

        return budgets.budget_of(self._stored)

    def budget_left(self) -> str | None:
        """What is left of the budget, in a sentence; None for a dataset without one."""
        from discreet.answer import budgets

        return budgets.budget_left(self._stored)

    def ledger(self) -> dict[str, Any]:
        """What the budget has spent, and by whom; for custodians."""
        from discreet.answer import budgets

        return budgets.ledger_of(self._stored)

    def open_share(self, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Open the ledger to an account, up to a cap of its own; for custodians."""
        from discreet.answer import budgets

        budgets.open_share(self._stored, account, cap)

    def margins(
        self,
        wanted: MarginSet,
        method: str,
        epsilon: Fraction | float | str,
        delta: Fraction | float | str = 0,
        weights: str | Mapping[Axes, float] = "cells",
        *,
        spend: bool = True,
    ) -> dict[str, Any]:
        """Many margins released together; without `spend` only what they would cost."""
        from discreet.answer.joint_margins import JointMargins

        wish = JointMargins.of(self._stored, wanted, method, epsilon, delta, weights)
        if not spend:
            return wish.advice_document()
        self.require("analyst")
        return wish.release(self.account).document()

    def __repr__(self) -> str:
        return f"<Door of {self.dataset.id} {self.digest[:8]}>"


class Doors:
    """The doors of a workspace, one for each dataset."""

    __slots__ = ("_workspace",)

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def folder(self) -> Path:
        """Where the workspace is."""
        return self._workspace.folder

    def ids(self) -> list[str]:
        """The datasets that can be asked."""
        return self._workspace.ids()

    def door(self, dataset_id: str, key: str | None = None, version: str = "") -> Door:
        """A version of a dataset, for whoever has the API key.

        Args:
            dataset_id: The dataset.
            key: Of an account.
            version: The beginning of its digest, or its declared name; empty for the current one.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It is not answered beside the current one.
            BadKey: The key is unknown or revoked.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        stored = self._workspace.stored(dataset_id, version)
        return Door(stored, self._workspace.asker(key))

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        """The versions of a dataset that are known, the newest last."""
        return self._workspace.versions(dataset_id)

    def methodology(self, dataset_id: str, version: str = "") -> dict[str, Any]:
        """The public methodology of a version of a dataset: see docs/reference/methodology.md.

        It is the doors' and not a door's: it tells of the other versions, and of what the workspace measured.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It is not answered beside the current one.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        from discreet.answer.methodology import methodology
        from discreet.model.red_team import RED_TEAM
        from discreet.workspace.kept_attacks import kept_attack

        measured = {attack: kept_attack(self.folder, attack.name) for attack in RED_TEAM}
        stored = self._workspace.stored(dataset_id, version)
        return methodology(stored, self.versions(dataset_id), measured)

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read all stored records of a dataset and compare them with their seal; returns the version's digest.

        Args:
            dataset_id: The dataset. Where it fails, these doors do not answer for it until it is sound again.
            pace: Called with the number of bytes after every chunk that was read; it may wait.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        return self._workspace.verify(dataset_id, pace)

    def close(self) -> None:
        """Let go of all records, and of the ledger."""
        self._workspace.close()


def open_doors(folder: Path, *, threads: int | None = None) -> Doors:
    """The doors of the workspace in a folder."""
    return Doors(Workspace(folder, threads=threads))


def unlock_door(door: Door) -> StoredDataset:
    """What stands behind a door: for `assess`, which shows a custodian risk and utility, alone."""
    return door._stored  # noqa: SLF001 - this is the lock
