"""Nothing true leaves a server: random requests over every face, by every role, scanned with logs, metrics and traces.

`make drills` asks 10,000 times. What is scanned for stands in `canaries`, what is asked in `every_face`.
"""

from __future__ import annotations

import io
import json
import logging
import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.conftest import SECRET_BYTES
from tests.drills.canaries import (
    Canaries,
    canary_workspace,
    contents,
    is_derived,
    keys_of_records,
    more_than_chance,
    numbers_in,
    secret_words,
    watch_keys,
    without_derived,
)
from tests.drills.every_face import FACES, FORMATS, Asked, chart, hostile, random_asked

from discreet.protect import cell_keys, protector
from discreet.release.dataset_registry import open_registry
from discreet.web import responses as answer
from discreet.web import telemetry as tracing
from discreet.web.app import create_app
from discreet.web.audit.log import AuditLog
from discreet.web.lifespan import open_state
from discreet.web.telemetry import Metrics, start_tracing
from discreet.workspace.options import read_options

pytestmark = [pytest.mark.drill, pytest.mark.slow]

DATASETS = ("plain", "plain", "ruled", "closed", "survey", "guarded", "elsewhere")
#: Who asks, and how often.
ASKERS = {None: 40, "reader": 15, "analyst": 25, "custodian": 12, "wrong": 4, "nearly": 4}
#: Of a line of the log: when, how long, which one, and how many bytes were sent.
NOT_OF_RECORDS = {"at", "ms", "seq", "bytes", "line"}


@dataclass
class Scan:
    """A server, everything that it says, and what of it is true."""

    client: TestClient
    canaries: Canaries
    keys: dict[str, str]
    seen: Counter = field(default_factory=Counter)
    leaks: list[tuple[str, str]] = field(default_factory=list)
    #: Numbers of the dataset under `dp`: some are multiples by chance.
    under_dp: set[int] = field(default_factory=set)
    size: int = 0
    lines: int = 0
    spans: int = 0

    def ask(self, face, asked, who=None):
        """Ask, and scan the answer: its status, headers and body, unpacked."""
        headers = asked.headers | ({"authorization": f"Bearer {self.keys[who]}"} if who else {})
        answered = self.client.request(asked.method, asked.path, headers=headers, content=asked.body)
        self.seen[face, answered.status_code // 100] += 1
        self.seen["status", answered.status_code] += 1
        media = answered.headers.get("content-type", "")
        length = {"content-length"}  # of what was sent
        told = "\n".join(f"{name}: {text}" for name, text in answered.headers.items() if name not in length)
        self.look(asked.path, told.encode())
        whole = answered.status_code == 200  # a part of a packed file cannot be unpacked
        for content in contents(answered.content, media) if whole else [answered.content]:
            grouped, noisy = "html" in media or "svg" in media, "guarded" in asked.path
            kept = content if answered.status_code == 206 else without_derived(content, media)
            public = asked.path.partition("?")[0].endswith("/noise")
            derived = noisy or is_derived(asked.path)
            self.look(asked.path, kept, grouped=grouped, derived=derived, public=public)
            if noisy and not public:
                self.under_dp |= numbers_in(kept.decode("utf-8", "replace"), grouped=grouped)
        if who is None:
            self.tells_nobody(asked.path, answered.content)
        return answered

    def look(self, where, content, **how):
        self.size += len(content)
        self.leaks += [(where, found) for found in self.canaries.found_in(content, **how)]

    def tells_nobody(self, where, content):
        """The name of an account is for its owner, for custodians and for the log."""
        if b"zq7" in content:
            self.leaks.append((where, "the name of an account"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A workspace with canaries, by step."""
    made = {}

    def fill(step):
        if step not in made:
            folder = tmp_path_factory.mktemp("canaries") / "w"
            made[step] = folder, canary_workspace(folder, step)
        return made[step]

    return fill


@contextmanager
def scanning(filled, step, monkeypatch):
    """A server over the canaries, with its log, its metrics and its traces; all of them are scanned in the end."""
    folder, keys = filled(step)
    canaries = Canaries(step, secret_words(keys.values()), keys_of_records(step))
    watch_keys(canaries, monkeypatch)
    registry = open_registry(folder, threads=1)
    options = replace(read_options(folder), pxweb_calls=1_000_000)
    said, spans = io.StringIO(), InMemorySpanExporter()
    handler = logging.StreamHandler(said)
    logging.getLogger().addHandler(handler)
    logging.getLogger("discreet").setLevel(logging.DEBUG)
    try:
        with open_state(registry, options) as state:
            start_tracing("otlp", spans)
            client = TestClient(create_app(registry, options, state), client=("127.0.0.1", 1))
            scan = Scan(client, canaries, keys | {"wrong": "dk_wrong", "nearly": keys["analyst"][:-1] + "_"})
            yield scan
            metrics = state.metrics.text()
        told = {"metrics": metrics, "logging": said.getvalue().encode(), "traces": traced(spans)}
        for where, text in told.items():
            scan.look(where, text)
        scan.tells_nobody("metrics and traces", metrics + traced(spans))
        lines = logged(state.folder / "log")
        scan.look("log", lines)
        scan.lines, scan.spans = len(lines.splitlines()), len(spans.get_finished_spans())
    finally:
        start_tracing(None)
        logging.getLogger().removeHandler(handler)
        logging.getLogger("discreet").setLevel(logging.NOTSET)
        registry.close()


def traced(spans):
    """What a collector of traces gets, without times."""
    kept = ("name", "attributes", "events", "status", "resource")
    documents = [json.loads(each.to_json()) for each in spans.get_finished_spans()]
    return json.dumps([{name: each.get(name) for name in kept} for each in documents]).encode()


def logged(folder):
    """The lines of the log without what follows from the clock and from lengths."""
    lines = [
        json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    kept = ({name: told for name, told in line.items() if name not in NOT_OF_RECORDS} for line in lines)
    return "\n".join(map(json.dumps, kept)).encode()


def random_scan(scan, requests, seed=18):
    """Ask so many random requests, by every role."""
    rng = random.Random(seed)
    for _ in range(requests):
        scan.ask(*random_asked(rng, DATASETS), rng.choices(*zip(*ASKERS.items(), strict=True))[0])


def test_nothing_true_leaves_by_any_face(filled, drill, monkeypatch, capfd):
    requests = drill.times(300, 10_000)
    with scanning(filled, drill.times(1_009, 10_007), monkeypatch) as scan:
        random_scan(scan, requests)
    out, err = capfd.readouterr()
    scan.look("stdout and stderr", (out + err).encode())
    assert not scan.leaks, "\n".join(map(str, scan.leaks[:20]))
    assert not more_than_chance(scan.under_dp, scan.canaries.step)
    statuses = {status: number for (what, status), number in scan.seen.items() if what == "status"}
    assert {200, 400, 401, 403, 404} <= set(statuses)
    assert max(statuses) < 500
    assert all(scan.seen[face.__name__, 2] for face in FACES if face not in {hostile, chart})
    assert scan.lines > requests * 0.9
    drill.note(
        requests=requests,
        answered=sum(n for status, n in statuses.items() if status < 400),
        refused=sum(n for status, n in statuses.items() if status >= 400),
        lines_of_the_log=scan.lines,
        spans=scan.spans,
        megabytes=round(scan.size / 1e6),
        numbers_looked_at=scan.canaries.looked_at,
        different_numbers_under_dp=len(scan.under_dp),
        keys_looked_for=len(scan.canaries.numbers),
        found=0,
    )


TABLE = "/api/datasets/plain/table?rows=sex&columns=age&lang=de&format="


def no_noise(monkeypatch):
    monkeypatch.setattr(protector, "add_noise", lambda exact, *_given, **_named: exact.start(in_place=True))
    return [TABLE + form for form in FORMATS] + [TABLE + "svg", "/datasets/plain?rows=sex&columns=age"]


def key_in_a_log_line(monkeypatch):
    own = cell_keys.hash_words

    def told(*given):
        keys = own(*given)
        logging.getLogger("discreet.server").debug("the key is %d", keys.ravel()[0])
        return keys

    monkeypatch.setattr(cell_keys, "hash_words", told)
    return [TABLE + "csv"]


def secret_in_a_header(monkeypatch):
    monkeypatch.setattr(answer, "CACHE_CONTROL", f"public, {SECRET_BYTES.hex()}")
    return [TABLE + "csv"]


def count_in_the_log(monkeypatch):
    own = AuditLog.add
    monkeypatch.setattr(AuditLog, "add", lambda self, line: own(self, line | {"people": 5045}))
    return [TABLE + "csv"]


def count_in_a_metric(monkeypatch):
    own = Metrics.observe
    monkeypatch.setattr(Metrics, "observe", lambda self, line: own(self, line | {"route": "5045 people"}))
    return [TABLE + "csv"]


def count_in_a_trace(monkeypatch):
    monkeypatch.setattr("discreet.web.audit.log.span", lambda name: tracing.span(f"{name} of 5045"))
    return [TABLE + "csv"]


LEAKS = [
    key_in_a_log_line,
    secret_in_a_header,
    count_in_a_metric,
    count_in_a_trace,
    no_noise,
    count_in_the_log,
]


@pytest.mark.parametrize("leak", LEAKS)
def test_one_leak_is_found(filled, monkeypatch, leak):
    """Wrong alternatives: one true number in a document of any format, a log line, a header, a metric or a trace."""
    paths = leak(monkeypatch)
    with scanning(filled, 1_009, monkeypatch) as scan:
        for path in paths:
            before = len(scan.leaks)
            assert scan.ask(leak.__name__, Asked(path)).status_code == 200
            assert leak is not no_noise or len(scan.leaks) > before, path
    assert scan.leaks
