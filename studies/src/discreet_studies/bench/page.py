"""The pages in a real browser: how much a first visit loads, how soon a table is painted, how smoothly a large one scrolls.

Chromium is driven by Playwright over the demo census. Bytes are those on the wire, compressed. A click is timed inside the
page, from the click to the second frame after the new table stands in it. A long task is a piece of work of the browser's
main thread over 50 ms; while one runs, nothing moves.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingExtra
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet_studies.bench.part import Part, Result, Wish

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


ROWS, REPEATS = 1_500_000, 5
#: What is promised: kilobytes and requests of a first visit, and milliseconds.
MOST_KILOBYTES, MOST_REQUESTS, MOST_TO_PAINT, MOST_TASK = 45, 10, 200, 100
FIRST = {"First visit, first page": "/", "First visit, a table": "/datasets/census?rows=region&columns=sex"}
#: Tables that follow each other by a click.
CLICKED = ("rows=employment&columns=sex", "rows=education&columns=sex", "rows=age&columns=employment")
#: 3,750 small areas by occupation and sex, with totals: 146,289 cells of the whole demo census.
LARGE = "/datasets/census?rows=area&columns=occupation,sex"
_ABOUT = (
    "# The pages, measured in a browser",
    "",
    "`discreet bench page --out docs/evidence/page-benchmarks.md` writes this page, and the same as JSON beside it. It "
    "loads the demo census, serves it and drives the system's Chromium with an empty cache. Kilobytes are those on the "
    "wire, compressed. A click is timed inside the page, from the click to the second frame after the new table stands "
    "in it, for tables that were asked for before. A long task is a piece of work of the browser's main thread over "
    "50 ms: 0 means that there was none. Times depend on the machine and on what else it does; kilobytes and requests do "
    "not, and tests hold them to what is promised.",
    "",
)
_CLICK = """
async address => {
  const link = Object.assign(document.createElement("a"), { href: address });
  link.dataset.live = "";
  document.body.append(link);
  const shown = new Promise(done => document.addEventListener("shown", done, { once: true }));
  const start = performance.now();
  link.click();
  await shown;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - start;
}
"""
_SCROLL = """
async () => {
  const tall = [...document.querySelectorAll("*")].filter(e => e.scrollHeight > e.clientHeight + 2000 && e.clientHeight);
  const region = tall.sort((a, b) => b.scrollHeight - a.scrollHeight)[0] ?? document.scrollingElement;
  const tasks = [];
  const seen = list => tasks.push(...list.getEntries().map(e => e.duration));
  new PerformanceObserver(seen).observe({ entryTypes: ["longtask"] });
  for (let step = 1; step <= 100; step += 1) {
    region.scrollTop = (region.scrollHeight - region.clientHeight) * step / 100;
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)));
  }
  await new Promise(done => setTimeout(done, 500));
  return { tasks, nodes: document.querySelectorAll("*").length };
}
"""


def measure(wish: Wish) -> Iterator[Result]:
    """Load the demo census, serve it, and look at its pages."""
    rows, repeats = wish.rows[0] if wish.rows else ROWS, wish.repeats or REPEATS
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        wish.say(f"The census of {rows:,} persons is loaded")
        load_dataset(Path(name), census_description(rows), census_batches(rows))
        with served(Path(name)) as base:
            for what, path in FIRST.items():
                found = loaded(browser, base + path)
                yield _result(f"{what}: compressed", found["kilobytes"], "kB", MOST_KILOBYTES)
                yield _result(f"{what}: requests", found["requests"], "", MOST_REQUESTS)
            yield _result(
                "From click to painted table, median", _clicks(browser, base, repeats), "ms", MOST_TO_PAINT
            )
            scrolled = _scrolled(browser, base)
            yield _result(
                "Longest task while more than 100,000 cells scroll",
                max(scrolled["tasks"], default=0),
                "ms",
                MOST_TASK,
            )
            yield _result("Elements on that page", scrolled["nodes"], "", None)


def loaded(browser: Browser, address: str) -> dict[str, float]:
    """What a first visit of a page loads: kilobytes on the wire, and requests."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    ended: list[float] = []
    session.on("Network.loadingFinished", lambda event: ended.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    context.close()
    sent = [size for size in ended if size]  # a second use of the mark comes from the browser's own memory
    return {"kilobytes": round(sum(sent) / 1000, 1), "requests": len(sent)}


def _clicks(browser: Browser, base: str, repeats: int) -> float:
    """The median time from a click to the painted table, each table counted before once."""
    page = _opened(browser, f"{base}/datasets/census?rows=region&columns=sex")
    addresses = [f"{base}/datasets/census?{query}" for query in CLICKED]
    for address in addresses:
        page.evaluate(_CLICK, address)
    times: list[float] = [page.evaluate(_CLICK, address) for _ in range(repeats) for address in addresses]
    page.context.close()
    return statistics.median(times)


def _scrolled(browser: Browser, base: str) -> dict[str, Any]:
    page = _opened(browser, base + LARGE)
    page.wait_for_timeout(1000)
    found: dict[str, Any] = page.evaluate(_SCROLL)
    page.context.close()
    return found


def _opened(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return page


@contextmanager
def chromium(*switches: str) -> Iterator[Browser]:
    """The browser: the one that DISCREET_CHROMIUM names, or the system's; with switches of its command line."""
    path = os.environ.get("DISCREET_CHROMIUM") or shutil.which("chromium")
    if not path or find_spec("playwright") is None:
        raise MissingExtra(
            "The pages are measured by Playwright in Chromium, and one of them is not here.",
            "Run `pip install playwright`, and install Debian's `chromium` or set DISCREET_CHROMIUM to its path.",
        )
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an optional package

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", *switches])
        yield browser
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A workspace, served by a process of its own: its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    run = "from discreet.cli.main import run; run()"
    words = [sys.executable, "-c", run, "serve", "--workspace", str(folder), "--port", str(port)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None  # noqa: S101 - it is a pipe
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def document(table: list[str], _results: list[Result]) -> str:
    """The page of docs/evidence that has the results."""
    return "\n".join([*_ABOUT, *table, ""])


def _result(what: str, value: float, unit: str, most: float | None) -> Result:
    return {"what": what, "value": round(value, 1), "unit": unit, "most": most}


def _text(number: float | None, unit: str) -> str:
    return "" if number is None else f"{number:,.{0 if number == int(number) else 1}f} {unit}".strip()


PART = Part(
    measure,
    {
        "what": lambda result: str(result["what"]),
        "measured": lambda result: _text(result["value"], result["unit"]),
        "promised, at most": lambda result: _text(result["most"], result["unit"]),
    },
    document,
    takes_rows=True,
)
