"""The monitor: a thread that runs the detectors over new lines of the audit log and applies the thresholds.

One worker of a server runs it, the one that holds the lock. It starts with the log of the last hours, so a restart loses
nothing. Log and monitor add about three seconds of delay, in which a fast client gets a few more answers. Anonymous clients
raise alerts and are never held if their addresses are not stored. An alert holds no answer and no count. The section
`[watch]` of `workspace.toml` has the thresholds (docs/reference/request-log.md).
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self

from cachetools import LRUCache
from pydantic import Field, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from discreet.errors import BadOption, DiscreetError
from discreet.model.messages.text import nearest
from discreet.model.request import canonical, request_from_query
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.audit.chain import PREFIX, read_log_file
from discreet.web.audit.log import unpack_request
from discreet.web.auth.rate_limit import SLOW, STOP, Hold, RateLimitStore
from discreet.web.detectors import patterns
from discreet.web.detectors.patterns import DETECTORS, MOST_EVENTS
from discreet.workspace.options import watch_of_workspace
from discreet.workspace.sealed import try_lock

ALERT = "alert"
#: What follows, from the mildest on.
ACTIONS = (ALERT, SLOW, STOP)
_NUMBER = TypeAdapter(Annotated[int, Field(strict=True, ge=1)])
_SCORE = Annotated[int, Field(strict=True, ge=0, le=MOST_EVENTS)]
_SCORES = TypeAdapter(tuple[_SCORE, _SCORE, _SCORE])


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The window of the scores, and by detector those from which on each of `ACTIONS` follows; 0 for never."""

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
    """The thresholds that a workspace declares, and those of today for what it leaves out."""
    section = watch_of_workspace(folder)
    names = [detector.name for detector in DETECTORS]
    known = ["hours", "hold_minutes", *names]
    for key in section:
        if key not in known:
            raise BadOption(f'[watch] has the unknown key "{key}".', nearest(key, known))
    plain: dict[str, int] = {}
    own: dict[str, tuple[int, int, int]] = {}
    for key, value in section.items():
        try:
            if key in names:
                own[key] = _SCORES.validate_python(value)
            else:
                plain[key] = _NUMBER.validate_python(value)
        except ValidationError:
            raise BadOption(
                f"`{key}` of [watch] is {value!r}.",
                f"Give three whole numbers up to {MOST_EVENTS}: alert, slow and stop; 0 for never."
                if key in names
                else "Give a whole number of at least 1.",
            ) from None
    return Thresholds(**plain, of={**Thresholds().of, **own})


FILE = "alerts.jsonl"


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that a custodian should look at; `requests` are the last canonical ones of the client.

    Args:
        who: `account:` or `address:` and the name, as the log has it.
        action: One of `ACTIONS`.
        variable: What was asked about; empty where it is about none.
        until: Until when the client is held; empty for an alert alone.
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


#: Recent queries that are recognised without parsing their lines.
MOST_LATELY = 4_096
SECONDS_BETWEEN = 2.0
#: How many requests an alert shows.
SHOWN = 3
LOCK = "watch.lock"
log = logging.getLogger("discreet.server")


class AlertFinder:
    """Turns lines of the log into alerts."""

    def __init__(self, registry: DatasetRegistry, thresholds: Thresholds) -> None:
        self._registry, self._thresholds = registry, thresholds
        self._scores = patterns.Scores(thresholds.hours * 3600.0)
        self._last: LRUCache[str, list[str]] = LRUCache(patterns.MOST_WATCHED)
        self._told: dict[tuple[str, str, str], tuple[int, float]] = {}

    def remember(self, alerts: Iterable[Alert]) -> None:
        """Load earlier alerts, so that they are not repeated."""
        for alert in alerts:
            key = (alert.who, alert.detector, f"{alert.dataset} {alert.variable}")
            self._told[key] = max(self._told.get(key, (-1, 0.0)), self._holds_until(alert))

    def find(self, line: dict[str, Any]) -> Iterator[Alert]:
        """The alerts of a line; none if it has no query, no new query, or an incomplete one."""
        who = line_client(line)
        for item in line.get("asked", ()):
            known = (item["dataset"], item.get("sha256", item["request"]))
            asked = self._query(item, line) if self._scores.is_new(who, known) else None
            if asked is not None:
                request = f"{item['dataset']}?{item['request']}"
                self._last[who] = [*self._last.get(who, ()), request][-SHOWN:]
                for score in self._scores.see(who, asked, _seconds(line["at"])):
                    yield from self._follow(who, score, line["at"])

    def _query(self, item: dict[str, Any], line: dict[str, Any]) -> patterns.LoggedRequest | None:
        text = unpack_request(item)
        if text is None:
            return None
        try:
            dataset = self._registry.open(item["dataset"]).dataset
            asked = request_from_query(dataset.id, QueryParams(text).getlist)
            request = canonical(asked, dataset)
        except DiscreetError:
            return None
        refused = "refused" in item or (line.get("decision") == "refused" and not item.get("dry"))
        return patterns.LoggedRequest(dataset, request, refused)

    def _follow(self, who: str, score: patterns.Score, at: str) -> Iterator[Alert]:
        action = self._thresholds.action(score.detector, score.score)
        kind = score.kind if isinstance(score.kind, tuple) else (score.kind,)
        dataset, variable = str(kind[0]), str(kind[1]) if len(kind) > 1 else ""
        key = (who, score.detector, f"{dataset} {variable}")
        rank, ends = self._told.get(key, (-1, 0.0))
        if not action or (ACTIONS.index(action) <= rank and _seconds(at) < ends):
            return
        until = "" if action == ALERT else _later(at, self._thresholds.hold_minutes)
        requests = tuple(self._last.get(who, ()))
        alert = Alert(at, who, score.detector, action, score.score, dataset, variable, requests, until)
        self._told[key] = self._holds_until(alert)
        yield alert

    def _holds_until(self, alert: Alert) -> tuple[int, float]:
        """The rank of an alert, and until when it is not repeated: the end of its hold, or of the window."""
        end = _seconds(alert.until) if alert.until else _seconds(alert.at) + self._thresholds.hours * 3600
        return ACTIONS.index(alert.action), end


class Monitor:
    """The thread of the monitor; it is idle while another process holds the lock. `count` gets every alert, for metrics."""

    def __init__(
        self,
        registry: DatasetRegistry,
        folder: Path,
        shared: RateLimitStore,
        thresholds: Thresholds,
        count: Callable[[str, str], None],
    ) -> None:
        self._folder, self._shared, self._count = folder, shared, count
        self._hours = thresholds.hours
        self._finder = AlertFinder(registry, thresholds)
        self._read: dict[Path, int] = {}
        self._lately: set[bytes] = set()
        self._lock: Any = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="request-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self._lock is not None:
            self._lock.release()

    def round(self) -> None:
        """Read new lines of the log, if this process holds the lock."""
        if self._lock is None:
            self._lock = try_lock(self._folder / LOCK)
            if self._lock is None:
                return
            self._finder.remember(read_alerts(self._folder))
        for line in self._new_lines():
            for alert in self._finder.find(line):
                add_alert(self._folder, alert)
                self._count(alert.detector, alert.action)
                log.warning("The watch of requests: %s of %s, %s", alert.detector, alert.who, alert.action)
                until = _seconds(alert.until) if alert.until else 0.0
                if until > time.time() and alert.who != "address:":
                    self._shared.hold(Hold(alert.who, alert.action, until, alert.detector))

    def _run(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN):
            try:
                self.round()
            except Exception as error:  # noqa: BLE001 - one bad line must not stop the monitor
                log.error("The watch of requests failed: %s", type(error).__name__)  # noqa: TRY400 - it may quote values

    def _new_lines(self) -> Iterator[dict[str, Any]]:
        oldest = time.time() - self._hours * 3600
        for path in sorted((self._folder / "log").glob(f"{PREFIX}-*.jsonl")):
            if path.stat().st_mtime < oldest:
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for raw in file:
                    if not raw.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(raw)
                    if self._is_again(raw):
                        continue
                    line = _parse_line(raw)
                    if line is not None:
                        yield line

    def _is_again(self, raw: bytes) -> bool:
        """Whether a line repeats a recent query: thousands of them per second need no parsing."""
        question = patterns.digest(_question(raw))
        if question in self._lately:
            return True
        if len(self._lately) >= MOST_LATELY:
            self._lately.clear()
        self._lately.add(question)
        return False


def read_request_lines(folder: Path) -> list[dict[str, Any]]:
    """All lines of a log with a query, ordered by time."""
    lines = (line for path in folder.glob(f"{PREFIX}-*.jsonl") for line in read_log_file(path))
    asked = (line for line in lines if "asked" in line and "at" in line)
    return sorted(asked, key=lambda line: str(line["at"]))


def line_client(line: dict[str, Any]) -> str:
    """The client of a line, as holds name it."""
    return f"account:{line['who']}" if "who" in line else f"address:{line.get('from', '')}"


def _question(raw: bytes) -> bytes:
    """The client and the query in a line, without its number, time and outcome."""
    return raw[raw.find(b'", ', raw.find(b'"at": "') + 7) : raw.find(b', "status"')]


def _parse_line(raw: bytes) -> dict[str, Any] | None:
    if b'"asked"' not in raw:
        return None
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "at" in found else None


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def _later(at: str, minutes: int) -> str:
    return datetime.fromtimestamp(_seconds(at) + 60 * minutes, UTC).isoformat(timespec="seconds")
