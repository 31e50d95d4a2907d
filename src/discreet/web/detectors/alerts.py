"""Thresholds for alerting, throttling and blocking (`[watch]` of `workspace.toml`), and the file of alerts.

    [watch]
    hours = 24                     # the window of the scores
    hold_minutes = 60              # how long a client is slowed or stopped
    recodes = [15, 45, 0]          # alert, slow, stop; 0 for never

An alert is a line {"at", "who", "detector", "action", "score", "dataset", "variable", "requests", "until"}. `requests` are
the last canonical requests of the client. An alert holds no answer and no count.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import BadOption
from discreet.model.messages.text import nearest
from discreet.web.audit.chain import read_log_file
from discreet.web.auth.rate_limit import SLOW, STOP
from discreet.web.detectors.patterns import DETECTORS, MOST_EVENTS
from discreet.workspace.options import watch_of_workspace

ALERT = "alert"
#: What follows, from the mildest on.
ACTIONS = (ALERT, SLOW, STOP)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a workspace.

    Args:
        hours: The window in which scores are counted.
        hold_minutes: How long somebody is held back.
        of: By detector the scores from which on each of `ACTIONS` follows; 0 for never.
    """

    hours: int = 24
    hold_minutes: int = 60
    of: dict[str, tuple[int, int, int]] = field(
        default_factory=lambda: {detector.name: detector.thresholds for detector in DETECTORS}
    )

    def action(self, detector: str, score: int) -> str:
        """What follows from a score; empty for nothing.

        >>> Thresholds(of={"recodes": (2, 0, 5)}).action("recodes", 4)
        'alert'
        """
        reached = [
            action
            for action, least in zip(ACTIONS, self.of[detector], strict=True)
            if least and score >= least
        ]
        return reached[-1] if reached else ""


def read_thresholds(folder: Path) -> Thresholds:
    """The thresholds that a workspace declares, and those of today for what it leaves out.

    Raises:
        BadOption: With what is wrong and what to do.
    """
    section = watch_of_workspace(folder)
    names = [detector.name for detector in DETECTORS]
    known = ["hours", "hold_minutes", *names]
    for key in section:
        if key not in known:
            raise BadOption(f'[watch] has the unknown key "{key}".', nearest(key, known))
    plain = {name: _whole(section[name], name) for name in ("hours", "hold_minutes") if name in section}
    own = {name: _three(section[name], name) for name in names if name in section}
    return Thresholds(**plain, of={**Thresholds().of, **own})


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadOption(f"`{name}` of [watch] is {value!r}.", "Give a whole number of at least 1.")
    return value


def _three(value: Any, name: str) -> tuple[int, int, int]:
    if (
        not isinstance(value, list)
        or len(value) != 3
        or not all(isinstance(each, int) and not isinstance(each, bool) for each in value)
        or not all(0 <= each <= MOST_EVENTS for each in value)
    ):
        raise BadOption(
            f"`{name}` of [watch] is {value!r}.",
            f"Give three whole numbers up to {MOST_EVENTS}: alert, slow and stop; 0 for never.",
        )
    return value[0], value[1], value[2]


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
        for line in read_log_file(path)
        if "detector" in line
    ]
    return found[::-1][:most]
