"""Detectors of attacks in the sequence of queries, and the scores of clients.

    recodes      many groupings of one variable, to average the noise of the same people
    near-equal   many pairs of groups that differ by the same few categories (differencing)
    areas        many pairs of sets of areas that differ by one area: with one set in common, or the same area
    refusals     most queries are refused: the client probes the rules
    slivers      both of two declared code lists that differ by one category, in many tables

A detector sees canonical requests and the public description, no answer and no count, so an alert reveals nothing about
people. Each new query yields events. A score is the largest number of different events of one kind of a client within the
window. Groups are bit sets and the rest of a query as a digest, so memory does not grow with the queries.
Detection and false alarms are measured in docs/reference/request-log.md.

Source: Rinott et al. (2018), sections 2.2 and 8; Fraser and Wooton (2005) on differencing; Asghar and Kaafar (2020) on
averaging in table builders; docs/methods/attack-averaging.md, docs/methods/attack-bob.md.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from cachetools import LRUCache

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import finer, level_groups, level_names
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.variable import Variable
from discreet.rules.kinds.groups import close_groups

Fact = TypeVar("Fact")
#: An event: its kind and its identity.
Event = tuple["Hashable", "Hashable"]
#: Two groups are near-equal if they differ by at most this share of the larger one.
NEAR = 1 / 3
#: Readers compare sets of fewer areas every day.
FEWEST_AREAS = 3
#: A group of fewer categories is near-equal to others by its size alone.
FEWEST_IN_SLIVER = 4
#: A smaller group is near-equal to none.
FEWEST_COMPARED = 2
#: Maximum number of contexts per client.
MOST_CONTEXTS = 5_000
#: Maximum number of groups per context and per client. A new group is compared with its context; a group of 5,000 areas
#: takes a kilobyte.
MOST_GROUPS, MOST_GROUPS_IN_ALL = 500, 20_000


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A query of the audit log."""

    dataset: Dataset
    request: TableRequest
    refused: bool = False


@dataclass(slots=True)
class RequestHistory:
    """The recent queries of a client: the groups of each variable by context, which is the rest of the query."""

    #: By variable and context, the groups with their sizes, the newest last.
    groups: OrderedDict[tuple[str, bytes], OrderedDict[int, int]] = field(default_factory=OrderedDict)
    #: By context, the variables with groups.
    grouped: OrderedDict[bytes, dict[str, None]] = field(default_factory=OrderedDict)
    #: Digests of the queries.
    asked: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    lists: OrderedDict[Hashable, set[str]] = field(default_factory=OrderedDict)
    allowed: int = 0
    refused: int = 0
    in_all: int = 0

    def keep(self, name: str, context: bytes, groups: dict[int, int]) -> None:
        """Add groups of a variable in a context, as the newest ones."""
        known = self.groups.setdefault((name, context), OrderedDict())
        self.groups.move_to_end((name, context))
        before = len(known)
        for group, size in groups.items():
            known[group] = size
            known.move_to_end(group)
        while len(known) > MOST_GROUPS:
            known.popitem(last=False)
        self.in_all += len(known) - before

    def forget(self) -> None:
        """Evict the oldest entries over the limits."""
        while len(self.groups) > MOST_CONTEXTS or self.in_all > MOST_GROUPS_IN_ALL:
            self.in_all -= len(self.groups.popitem(last=False)[1])
        kept: OrderedDict[Any, Any]
        for kept in (self.grouped, self.asked, self.lists):
            while len(kept) > MOST_CONTEXTS:
                kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern of queries: its name in `[watch]` and alerts, its meaning, and the events of a new query.

    `thresholds` are the default scores for an alert, for slowing and for stopping the client; 0 for never.
    """

    name: str
    sentence: str
    thresholds: tuple[int, int, int]
    events: Callable[[LoggedRequest, RequestHistory], Iterator[Event]]


def _recodes(asked: LoggedRequest, _memory: RequestHistory) -> Iterator[Event]:
    """Groups, and filters on several categories that are no declared union. Unions of areas belong to `areas`."""
    for name, groups in asked.request.groups:
        if any(len(group) > 1 for group in groups):
            yield (asked.dataset.id, name), digest(groups)
    for name, codes in asked.request.filters:
        own = len(codes) > 1 and name not in asked.dataset.geography
        if own and frozenset(codes) not in _unions_of(asked.dataset, name):
            yield (asked.dataset.id, name), digest(codes)


def _near_equal(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    for name, context, one, other in _near_pairs(asked, memory, areas=False):
        yield (asked.dataset.id, name, one ^ other), digest(context, f"{one:x} {other:x}")


def _areas(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    """Pairs that share a set, or the area by which they differ; selecting areas one by one yields neither."""
    for name, context, one, other in _near_pairs(asked, memory, areas=True):
        few = min(one.bit_count(), other.bit_count()) < FEWEST_AREAS
        if (one ^ other).bit_count() == 1 and not few:
            for kind in (one, other, one ^ other):
                yield (asked.dataset.id, name, kind), digest(context, f"{one:x} {other:x}")


def _refusals(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    """A refused query counts while at least half of the queries are refused."""
    if asked.refused and memory.refused >= memory.allowed:
        yield asked.dataset.id, digest(asked.request.identity)


def _slivers(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    for base, level, context in _lists_seen(asked):
        for one, other in _sliver_lists(asked.dataset, base):
            if level in (one, other) and {one, other} <= memory.lists.get((base, context), set()):
                yield (asked.dataset.id, base, one, other), context


DETECTORS = (
    Detector("recodes", message("Many groupings of one variable."), (15, 45, 0), _recodes),
    Detector(
        "near-equal",
        message("Many pairs of groups that differ by the same few categories."),
        (8, 24, 0),
        _near_equal,
    ),
    Detector("areas", message("Many pairs of sets of areas that differ by one area."), (8, 24, 0), _areas),
    Detector("refusals", message("Most requests are refused."), (25, 75, 0), _refusals),
    Detector(
        "slivers",
        message("Both of two lists that are equal but for a category, in many tables."),
        (4, 12, 0),
        _slivers,
    ),
)


def remember(asked: LoggedRequest, memory: RequestHistory) -> None:
    """Add a query to the history; the detectors run afterwards."""
    memory.refused += asked.refused
    memory.allowed += not asked.refused
    for name, context, groups in _populations(asked):
        memory.keep(name, context, groups)
        memory.grouped.setdefault(context, {})[name] = None
    for base, level, context in _lists_seen(asked):
        memory.lists.setdefault((base, context), set()).add(level)
    memory.asked[digest(asked.request.identity)] = None
    memory.forget()


def _populations(asked: LoggedRequest) -> Iterator[tuple[str, bytes, dict[int, int]]]:
    """For each variable with a filter or groups: the rest of the query, and its groups with their sizes."""
    request = asked.request
    filters, groups = dict(request.filters), dict(request.groups)
    for name in filters.keys() | groups.keys():
        rest = replace(
            request,
            filters=tuple(item for item in request.filters if item[0] != name),
            groups=tuple(item for item in request.groups if item[0] != name),
        )
        shown = groups.get(name) or (filters[name],)
        variable = asked.dataset.variable(name)
        sizes = {_bits(variable, codes): len(codes) for codes in shown if len(codes) >= FEWEST_COMPARED}
        yield name, digest(rest.identity), sizes


def _near_pairs(
    asked: LoggedRequest, memory: RequestHistory, *, areas: bool
) -> Iterator[tuple[str, bytes, int, int]]:
    """Near-equal pairs of groups of one variable in the same context, of which the new query has one."""
    for name, context, groups in _populations(asked):
        if (name in asked.dataset.geography) == areas:
            known: Mapping[int, int] = memory.groups.get((name, context), {})
            whole = _whole(asked, name) if context in memory.asked else {}
            for one, size in groups.items():
                yield from ((name, context, *pair) for pair in _near(one, size, {**known, **whole}))
    own = digest(asked.request.identity)
    for name in memory.grouped.get(own, {}):
        if (name in asked.dataset.geography) == areas:
            for one, size in _whole(asked, name).items():
                known = memory.groups.get((name, own), {})
                yield from ((name, own, *pair) for pair in _near(one, size, known))


def _near(one: int, size: int, others: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    for other, its_size in others.items():
        most = NEAR * max(size, its_size)
        if abs(size - its_size) <= most and 0 < (one ^ other).bit_count() <= most:
            yield min(one, other), max(one, other)


def _whole(asked: LoggedRequest, name: str) -> dict[int, int]:
    size = len(asked.dataset.variable(name))
    return {(1 << size) - 1: size}


def _bits(variable: Variable, codes: Iterable[str]) -> int:
    bits = bytearray(b"0" * len(variable))
    for code in codes:
        bits[variable.position(code)] = ord("1")
    return int(bits, 2)


def digest(*parts: object) -> bytes:
    """A short hash for comparisons."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def _lists_seen(asked: LoggedRequest) -> Iterator[tuple[str, str, bytes]]:
    """For each variable of the table: its finest variable, the code lists in use, and the rest of the query."""
    levels = dict(asked.request.levels)
    for name in asked.request.variables:
        below = finer(asked.dataset, name)
        base = next((v.name for v in reversed(asked.dataset.variables) if v.name in below), name)
        rest = replace(
            asked.request,
            rows=tuple(each for each in asked.request.variables if each != name),
            columns=(),
            layers=(),
            levels=tuple(item for item in asked.request.levels if item[0] != name),
        )
        for level in levels.get(name, (name,)):
            yield base, level, digest(rest.identity)


def once_per_description(compute: Callable[[Dataset, str], Fact]) -> Callable[[Dataset, str], Fact]:
    """Cache what follows from a description and a variable.

    A version number is no key: a reload may change the code lists under the same one. The entry holds the description, so
    that its id stays unique.
    """
    found: LRUCache[tuple[int, str], tuple[Dataset, Fact]] = LRUCache(500)

    def cached(dataset: Dataset, name: str) -> Fact:
        key = (id(dataset), name)
        if key not in found:
            found[key] = dataset, compute(dataset, name)
        return found[key][1]

    return cached


@once_per_description
def _unions_of(dataset: Dataset, name: str) -> frozenset[frozenset[str]]:
    codes = dataset.variable(name).codes
    return frozenset(
        frozenset(codes[place] for place in group.members)
        for level in level_names(dataset, name)
        for group in level_groups(dataset, name, level)
    )


@once_per_description
def _sliver_lists(dataset: Dataset, base: str) -> tuple[tuple[str, str], ...]:
    sizes = {
        (level, group.code): len(group.members)
        for level in level_names(dataset, base)
        for group in level_groups(dataset, base, level)
    }
    each = np.ones(len(dataset.variable(base)), dtype=np.int64)
    found = {
        (one, other): None
        for one, code, other, close, _ in close_groups(dataset, base, each, 2)
        if min(sizes.get((one, code), 0), sizes.get((other, close), 0)) >= FEWEST_IN_SLIVER - 1
    }
    return tuple(found)


#: Maximum number of tracked clients; the least recently seen are evicted.
MOST_WATCHED = 10_000
#: Maximum number of queries per client.
MOST_QUESTIONS = 20_000
#: Maximum number of events per client, of one kind and of all kinds; no threshold is higher.
MOST_EVENTS, MOST_EVENTS_IN_ALL = 2_000, 50_000


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a client."""

    detector: str
    score: int
    kind: Hashable


@dataclass(slots=True)
class _Watched:
    memory: RequestHistory = field(default_factory=RequestHistory)
    #: Digests of queries.
    seen: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    events: OrderedDict[tuple[str, Hashable], OrderedDict[Hashable, float]] = field(
        default_factory=OrderedDict
    )
    in_all: int = 0

    def add(self, kind: tuple[str, Hashable], event: Hashable, at: float, oldest: float) -> int | None:
        """Add an event and drop those before `oldest`; the number of its kind, or None for a repeated event."""
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
    """The scores of all clients."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._people: LRUCache[str, _Watched] = LRUCache(MOST_WATCHED)

    def is_new(self, who: str, question: Hashable) -> bool:
        """Whether a client sends a query for the first time; repeated queries yield no events."""
        watched = self._people.setdefault(who, _Watched())
        known = digest(question)
        if known in watched.seen:
            return False
        watched.seen[known] = None
        if len(watched.seen) > MOST_QUESTIONS:
            watched.seen.popitem(last=False)
        return True

    def see(self, who: str, asked: LoggedRequest, at: float) -> Iterator[Score]:
        """Add a new query and yield the scores that it raises."""
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
