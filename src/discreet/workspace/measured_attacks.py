"""Results of attacks that a methodology can quote (`discreet attack NAME --keep`).

    attacks/NAME.json   {attack, command, at, program, seed, figures: [sentence], study}

The people of a study are invented, so all of it is public. The command reproduces the figures.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import WorkspaceUnusable
from discreet.workspace.folder_layout import refuse_no_workspace
from discreet.workspace.sealed import replace_file

ATTACKS = "attacks"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The stored result of an attack.

    Args:
        attack: Its name.
        command: The command that reproduces it.
        at: When, in UTC.
        program: The version of Discreet.
        seed: Of the invented people and their noise.
        figures: The findings, in sentences.
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
    """Store a result, in place of an earlier one of the same attack; returns its file."""
    refuse_no_workspace(folder)
    at, program = datetime.now(UTC).isoformat(timespec="seconds"), f"discreet {__version__}"
    result = AttackResult(study["attack"], command, at, program, study["seed"], tuple(figures), study)
    (folder / ATTACKS).mkdir(mode=0o700, exist_ok=True)
    path = folder / ATTACKS / f"{result.attack}.json"
    replace_file(path, json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n")
    return path


def read_attack_result(folder: Path, name: str) -> AttackResult | None:
    """Parse the stored result of an attack; None if this workspace has none."""
    path = folder / ATTACKS / f"{name}.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        return AttackResult(**{**found, "figures": tuple(map(str, found["figures"]))})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        raise WorkspaceUnusable(
            f'The results of the attack "{name}" cannot be read.',
            f"Measure it again with `discreet attack {name} --keep`, or delete {ATTACKS}/{path.name}.",
        ) from None
