"""Alerts: what the watch found, one line each, for custodians.

    {"at", "who", "detector", "action", "score", "dataset", "variable", "requests", "until"}

`requests` are the last canonical requests that led to it. There is no answer and no count in an alert.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from discreet.server.audit.verify import lines_of

if TYPE_CHECKING:
    from pathlib import Path

FILE = "alerts.jsonl"


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that a custodian should look at.

    Args:
        at: When it was found.
        who: `account:` or `address:` and the name, as the log has it.
        detector: What found it.
        action: `alert`, `slow` or `stop`.
        score: How many events there were.
        dataset: What was asked about.
        variable: Which variable of it; empty where it is about none.
        requests: The last requests that led to it.
        until: Until when they are held back; empty for an alert alone.
    """

    at: str
    who: str
    detector: str
    action: str
    score: int
    dataset: str
    variable: str = ""
    requests: tuple[str, ...] = ()
    until: str = ""


def add_alert(folder: Path, alert: Alert) -> None:
    """Write an alert."""
    with (folder / FILE).open("a", encoding="ascii") as file:
        file.write(json.dumps(asdict(alert)) + "\n")


def read_alerts(folder: Path, most: int = 1_000) -> list[Alert]:
    """The last alerts, the newest first."""
    path = folder / FILE
    if not path.is_file():
        return []
    found = [
        Alert(**{**line, "requests": tuple(line["requests"])})
        for line in lines_of(path)
        if "detector" in line
    ]
    return found[::-1][:most]
