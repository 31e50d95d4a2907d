"""Whether the time of an answer tells what the answer must not: two kinds of requests, in random order, compared.

    t = (mean(a) - mean(b)) / sqrt(var(a) / n_a + var(b) / n_b)

is Welch's, computed over all times and over those below each of 100 quantiles of both kinds together, since a rare
interruption hides a small difference; the largest |t| counts. Below 4.5 nothing was found with so many pairs.

    keys       a wrong key that begins as a good one, and one that does not
    hidden     a dataset that the asker may not see, and one that is not there
    kept       a table of a dataset that the asker may not see: asked for by others before, and not
    refusal    a table that a rule of shape refuses: of a town, and of the town with one person more
    table      a table in which that person is alone in a cell, counted: empty, and not
    cached     the same, given again from memory;  304  a reader's copy of it still holds
    dp         a table under `dp`: of the two towns
    same       the same table of two loads of the same records: what is found here is the machine's doing

The two towns have one secret; the times are those of the whole application, without a network. What is compared is the
processor time of all threads; the wall time, which a busy machine makes useless, is told beside.

Source: Reparaz, Balasch & Verbauwhede (2017), "Dude, is my code constant time?".
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet_studies.bench.part import Part, Result, Wish, figure

PAIRS, WARM_UP = 10_000, 200
POINTS = ("keys", "hidden", "kept", "refusal", "table", "cached", "304", "dp", "same")
#: Where a difference begins.
LIMIT = 4.5
_QUANTILES = 1 - 0.5 ** (10 * (np.arange(100) + 1) / 100)
_FEWEST = 100

_VARIABLES = {"area": [f"A{n:02}" for n in range(20)], "sex": ["f", "m"], "age": ["young", "grown", "old"]}
_TOWN = "".join(
    f'[[variable]]\nname = "{name}"\ncategories = {codes}\n'.replace("'", '"')
    for name, codes in _VARIABLES.items()
)
_CELLKEY = "[protection]\nmax_variables = 2\n"
_DP = """[protection]
method = "dp"
[protection.universe]
variables = ["area", "sex", "age"]
tables = [["area", "sex"], ["sex", "age"]]
[protection.budget]
name = "guarded"
epsilon = 1.0
cap_epsilon = 2.0
cap_delta = 1e-6
"""
_TABLE = "/api/datasets/town/table?rows=area&columns=sex&format=csv"


def welch(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Welch's t of two samples; 0 where both are constant and equal.

    >>> round(welch(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 3)
    -1.225
    """
    spread = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
    apart = float(one.mean() - other.mean())
    if not spread:
        return 0.0 if not apart else float(np.inf) * np.sign(apart)
    return apart / float(np.sqrt(spread))


def largest_t(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest |t| of all times, and of those below each quantile."""
    found = [welch(one, other)]
    for limit in np.quantile(np.concatenate([one, other]), _QUANTILES):
        kept = one[one <= limit], other[other <= limit]
        if min(map(len, kept)) >= _FEWEST:
            found.append(welch(*kept))
    return float(max(map(abs, found)))


@dataclass(frozen=True, slots=True)
class Times:
    """The times of both kinds of requests, in nanoseconds: of the processor, and of the clock on the wall."""

    processor: NDArray[np.float64]
    wall: NDArray[np.float64]


def in_pairs(
    one: Callable[[], object],
    other: Callable[[], object],
    pairs: int,
    seed: int = 1,
    clock: Callable[[], int] = time.process_time_ns,
) -> Times:
    """The times of two works, done in pairs, each pair in random order; arrays of (2, pairs)."""
    order, works = random.Random(seed), (one, other)  # noqa: S311 - an order, no secret
    times = np.zeros((2, 2, pairs))
    for pair in range(-min(WARM_UP, pairs), pairs):
        first = order.randrange(2)
        for kind in (first, 1 - first):
            wall, begin = time.perf_counter_ns(), clock()
            works[kind]()
            if pair >= 0:
                times[:, kind, pair] = clock() - begin, time.perf_counter_ns() - wall
    return Times(*times)


@dataclass(frozen=True, slots=True)
class Asking:
    """An application, asked in this thread."""

    loop: asyncio.AbstractEventLoop
    app: Any

    def ask(self, path: str, key: str = "", copy: str = "") -> tuple[int, Mapping[bytes, bytes]]:
        """The status and the headers of an answer."""
        where, _, query = path.partition("?")
        given = {
            b"host": b"localhost",
            b"authorization": f"Bearer {key}".encode(),
            b"if-none-match": copy.encode(),
        }
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": where,
            "raw_path": where.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(n, v) for n, v in given.items() if v not in {b"", b"Bearer "}],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        return self.loop.run_until_complete(_answered(self.app, scope))

    def work(self, path: str, status: int, key: str = "", copy: str = "") -> Callable[[], None]:
        """What asks, and is sure of the status."""

        def asked() -> None:
            got, _ = self.ask(path, key, copy)
            if got != status:
                raise RuntimeError(f"{path} gave {got} in place of {status}")

        return asked


async def _answered(app: Any, scope: dict[str, Any]) -> tuple[int, Mapping[bytes, bytes]]:
    started: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            started.append(message)

    await app(scope, receive, send)
    return started[0]["status"], dict(started[0]["headers"])


@dataclass(frozen=True, slots=True)
class Towns:
    """Servers of a town, of its neighbour and of the town again: nothing kept, and kept; with the key of an analyst."""

    fresh: tuple[Asking, ...]
    keeping: tuple[Asking, ...]
    key: str


def people(*, more: bool) -> pa.Table:
    """A town in which nobody is a young woman of the last area; with `more` one is."""
    rng = np.random.RandomState(18)
    columns = {name: np.array(codes)[rng.choice(len(codes), 4_000)] for name, codes in _VARIABLES.items()}
    kept = (columns["area"] != "A19") | (columns["sex"] != "f")
    columns = {name: codes[kept] for name, codes in columns.items()}
    if more:
        columns = {
            n: np.append(c, a) for (n, c), a in zip(columns.items(), ("A19", "f", "young"), strict=True)
        }
    return pa.table({"person": np.arange(len(columns["sex"])), **columns})


def build(folder: Path, loop: asyncio.AbstractEventLoop) -> Towns:
    """Load the three workspaces and open each twice."""
    fresh: list[Asking] = []
    keeping: list[Asking] = []
    key = ""
    for number, more in enumerate((False, True, False)):
        own = folder / str(number)
        own.mkdir()
        (own / "secret").write_bytes(bytes(range(32)))
        (own / "secret").chmod(0o600)
        for name, protection in (
            ("town", _CELLKEY),
            ("guarded", _DP),
            ("closed", _CELLKEY + '[access]\nwho = "analyst"\n'),
        ):
            text = f'id = "{name}"\nlabel = "{name}"\nid_column = "person"\n{_TOWN}{protection}'
            load_dataset(own, text, people(more=more))
        key = open_accounts(own).create("ann", "analyst") if not number else key
        for cache, apps in ((0, fresh), (64, keeping)):
            registry = open_registry(own, threads=1)
            apps.append(Asking(loop, create_app(registry, replace(read_options(own), cache_mb=cache))))
    return Towns(tuple(fresh), tuple(keeping), key)


def works(towns: Towns) -> dict[str, tuple[Callable[[], None], Callable[[], None]]]:
    """By the name of a point the two kinds of requests."""
    town, more, again = towns.fresh
    keeping, neighbour, _ = towns.keeping
    refused = "/api/datasets/town/table?rows=area,sex,age&format=csv"
    guarded = _TABLE.replace("town", "guarded")
    closed = _TABLE.replace("town", "closed")
    other = closed.replace("rows=area&columns=sex", "rows=sex&columns=area")
    keeping.ask(closed, towns.key)
    tags = [app.ask(_TABLE)[1][b"etag"].decode() for app in (keeping, neighbour)]
    nearly = towns.key[:-1] + ("a" if towns.key[-1] != "a" else "b")
    far = "dk_" + towns.key[:2:-1]
    return {
        "keys": (town.work(_TABLE, 401, nearly), town.work(_TABLE, 401, far)),
        "hidden": (town.work(closed, 404), town.work(closed.replace("closed", "nobody"), 404)),
        "kept": (keeping.work(closed, 404), keeping.work(other, 404)),
        "refusal": (town.work(refused, 403), more.work(refused, 403)),
        "table": (town.work(_TABLE, 200), more.work(_TABLE, 200)),
        "cached": (keeping.work(_TABLE, 200), neighbour.work(_TABLE, 200)),
        "304": (keeping.work(_TABLE, 304, copy=tags[0]), neighbour.work(_TABLE, 304, copy=tags[1])),
        "dp": (town.work(guarded, 200), more.work(guarded, 200)),
        "same": (town.work(_TABLE, 200), again.work(_TABLE, 200)),
    }


def measure(wish: Wish) -> Iterator[Result]:
    """Build the towns, then time point by point; `repeats` is the number of pairs."""
    pairs, loop = wish.repeats or PAIRS, asyncio.new_event_loop()
    for point in wish.points:
        if point not in POINTS:
            raise BadRequest(f'There is no point "{point}".', nearest(point, POINTS))
    with tempfile.TemporaryDirectory() as name:
        wish.say("building the towns")
        todo = works(build(Path(name), loop))
        for point in wish.points or POINTS:
            wish.say(f"{point}: {pairs} pairs")
            yield {"point": point, "pairs": pairs} | compared(in_pairs(*todo[point], pairs))
    loop.close()


def compared(times: Times) -> Result:
    """The figures of one point."""
    one, other = np.median(times.processor, axis=1) / 1e6
    return {
        "ms": round(float(one), 4),
        "apart_us": round(float(one - other) * 1000, 2),
        "t": round(largest_t(*times.processor), 2),
        "t_wall": round(largest_t(*times.wall), 2),
    }


PART = Part(
    measure,
    {
        "point": lambda result: str(result["point"]),
        "pairs": figure("pairs", "{:,}"),
        "processor time": figure("ms", "{:.3f} ms"),
        "medians apart": figure("apart_us", "{:+.1f} µs"),
        "largest \\|t\\|": figure("t", "{:.1f}"),
        "of the wall": figure("t_wall", "{:.1f}"),
    },
)
