"""Memory of a server over hours, under a mix of everything that readers request, at a bounded rate.

Each request is drawn by a seeded generator: pages in two languages, downloads in every format, filtered tables, tests,
intervals, comparisons, charts, fitted and large tables, PxWebApi, SDMX, refused requests and garbage API keys. Most
requests are new to the caches, so the caches fill to their bounds and evict. A response whose request was answered before
must have the same bytes. PSS counts memory shared between processes once; RSS counts it in every process.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from discreet_studies.bench.load_generator import PATIENCE, Site, ask
from discreet_studies.bench.part import Part, Result, Wish, figure
from discreet_studies.bench.serve import HEAVY, LARGEST, MIX, Memory, build_demo, serving

MINUTES, SEED = 120, 29
#: Requests per second.
RATE = 8.0
#: Minutes after which memory is compared: compiled code, pools and the smaller caches are in place.
SETTLED = 10
_CODES = {
    "region": tuple(f"R{n:02}" for n in range(1, 12)),
    "age": tuple(f"{low}-{low + 4}" for low in range(0, 80, 5)),
    "education": tuple("12345678"),
    "employment": tuple("1234"),
}
_COLUMNS = ("sex", "occupation", "birthplace")
_FORMATS = (
    "csv",
    "csv-excel",
    "xlsx",
    "json",
    "parquet",
    "arrow",
    "px",
    "sdmx-csv",
    "sdmx-json",
    "html",
    "svg",
)
_VIEWS = ("", "&percent=row", "&show=chart", "&lang=de")
#: How often each kind of request is drawn.
WEIGHTS = {
    "mix": 30,
    "download": 25,
    "page": 20,
    "inference": 8,
    "pxweb": 5,
    "sdmx": 3,
    "heavy": 3,
    "refused": 4,
    "garbage key": 2,
}


def request(draw: random.Random) -> tuple[str, str]:
    """The headers and the URL of the next request."""
    kind = draw.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
    rows, kept = draw.sample(sorted(_CODES), 2)
    columns = draw.choice(_COLUMNS)
    # The universe of census-dp is declared: its tables are without filters.
    dataset = draw.choice(("census", "census", "census", "census-dp"))
    filters = "" if dataset == "census-dp" else f"&filter={kept}={draw.choice(_CODES[kept])}"
    table = f"rows={rows}&columns={columns}{filters}"
    wrong = draw.choice((f"rows=no{draw.randrange(10**6)}", "rows=area&columns=age,occupation,education"))
    urls = {
        "mix": draw.choice(MIX),
        "download": f"/api/datasets/{dataset}/table?{table}&format={draw.choice(_FORMATS)}",
        "page": f"/datasets/{dataset}?{table}{draw.choice(_VIEWS)}",
        "inference": f"/api/datasets/{dataset}/{draw.choice(('test/independence', 'interval'))}?{table}",
        "pxweb": f"/api/pxweb/v2/tables/census/data?valuecodes[{rows}]=*&valuecodes[{columns}]=*&outputFormat=json-stat2",
        "sdmx": f"/api/sdmx/data/census-sex-age/{draw.choice('12')}.{draw.choice(_CODES['age'])}",
        "heavy": draw.choice((*HEAVY, LARGEST)),
        "refused": f"/api/datasets/{dataset}/table?{wrong}",
        "garbage key": MIX[-1],
    }
    headers = {
        "page": "accept-encoding: gzip\r\n",
        "garbage key": f"authorization: Bearer garbage{draw.randrange(10**9)}\r\n",
    }
    return headers.get(kind, ""), urls[kind]


class Soak:
    """A run of requests at a bounded rate: what was answered since the last minute ended, and every hash so far."""

    def __init__(self, port: int, seed: int = SEED) -> None:
        self._port = port
        self._draw = random.Random(seed)  # noqa: S311 - requests, no secret
        self._hashes: dict[tuple[str, str], str] = {}
        self.statuses: Counter[int] = Counter()
        self.wrong = 0

    async def run(self, seconds: float, rate: float = RATE) -> None:
        """Start requests at this rate; each takes its own connection and none waits for another."""
        begin, started = time.monotonic(), 0
        running: set[asyncio.Task[None]] = set()
        while (passed := time.monotonic() - begin) < seconds:
            if started <= passed * rate and len(running) < 64:
                task = asyncio.create_task(self._send(*request(self._draw)))
                running.add(task)
                task.add_done_callback(running.discard)
                started += 1
            else:
                await asyncio.sleep(0.5 / rate)
        await asyncio.gather(*running)

    async def _send(self, headers: str, url: str) -> None:
        site, connection = Site(self._port, headers), None
        try:
            connection = await asyncio.wait_for(site.connect(), PATIENCE)
            status, digest, _ = await asyncio.wait_for(ask(site, connection, url), PATIENCE)
        except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
            self.statuses[0] += 1
            return
        finally:
            if connection is not None:
                connection[1].close()
        self.statuses[status] += 1
        if status == 200:
            self.wrong += self._hashes.setdefault((headers, url), digest) != digest

    def take(self) -> tuple[Counter[int], int]:
        """The statuses and the wrong responses since the last call."""
        found = self.statuses, self.wrong
        self.statuses, self.wrong = Counter(), 0
        return found


def measure(wish: Wish, seconds: float = 60.0) -> Iterator[Result]:
    """Serve the demo with two processes and yield one result per minute; `repeats` is the number of minutes."""
    with tempfile.TemporaryDirectory() as name:
        workspace = build_demo(Path(name), wish.say)
        with serving(workspace) as (port, memory):
            yield from minutes(Soak(port), memory, wish.repeats or MINUTES, seconds)


def minutes(soak: Soak, memory: Memory, count: int, seconds: float) -> Iterator[Result]:
    """One result per period of a soak."""
    with asyncio.Runner() as runner:
        for minute in range(1, count + 1):
            memory.most = 0.0
            runner.run(soak.run(seconds))
            statuses, wrong = soak.take()
            yield {
                "minute": minute,
                "answers": statuses[200],
                "refused": sum(n for status, n in statuses.items() if 400 <= status < 500),
                "busy": statuses[503],
                "failed": sum(n for status, n in statuses.items() if status == 0 or status >= 500)
                - statuses[503],
                "wrong": wrong,
                "pss": round(memory.now(), 1),
                "rss": round(memory.now("Rss"), 1),
                "most": round(memory.most, 1),
            }


def document(_table: list[str], results: list[Result]) -> str:
    """The page of a run: its totals, and memory every ten minutes."""
    count = {
        key: sum(each[key] for each in results) for key in ("answers", "refused", "busy", "failed", "wrong")
    }
    settled = results[min(SETTLED, len(results)) - 1]
    last = results[-1]
    most = max(each["most"] for each in results)
    shown = [each for each in results if each["minute"] in {1, 5} or each["minute"] % 10 == 0]
    lines = ["| minute | PSS | RSS | peak PSS of the minute |", "|--:|--:|--:|--:|"]
    lines += [
        f"| {each['minute']} | {each['pss']:,.0f} MB | {each['rss']:,.0f} MB | {each['most']:,.0f} MB |"
        for each in shown
    ]
    drift = 100 * (last["pss"] - settled["pss"]) / settled["pss"]
    paragraphs = (
        f"# Memory over {len(results)} minutes",
        "`discreet bench soak --out docs/evidence/soak.md` serves the demo with two processes and the settings of "
        f"`deploy/`, sends {RATE:.0f} requests per second, and records the memory of all processes every minute in "
        "`soak.json`. Most requests are new to the caches: pages, downloads in every format, filtered tables, tests, "
        "intervals, charts, fitted and large tables, PxWebApi, SDMX, refused requests and garbage API keys.",
        f"{count['answers']:,} requests were answered, {count['refused']:,} were refused as they should be, "
        f"{count['busy']:,} met a deliberate 503, and {count['failed']:,} were not complete after {PATIENCE:.0f} seconds. "
        f"{count['wrong']:,} responses differed from an earlier response to the same request.",
        f"Memory (PSS) was {settled['pss']:,.0f} MB after {settled['minute']} minutes and {last['pss']:,.0f} MB at the "
        f"end ({drift:+.1f} %); the peak was {most:,.0f} MB.",
        "\n".join(lines),
        "PSS counts memory shared between processes once; RSS counts it in every process.",
    )
    return "\n\n".join(paragraphs) + "\n"


def _column(key: str) -> Callable[[Result], str]:
    return figure(key, "{:,}")


PART = Part(
    measure,
    {
        "minute": lambda result: str(result["minute"]),
        **{key: _column(key) for key in ("answers", "refused", "busy", "failed", "wrong")},
        "PSS": figure("pss", "{:,.0f} MB"),
        "RSS": figure("rss", "{:,.0f} MB"),
        "peak PSS": figure("most", "{:,.0f} MB"),
    },
    document=document,
)
