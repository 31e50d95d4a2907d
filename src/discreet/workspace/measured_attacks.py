"""What the red team measured for a workspace, as files that a methodology can quote.

    attacks/NAME.json   {attack, command, at, program, seed, figures: [sentence], study}

The people of a study are invented: nothing here tells of anybody, and all of it is public. The command gives the same
figures again to whoever doubts them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import WorkspaceUnusable
from discreet.workspace.folder_layout import refuse_no_workspace

ATTACKS = "attacks"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """A study that was kept.

    Args:
        attack: Its name.
        command: What measured it, and measures it again.
        at: When, in UTC.
        program: Which Discreet.
        seed: Of the invented people and their noise.
        figures: What was found, in sentences.
        study: The whole result, as `discreet attack --json` prints it.
    """

    attack: str
    command: str
    at: str
    program: str
    seed: int
    figures: tuple[str, ...]
    study: Mapping[str, Any]


def write_attack_result(folder: Path, study: Mapping[str, Any], figures: Sequence[str], command: str) -> Path:
    """Keep a study in a workspace, in the place of an earlier one of the same attack; returns its file.

    Raises:
        NotFound: There is no workspace.
    """
    refuse_no_workspace(folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    kept = AttackResult(
        study["attack"], command, at, f"discreet {__version__}", study["seed"], tuple(figures), study
    )
    (folder / ATTACKS).mkdir(exist_ok=True)
    path = folder / ATTACKS / f"{kept.attack}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(kept), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return unfinished.replace(path)


def read_attack_result(folder: Path, name: str) -> AttackResult | None:
    """What was kept of an attack; None where it was not measured in this workspace.

    Raises:
        WorkspaceUnusable: The file is damaged.
    """
    path = folder / ATTACKS / f"{name}.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        return AttackResult(**{**found, "figures": tuple(map(str, found["figures"]))})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise WorkspaceUnusable(
            f'What was measured of the attack "{name}" cannot be read.',
            f"Measure it again with `discreet attack {name} --keep`, or delete {ATTACKS}/{path.name}.",
        ) from None
