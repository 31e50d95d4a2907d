"""A server under load, and under attack: how many answers a second, how late the latest, how much memory, any wrong byte.

    bare        an answer of Starlette of the same size, by the same server program: what the machine can do at the moment
    bare-h11    the same by uvicorn without uvloop and httptools;  bare-granian  by Granian, where it is installed
    first       the first request after the server said that it serves: the slowest of some starts
    cached      one table again and again;  page  one page;  dp  one table under dp
    uncached    small tables one after the other, none kept
    mix         200 readers of the demo, each byte compared with what somebody alone got
    silent      3,000 connections that send half a request
    non-readers 16 readers who ask for the largest table and do not take it
    heavy       16 readers who ask for tests, charts, fitted tables and comparisons
    keys        16 readers with keys that nobody has

A machine that others use too gives fewer answers a second, but not fewer a second of the server's own processor time:
compare those. While an attack goes on, one ordinary reader asks for small tables; his times are shown. Every line has
the memory of all processes of the server at most. `wrk` makes the load of single addresses where it is installed.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count, cycle, islice
from pathlib import Path
from typing import Self

from discreet_studies.bench.load_generator import Site, Tally, ask, references, run_clients
from discreet_studies.bench.part import Part, Result, Wish, figure

CLIENTS, SECONDS, STARTS = 200, 10, 5
#: glibc's settings of the deployed service (deploy/discreet.service): every server here runs with them.
MALLOC = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1000000", "MALLOC_TRIM_THRESHOLD_": "4000000"}
#: Processor seconds in half a second of a server that is at rest.
CALM = 0.05
_TABLE = "/api/datasets/census/table?rows=sex&columns=age&format=csv"
SINGLE = {
    "cached": _TABLE,
    "page": "/datasets/census?rows=sex&columns=age",
    "dp": "/api/datasets/census-dp/table?rows=sex&columns=age&format=csv",
}
#: Small tables, each another one: two variables, and a category of a third.
SMALL = tuple(
    f"/api/datasets/census/table?rows={rows}&columns={columns}&filter={kept}&format={form}"
    for rows in ("sex", "education", "employment")
    for columns in ("birthplace", "region")
    for kept in ("", *(f"age={age}" for age in ("0-4", "20-24", "25-29", "30-34", "35-39", "40-44")))
    for form in ("csv", "json")
)
#: Lets `wrk` ask for one address after the other.
_LUA = "local asked = {%s}\nlocal n = 0\nrequest = function() n = n %% #asked + 1 return wrk.format('GET', asked[n]) end\n"
#: What readers of the demo ask for.
MIX = (
    "/",
    "/datasets/census?rows=region&columns=sex",
    "/datasets/census?rows=age&columns=employment&lang=de",
    "/datasets/census-dp?rows=region&columns=sex",
    "/api/datasets",
    "/api/datasets/census",
    *(
        f"/api/datasets/{name}/table?rows={rows}&columns={columns}&format={form}"
        for name in ("census", "census-dp")
        for rows in ("sex", "age", "employment", "region")
        for columns in ("education", "birthplace")
        for form in ("csv", "json")
    ),
    "/api/datasets/census/table?rows=district&columns=age&format=csv",
    "/api/datasets/census/table?rows=area&columns=sex&format=csv",
    "/datasets/census/block?rows=district&columns=age&from_row=0&rows_wanted=40",
    "/api/datasets/census/test/independence?rows=age&columns=birthplace",
    "/api/datasets/census/interval?rows=sex&columns=education",
    "/api/datasets/spudlandia/table?rows=age&columns=gender",
)
#: What one ordinary reader asks for during an attack: from the cache and not.
ORDINARY = tuple(
    f"/api/datasets/census/table?rows=sex&columns=education&filter=age={age}&format=csv"
    for age in ("0-4", "5-9", "10-14", "15-19", "20-24", "25-29")
)
LARGEST = "/api/datasets/census/table?rows=area&columns=age,sex&format=csv"
HEAVY = (
    "/api/datasets/census-dp/test/independence?rows=district&columns=occupation",
    "/api/datasets/census-dp/test/independence?rows=district&columns=age",
    "/api/datasets/census/table?rows=district&columns=age,occupation&format=csv&additivity=fitted",
    "/api/datasets/census/table?rows=district&columns=age,education&format=csv&additivity=fitted",
    "/api/datasets/census/compare?with=2026&rows=area&columns=sex",
    "/datasets/census?rows=region&columns=age&show=chart",
    "/api/datasets/census/interval?rows=area&columns=age,sex",
    "/datasets/census?rows=area&columns=age,sex&percent=row",
)
_BARE = """
import sys
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def answer(request):
    return Response(b"x" * int(sys.argv[2]), media_type="text/csv")
app, port = Starlette(routes=[Route("/", answer)]), int(sys.argv[1])
if sys.argv[3] == "granian":
    from granian.server.embed import Server
    import asyncio
    asyncio.run(Server(app, port=port, interface="asgi", log_enabled=False).serve())
else:
    import uvicorn
    loop, http = sys.argv[3].split()
    uvicorn.run(app, port=port, log_config=None, access_log=False, loop=loop, http=http)
"""


def measure(wish: Wish) -> Iterator[Result]:
    """Build the demo, serve it, and measure point by point; `repeats` is the number of seconds of each."""
    seconds = wish.repeats or SECONDS
    chosen = wish.points or tuple(name for name in POINTS if name != "bare-granian" or find_spec("granian"))
    with tempfile.TemporaryDirectory() as name:
        workspace = build_demo(Path(name), wish.say)
        for point in chosen:
            wish.say(f"{point}: {seconds} seconds")
            yield {"point": point} | POINTS[point](workspace, seconds)


def build_demo(folder: Path, say: Callable[[str], None]) -> Path:
    """The demo workspace, built in a folder."""
    say("building the demo")
    workspace = folder / "demo"
    _discreet("demo", "--no-serve", "-w", str(workspace)).wait()
    return workspace


def _bare(program: str) -> Callable[[Path, int], Result]:
    def measured(_workspace: Path, seconds: int) -> Result:
        port = free_port()
        server = subprocess.Popen([sys.executable, "-c", _BARE, str(port), "1920", program])
        try:
            _wait_for(port)
            return _throughput(port, ["/"], seconds, Memory(server.pid))
        finally:
            server.terminate()
            server.wait()

    return measured


def _single(name: str) -> Callable[[Path, int], Result]:
    def measured(workspace: Path, seconds: int) -> Result:
        if name in SINGLE:
            with serving(workspace) as (port, memory):
                return _throughput(port, [SINGLE[name]], seconds, memory)
        with serving(workspace, DISCREET_CACHE_MB="0") as (port, memory):
            return _throughput(port, list(SMALL), seconds, memory)

    return measured


def _first(workspace: Path, _seconds: int) -> Result:
    """Start a server some times, and ask each for a page or a table as its first request."""
    taken, most = [], 0.0
    for asked in islice(cycle((SINGLE["page"], SMALL[0])), STARTS):
        port = free_port()
        words = ("serve", "-w", str(workspace), "--port", str(port), "--workers", "2")
        with _discreet(*words, stderr=subprocess.PIPE) as server, Memory(server.pid) as memory:
            while b"serving" not in server.stderr.readline():  # type: ignore[union-attr]
                pass
            tally = asyncio.run(_once(Site(port), asked))
            taken += tally.seconds
            most = max(most, memory.now())
            server.send_signal(signal.SIGTERM)
    nothing = dict.fromkeys(("per_second", "busy", "failed", "wrong", "memory"))
    return nothing | {"p99": max(taken), "most_memory": most}


async def _once(site: Site, address: str) -> Tally:
    connection, begun = await site.connect(), time.perf_counter()
    status, _, _ = await ask(site, connection, address)
    connection[1].close()
    return Tally([time.perf_counter() - begun], Counter([status]))


def _mix(workspace: Path, seconds: int) -> Result:
    with serving(workspace) as (port, memory):
        tally, before = asyncio.run(mixed(port, memory, CLIENTS, seconds))
        drift = (memory.now() - before) / before
        return _told(tally, seconds) | _memory_of(memory) | {"drift": drift}


async def mixed(
    port: int, memory: Memory, clients: int, seconds: float, pause: float = 0.0
) -> tuple[Tally, float]:
    """The mix of the demo by many readers; and the memory after the first tenth, from which drift is counted."""
    site = Site(port)
    expected = await references(site, MIX)
    first = await run_clients(site, expected, clients, seconds / 10, pause)
    before = memory.now()
    rest = await run_clients(site, expected, clients, seconds * 9 / 10, pause)
    return Tally(
        first.seconds + rest.seconds, first.statuses + rest.statuses, first.wrong + rest.wrong
    ), before


def _attack(attackers: Callable[[int, float], Awaitable[None]]) -> Callable[[Path, int], Result]:
    def measured(workspace: Path, seconds: int) -> Result:
        with serving(workspace) as (port, memory):
            tally = asyncio.run(attacked(port, attackers, seconds))
            return _told(tally, seconds) | _memory_of(memory)

    return measured


async def attacked(port: int, attackers: Callable[[int, float], Awaitable[None]], seconds: float) -> Tally:
    """What one ordinary reader meets while others attack."""
    site = Site(port)
    expected = await references(site, ORDINARY)
    attack = asyncio.ensure_future(attackers(port, seconds))
    await asyncio.sleep(min(1.0, seconds / 10))
    tally = await run_clients(site, expected, 1, seconds, pause=0.05)
    attack.cancel()
    with suppress(asyncio.CancelledError):
        await attack
    return tally


async def silent(port: int, seconds: float, connections: int = 3_000) -> None:
    """Many connections that send half a request."""
    held = []
    for _ in range(connections):
        with suppress(OSError):
            held.append(await Site(port).connect())
            held[-1][1].write(b"GET / HTTP/1.1\r\nhost: x\r\n")
    await asyncio.sleep(seconds)
    for _, writer in held:
        writer.close()


async def non_readers(port: int, seconds: float, readers: int = 16) -> None:
    """Readers who ask for the largest table and do not take it."""
    held = []
    for _ in range(readers):
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        await asyncio.get_running_loop().sock_sendall(raw, Site(port).request(LARGEST))
        held.append(raw)
    await asyncio.sleep(seconds)
    for raw in held:
        raw.close()


async def heavy(port: int, seconds: float) -> None:
    """Readers who ask for what costs most, each time a little differently, so that the front finds nothing again."""
    await _many(port, seconds, lambda number: (f"accept-encoding: x{number}\r\n", HEAVY[number % len(HEAVY)]))


async def garbage_keys(port: int, seconds: float) -> None:
    """Readers with keys that nobody has."""
    await _many(port, seconds, lambda number: (f"authorization: Bearer garbage{number}\r\n", _TABLE))


async def _many(
    port: int, seconds: float, asked: Callable[[int], tuple[str, str]], readers: int = 16
) -> None:
    """Readers who ask without a pause, each on a connection of its own."""
    end, numbers = time.perf_counter() + seconds, count()

    async def reader() -> None:
        while time.perf_counter() < end:
            headers, address = asked(next(numbers))
            with suppress(OSError, asyncio.IncompleteReadError):
                connection = await Site(port).connect()
                await ask(Site(port, headers), connection, address)
                connection[1].close()

    await asyncio.gather(*(reader() for _ in range(readers)))


@contextmanager
def serving(workspace: Path, workers: int = 2, **environment: str) -> Iterator[tuple[int, Memory]]:
    """A server of a workspace, by default with two processes."""
    port = free_port()
    words = ("serve", "-w", str(workspace), "--port", str(port), "--workers", str(workers))
    server = _discreet(*words, environment=environment)
    try:
        _wait_for(port)
        with Memory(server.pid) as memory:
            _wait_until_calm(memory)
            yield port, memory
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _wait_until_calm(memory: Memory, seconds: float = 20) -> None:
    """Until what a server prepares after its start, compiled code above all, is ready."""
    end, before = time.monotonic() + seconds, -1.0
    while (now := memory.processor_seconds()) - before > CALM and time.monotonic() < end:
        before = now
        time.sleep(0.5)


class Memory:
    """How much memory a process and its children take: what is theirs, and their part of what they share."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stopped = threading.Event()
        self.most = 0.0

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stopped.set()

    def now(self, field: str = "Pss") -> float:
        """In megabytes."""
        found = sum(_megabytes(pid, field) for pid in _family(self._pid))
        if field == "Pss":
            self.most = max(self.most, found)
        return found

    def processor_seconds(self) -> float:
        """Of all of them, so far."""
        return sum(map(_processor_seconds, _family(self._pid)))

    def _watch(self) -> None:
        while not self._stopped.wait(0.2):
            self.now()


def _family(pid: int) -> list[int]:
    own: list[str] = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):  # of every thread
        with suppress(OSError):
            own += children.read_text().split()
    return [pid, *(each for child in own for each in _family(int(child)))]


def _megabytes(pid: int, field: str) -> float:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)[1]) / 1024  # type: ignore[index]
    return 0.0


def _processor_seconds(pid: int) -> float:
    with suppress(OSError):
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _memory_of(memory: Memory) -> Result:
    return {"memory": memory.now(), "most_memory": memory.most}


def _throughput(port: int, asked: list[str], seconds: int, memory: Memory) -> Result:
    """How many answers, a second and a second of the processor."""
    before = memory.processor_seconds()
    found = _loaded(port, asked, seconds)
    used = memory.processor_seconds() - before
    return (
        found
        | _memory_of(memory)
        | {"per_processor_second": found["per_second"] * seconds / used if used else None}
    )


def _loaded(port: int, asked: list[str], seconds: int) -> Result:
    """By `wrk`, which takes little of the machine; by our own readers where it is not installed."""
    wrk = shutil.which("wrk")
    if wrk is None:
        return _told(asyncio.run(_alone(Site(port), asked, seconds)), seconds)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_LUA % ", ".join(f"'{address}'" for address in asked))
        script.flush()
        words = [wrk, "-t1", f"-c{CLIENTS}", f"-d{seconds}", "--latency", "-s", script.name]
        words.append(f"http://127.0.0.1:{port}")
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    late = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return {
        "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        "p99": None if late is None else float(late[1]) * unit[late[2]],
        "failed": int(failed[1]) if failed else 0,
        "busy": None,
        "wrong": None,
    }


async def _alone(site: Site, asked: list[str], seconds: int) -> Tally:
    return await run_clients(site, await references(site, asked), CLIENTS, seconds)


def _told(tally: Tally, seconds: float) -> Result:
    return {
        "per_second": len(tally.seconds) / seconds,
        "p99": tally.quantile(0.99),
        "failed": sum(
            n for status, n in tally.statuses.items() if status == 0 or (status >= 500 and status != 503)
        ),
        "busy": tally.statuses[503],
        "wrong": tally.wrong,
    }


def _discreet(
    *words: str, environment: dict[str, str] | None = None, stderr: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from discreet.cli.main import run; run()", *words]
    own = os.environ | MALLOC | (environment or {})
    return subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=stderr)


def free_port() -> int:
    """A port that nobody listens on, below those that connections are given: none takes it before a server does."""
    while True:
        port = 15_000 + secrets.randbelow(15_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _wait_for(port: int, seconds: float = 120) -> None:
    """Wait until a server answers."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            connection.settimeout(60)
            if connection.recv(12) == b"HTTP/1.1 200":
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing answers on the port {port}")


POINTS: dict[str, Callable[[Path, int], Result]] = {
    "bare": _bare("uvloop httptools"),
    "bare-h11": _bare("asyncio h11"),
    "bare-granian": _bare("granian"),
    "first": _first,
    **{name: _single(name) for name in (*SINGLE, "uncached")},
    "mix": _mix,
    "silent": _attack(silent),
    "non-readers": _attack(non_readers),
    "heavy": _attack(heavy),
    "keys": _attack(garbage_keys),
}
PART = Part(
    measure,
    {
        "what": lambda result: str(result["point"]),
        "answers a second": figure("per_second", "{:,.0f}"),
        "a processor second": lambda result: (
            f"{result['per_processor_second']:,.0f}" if result.get("per_processor_second") else ""
        ),
        "99 % within": lambda result: "" if result["p99"] is None else f"{1000 * result['p99']:,.0f} ms",
        "503": figure("busy", "{:,}"),
        "failed": figure("failed", "{:,}"),
        "wrong bytes": figure("wrong", "{:,}"),
        "memory at most": figure("most_memory", "{:,.0f} MB"),
    },
)
