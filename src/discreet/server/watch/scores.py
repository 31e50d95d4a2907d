"""The scores of everybody who asks: how many different events of one kind each detector has seen of them in the window."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.server.watch.detectors import DETECTORS, Memory, digest, remember

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from discreet.server.watch.detectors import Asked

#: Of so many people something is remembered; who was not heard of longest is forgotten.
MOST_WATCHED = 10_000
#: Of one person so many questions.
MOST_QUESTIONS = 20_000
#: Of one person so many events of one kind, the newest, and of all kinds: no threshold is higher.
MOST_EVENTS, MOST_EVENTS_IN_ALL = 2_000, 50_000


@dataclass(frozen=True, slots=True)
class Score:
    """What a detector says of somebody.

    Args:
        detector: Which.
        score: How many events of one kind there are.
        kind: What the events have in common.
    """

    detector: str
    score: int
    kind: Hashable


@dataclass(slots=True)
class _Watched:
    """What is known of one who asks."""

    memory: Memory = field(default_factory=Memory)
    #: Digests of questions.
    seen: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    events: OrderedDict[tuple[str, Hashable], OrderedDict[Hashable, float]] = field(
        default_factory=OrderedDict
    )
    in_all: int = 0

    def add(self, kind: tuple[str, Hashable], event: Hashable, at: float, oldest: float) -> int | None:
        """Keep an event, and forget those before `oldest`; how many there are of its kind, None if it is not new."""
        events = self.events.setdefault(kind, OrderedDict())
        self.events.move_to_end(kind)
        if event in events:
            return None
        before = len(events)
        events[event] = at
        while len(events) > MOST_EVENTS or next(iter(events.values())) < oldest:
            events.popitem(last=False)
        self.in_all += len(events) - before
        while self.in_all > MOST_EVENTS_IN_ALL:
            self.in_all -= len(self.events.popitem(last=False)[1])
        return len(events)


class Scores:
    """The scores of all who ask.

    Args:
        seconds: The window.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._people: OrderedDict[str, _Watched] = OrderedDict()

    def is_new(self, who: str, question: Hashable) -> bool:
        """Whether somebody asks a question for the first time; asking again tells nothing new."""
        watched = self._people.setdefault(who, _Watched())
        self._people.move_to_end(who)
        if len(self._people) > MOST_WATCHED:
            self._people.popitem(last=False)
        known = digest(question)
        if known in watched.seen:
            return False
        watched.seen[known] = None
        if len(watched.seen) > MOST_QUESTIONS:
            watched.seen.popitem(last=False)
        return True

    def see(self, who: str, asked: Asked, at: float) -> Iterator[Score]:
        """Add a new question, and give every score that rose by it."""
        watched = self._people.setdefault(who, _Watched())
        remember(asked, watched.memory)
        for detector in DETECTORS:
            risen = {}
            for kind, event in detector.events(asked, watched.memory):
                count = watched.add((detector.name, kind), event, at, at - self._seconds)
                if count is not None:
                    risen[kind] = count
            if risen:
                kind = max(risen, key=lambda each: risen[each])
                yield Score(detector.name, risen[kind], kind)
