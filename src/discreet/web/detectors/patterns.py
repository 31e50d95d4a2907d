"""What attacks look like in the questions alone: five detectors, each for one way of asking.

    recodes      many groupings of one variable: the same people in other words, to average the noise away
    near-equal   one pair after another of groups that differ by the same few categories: their difference, again and again
    areas        pairs of sets of areas that differ by one area: of one set with many others, or by one area again and again
    refusals     most of what is asked is refused: somebody feels for the edge of the rules
    slivers      both of two declared lists that are equal but for a category, in one table after another

A detector sees canonical requests and the public description. It sees no answer and no count: what it finds tells nothing
about people, and it cannot be used to learn anything. For each new request it gives events; a score is the largest number of
different events of one kind that somebody has in the window. A group of categories is kept as a number with a bit for each,
and the rest of a question as a digest: what is remembered and compared does not grow with what is sent. What each catches,
and how often it is wrong on ordinary readers, is measured: docs/how-to/watch-requests.md.

Source: Rinott et al. (2018), sections 2.2 and 8; Fraser and Wooton (2005) on differencing; Asghar and Kaafar (2020) on
averaging in table builders; docs/methods/attack-averaging.md, docs/methods/attack-bob.md.

The scores of everybody who asks: how many different events of one kind each detector has seen of them in the window.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import finer, level_groups, level_names
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.variable import Variable
from discreet.rules.close_groups import close_groups

Known = TypeVar("Known")
#: An event: of which kind, and which one.
Event = tuple["Hashable", "Hashable"]
#: Two groups are near-equal if they differ by at most this share of the larger one.
NEAR = 1 / 3
#: Sets of fewer areas are compared by readers every day.
FEWEST_AREAS = 3
#: A group of fewer categories is near-equal to others by its size alone.
FEWEST_IN_SLIVER = 4
#: A smaller group is near-equal to none.
FEWEST_COMPARED = 2
#: How many contexts are remembered of one who asks.
MOST_CONTEXTS = 5_000
#: How many groups of one context, the newest, and of all: a new group is compared with all of its context, thresholds are
#: some dozens of pairs, and a group of 5,000 areas takes a kilobyte.
MOST_GROUPS, MOST_GROUPS_IN_ALL = 500, 20_000


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One question, as the log has it.

    Args:
        dataset: What it is about.
        request: The canonical request.
        refused: Whether it was refused.
    """

    dataset: Dataset
    request: TableRequest
    refused: bool = False


@dataclass(slots=True)
class RequestHistory:
    """What is remembered of one who asks: per context of a variable the groups that were asked for."""

    #: By variable and context, the groups with their sizes, the newest last.
    groups: OrderedDict[tuple[str, bytes], OrderedDict[int, int]] = field(default_factory=OrderedDict)
    #: By context the variables of which groups were asked for in it.
    grouped: OrderedDict[bytes, dict[str, None]] = field(default_factory=OrderedDict)
    #: The questions themselves, without a group more.
    asked: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    lists: OrderedDict[Hashable, set[str]] = field(default_factory=OrderedDict)
    allowed: int = 0
    refused: int = 0
    in_all: int = 0

    def keep(self, name: str, context: bytes, groups: dict[int, int]) -> None:
        """Keep groups of a variable in a context, as the newest ones."""
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
        """Keep no more than is affordable."""
        while len(self.groups) > MOST_CONTEXTS or self.in_all > MOST_GROUPS_IN_ALL:
            self.in_all -= len(self.groups.popitem(last=False)[1])
        kept: OrderedDict[Any, Any]
        for kept in (self.grouped, self.asked, self.lists):
            while len(kept) > MOST_CONTEXTS:
                kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Detector:
    """A way of asking that is watched for.

    Args:
        name: Its name, in `[watch]` and in alerts.
        sentence: What an alert of it means.
        thresholds: Scores from which on there is an alert, a slowing down, a stop; 0 for never.
        events: What a new question adds.
    """

    name: str
    sentence: str
    thresholds: tuple[int, int, int]
    events: Callable[[LoggedRequest, RequestHistory], Iterator[Event]]


def _recodes(asked: LoggedRequest, _memory: RequestHistory) -> Iterator[Event]:
    """Unions of one's own: groups, and filters on several categories that no declared list has; not of areas.

    Readers tick areas one by one, which makes many unions: `areas` looks at these.
    """
    for name, groups in asked.request.groups:
        if any(len(group) > 1 for group in groups):
            yield (asked.dataset.id, name), digest(groups)
    for name, codes in asked.request.filters:
        own = len(codes) > 1 and name not in asked.dataset.geography
        if own and frozenset(codes) not in _declared(asked.dataset, name):
            yield (asked.dataset.id, name), digest(codes)


def _near_equal(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    for name, context, one, other in _near_pairs(asked, memory, areas=False):
        yield (asked.dataset.id, name, one ^ other), digest(context, f"{one:x} {other:x}")


def _areas(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    """Pairs that share a set, or the area by which they differ: ticking areas one by one makes neither."""
    for name, context, one, other in _near_pairs(asked, memory, areas=True):
        few = min(one.bit_count(), other.bit_count()) < FEWEST_AREAS
        if (one ^ other).bit_count() == 1 and not few:
            for kind in (one, other, one ^ other):
                yield (asked.dataset.id, name, kind), digest(context, f"{one:x} {other:x}")


def _refusals(asked: LoggedRequest, memory: RequestHistory) -> Iterator[Event]:
    """A refused question counts while refused ones are at least half of what was asked."""
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
    Detector("refusals", message("Most of what is asked is refused."), (25, 75, 0), _refusals),
    Detector(
        "slivers",
        message("Both of two lists that are equal but for a category, in many tables."),
        (4, 12, 0),
        _slivers,
    ),
)


def remember(asked: LoggedRequest, memory: RequestHistory) -> None:
    """Put a question into the memory; the detectors look at it afterwards."""
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
    """For each variable that is filtered or grouped: the rest of the question, and the groups that it shows of it."""
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
    """Every near-equal pair of groups of one variable, all else being the same, of which the new question has one."""
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
    """The pairs of a group with those that are near-equal to it; sizes that are far apart are not compared."""
    for other, its_size in others.items():
        most = NEAR * max(size, its_size)
        if abs(size - its_size) <= most and 0 < (one ^ other).bit_count() <= most:
            yield min(one, other), max(one, other)


def _whole(asked: LoggedRequest, name: str) -> dict[int, int]:
    """All categories of a variable, as a group."""
    size = len(asked.dataset.variable(name))
    return {(1 << size) - 1: size}


def _bits(variable: Variable, codes: Iterable[str]) -> int:
    """A group as a number: a bit for each category."""
    bits = bytearray(b"0" * len(variable))
    for code in codes:
        bits[variable.position(code)] = ord("1")
    return int(bits, 2)


def digest(*parts: object) -> bytes:
    """What stands for a long text where it is only compared."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def _lists_seen(asked: LoggedRequest) -> Iterator[tuple[str, str, bytes]]:
    """For each variable of the table its finest variable, the lists at which it is shown, and the rest of the question."""
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


def _declared(dataset: Dataset, name: str) -> frozenset[frozenset[str]]:
    """The unions of a variable's categories that its description declares."""
    return _known(dataset, ("declared", name), lambda: _work_out_declared(dataset, name))


def _work_out_declared(dataset: Dataset, name: str) -> frozenset[frozenset[str]]:
    codes = dataset.variable(name).codes
    return frozenset(
        frozenset(codes[place] for place in group.members)
        for level in level_names(dataset, name)
        for group in level_groups(dataset, name, level)
    )


def _sliver_lists(dataset: Dataset, base: str) -> tuple[tuple[str, str], ...]:
    """The pairs of declared lists of a variable that have groups which are equal but for one category."""
    return _known(dataset, ("slivers", base), lambda: _work_out_slivers(dataset, base))


def _work_out_slivers(dataset: Dataset, base: str) -> tuple[tuple[str, str], ...]:
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


_KNOWN: dict[Hashable, Any] = {}


def _known(dataset: Dataset, what: tuple[str, str], work_out: Callable[[], Known]) -> Known:
    """What follows from a description, worked out once for each version."""
    key = (dataset.id, dataset.version, dataset.wording, len(dataset.code_lists), *what)
    if key not in _KNOWN:
        if len(_KNOWN) > 1_000:
            _KNOWN.clear()
        _KNOWN[key] = work_out()
    found: Known = _KNOWN[key]
    return found


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

    memory: RequestHistory = field(default_factory=RequestHistory)
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

    def see(self, who: str, asked: LoggedRequest, at: float) -> Iterator[Score]:
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
