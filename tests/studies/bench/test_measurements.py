"""Each part of the benchmark measures what it says, and the pages of results follow from their records."""

import asyncio
import json
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import MissingExtra
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet_studies.bench import engines, joint, loading, margins, scale, startup, tables, tests_size, wide
from discreet_studies.bench.load_generator import Site, references, run_clients
from discreet_studies.bench.part import Wish
from discreet_studies.bench.peers import cellkey_seconds, load_ons, load_opendp
from discreet_studies.bench.scale import CELLS, CROSSED
from discreet_studies.bench.scale_page import PEOPLE, document
from discreet_studies.bench.size_grid import GRID, Point
from discreet_studies.bench.startup import commands
from discreet_studies.bench.tables import LOAD, WORK, peak_of, timings
from discreet_studies.bench.tests_size import p_values
from discreet_studies.bench.timing import LIMIT, POINTS, in_pairs, largest_t, measure, welch

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_measured_error_is_near_the_expected_one():
    exact = margins.count(margins.records())
    found = margins.ours("optimum", margins.DELTA, exact, 3)
    assert found["measured_error"] == pytest.approx(found["expected_error"], rel=0.1)


def test_the_demo_has_the_errors_that_docs_quote():
    by_tables, by_cells = joint.census()
    record = json.loads((ROOT / "docs" / "evidence" / "joint.json").read_text("utf-8"))
    quoted = {each["what"]: each["expected_error"] for each in record}
    for found in (by_tables, by_cells):
        assert quoted[found["what"]] == pytest.approx(found["expected_error"], abs=0.005)


@pytest.mark.slow
def test_an_engine_is_compared_with_its_own_count(monkeypatch):
    monkeypatch.delenv("DISCREET_POSTGRES", raising=False)
    kinds = [kind for kind in engines.engine_kinds() if kind.name in {"parquet", "postgres"}]
    monkeypatch.setattr(engines, "engine_kinds", lambda: kinds)
    said = []
    found = list(engines.measure(Wish(rows=(20_000,), repeats=1, say=said.append)))
    assert [(each["engine"], each["work"]) for each in found] == [("parquet", work) for work in WORK]
    assert all(each["ratio"] == each["ours_s"] / each["bare_s"] > 0 for each in found)
    assert any(line.startswith("postgres: left out") for line in said)


@pytest.mark.slow
def test_a_small_run_reports_every_piece_of_work(tmp_path, monkeypatch):
    # A process for the memory of each table would take most of the time: the load and one table show it.
    monkeypatch.setattr(
        tables, "peak_of", lambda *given: peak_of(*given) if given[-1] in {"20000", "age"} else 99.0
    )
    found = list(timings(20_000, tmp_path, repeats=1))
    assert [timing.work for timing in found] == [LOAD, *WORK]
    for timing in found[1:]:
        assert timing.ratio_duckdb == pytest.approx(timing.ours_s / timing.duckdb_s, rel=0.05)
        assert timing.ratio_ons == pytest.approx(timing.ons_s / timing.ours_s, rel=0.05)
        assert timing.peak_mb > 0
    keys = {"work", "rows", "ours_s", "duckdb_s", "ons_s", "ratio_duckdb", "ratio_ons", "peak_mb"}
    assert set(found[1].as_json()) == keys


@pytest.mark.parametrize(
    ("load", "package", "option"),
    [(load_ons, "cell_key_perturbation", "--no-ons"), (load_opendp, "opendp", "--no-opendp")],
)
def test_a_missing_peer_is_named(monkeypatch, load, package, option):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match="not installed") as error:
        load()
    assert option in error.value.advice


@pytest.mark.parametrize(
    ("says", "seconds"), [("echo seconds 1.5", 1.5), ("echo no cellKey; exit 1", None), (None, None)]
)
def test_r_is_asked_and_need_not_have_it(monkeypatch, tmp_path, says, seconds):
    """A stand-in for Rscript: what is timed is R's, and an R without cellKey is left out."""
    path = tmp_path / "Rscript"
    if says is not None:
        path.write_text(f"#!/bin/sh\n{says}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if says else str(tmp_path))
    frame = pd.DataFrame({"sex": [0, 1], "record_key": [3, 255]})
    assert cellkey_seconds(frame, ["sex"]) == seconds


@pytest.mark.slow
def test_files_and_commands_and_formats_are_measured(tmp_path, monkeypatch):
    """One file, one command and one format are measured in processes; the others show that each has its line."""
    run, seconds, write = loading.run, startup.cpu_seconds, wide._run
    monkeypatch.setattr(
        loading, "run", lambda *given: run(*given) if given[1].suffix == ".csv" else (1.0, 1.0, 11.0)
    )
    monkeypatch.setattr(
        startup, "cpu_seconds", lambda words, folder: seconds(words, folder) if words[1] == "pass" else 1.0
    )
    written = {"seconds": 1.0, "cpu_s": 1.0, "file_mb": 1.0, "peak_mb": 1}
    monkeypatch.setattr(
        wide, "_run", lambda folder, form: write(folder, form) if form == wide.FORMATS[0] else written
    )
    quiet = Wish(rows=(1000,), repeats=1, say=lambda _what: None)
    files = list(loading.measure(quiet))
    assert [result["file"] for result in files] == ["csv", "parquet"]
    assert all(result["load_mb"] > 10 and result["ratio"] > 0 for result in files)
    assert [result["what"] for result in startup.measure(quiet)] == list(commands(tmp_path))
    found = list(wide.measure(quiet))
    assert [line["format"] for line in found] == list(wide.FORMATS)
    assert all(line["cells"] > line["listed"] > 0 and line["peak_mb"] > 0 for line in found)


@pytest.mark.slow
def test_every_curve_is_measured_and_written(tmp_path, monkeypatch):
    # A process for the memory of each table would take most of the time.
    monkeypatch.setattr(
        scale, "peak_of", lambda what, *rest: peak_of(what, *rest) if what == "load" else 99.0
    )
    # One other engine shows that each has its points; Spark would start twice for its own.
    others = [kind for kind in scale.engine_kinds() if kind.name in {"duckdb", "parquet"}]
    monkeypatch.setattr(scale, "engine_kinds", lambda: others)
    out = tmp_path / "scale.md"
    words = ["bench", "scale", "--rows", "110000,100000", "--repeats", "1", "--out", str(out), "--json"]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output
    points = json.loads(out.with_suffix(".json").read_text())
    by_curve = {
        curve: [p for p in points if p["curve"] == curve]
        for curve in dict.fromkeys(p["curve"] for p in points)
    }
    own = [p for p in by_curve["records"] if p["by"] == "duckdb"]
    assert len(own) == 2 * len(WORK)
    assert {p["by"] for p in by_curve["load"]} == {"duckdb", "parquet"}
    assert len(by_curve["cells"]) == len(CELLS)
    assert [p["what"].count(" x ") for p in by_curve["dimensions"]] == list(range(len(CROSSED)))
    assert {p["records"] for p in by_curve["load"]} == {100_000, 110_000}
    assert [p["what"] for p in by_curve["reading"]][1:] == ["counted", "protected, as for the first time"]
    assert "ONS cell-key-perturbation" in {p["by"] for p in by_curve["peers"]}
    assert all(p["ratio"] == pytest.approx(p["seconds"] / p["bare_s"]) for p in own)
    assert all(p["peak_mb"] > 50 for p in own + by_curve["load"])
    assert out.read_text() == document([], points)
    for name in ("records", "cells", "loads"):
        assert b"</svg>" in (tmp_path / f"scale-{name}.svg").read_bytes()


@pytest.mark.browser
@pytest.mark.slow
def test_every_line_is_measured_and_written(tmp_path):
    """No time is asserted: a busy machine is no fault of the pages."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    from typer.testing import CliRunner

    from discreet.cli.main import app

    out = tmp_path / "page.md"
    run = CliRunner().invoke(app, ["bench", "page", "--rows", "60000", "--repeats", "1", "--out", str(out)])
    assert run.exit_code == 0, run.output
    lines = json.loads(out.with_suffix(".json").read_text())
    assert [line["unit"] for line in lines] == ["kB", "", "kB", "", "ms", "ms", ""]
    bounded = [line for line in lines if line["unit"] != "ms" and line["most"] is not None]
    assert all(0 < line["value"] <= line["most"] for line in bounded)
    assert lines[4]["value"] > 0
    assert all(line["what"] in out.read_text() for line in lines)


PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "how-it-scales.md"


@pytest.fixture(scope="module")
def record():
    return json.loads(PAGE.with_suffix(".json").read_text())


def test_the_page_follows_from_the_record(record):
    assert PAGE.read_text() == document([], record)


def test_a_changed_figure_changes_the_page(record):
    """A page that was edited by hand, or that quotes another run, would pass otherwise."""
    for place, point in enumerate(record):
        other = [*record[:place], {**point, "seconds": 3 * point["seconds"]}, *record[place + 1 :]]
        assert document([], other) != document([], record), point


def test_the_record_holds_what_is_promised(record):
    """Ratios of one run: protected tables against DuckDB's bare count, the table of a million cells included."""
    most = max(point["records"] for point in record)
    own = [p for p in record if p["curve"] == "records" and p["by"] == "duckdb" and p["records"] == most]
    assert most >= 10_000_000
    assert max(p["cells"] for p in own) > 1_000_000
    assert all(p["ratio"] <= 1.0 for p in own)
    load = next(p for p in record if p["curve"] == "load" and p["records"] == most and p["by"] == "duckdb")
    assert load["peak_mb"] < 900


def test_the_plan_is_arithmetic_with_the_rates_of_the_record(record):
    load = max(
        (p for p in record if p["curve"] == "load" and p["by"] == "duckdb"), key=lambda p: p["records"]
    )
    cores = int(next(p for p in record if p["curve"] == "machine")["by"].split()[0])
    hours = PEOPLE * load["seconds"] / load["records"] * cores / 3600
    assert f"{hours:,.1f} hours of one core" in PAGE.read_text()
    assert f"{PEOPLE * load['bytes_a_record'] / 1e9:,.0f} GB" in PAGE.read_text()


async def served(answers, run):
    """Run something against a server that gives these answers one after the other, for ever."""

    async def answer(reader, writer):
        while (await reader.readline()).strip():
            while (await reader.readline()).strip():
                pass
            writer.write(answers[min(len(asked), len(answers) - 1)])
            asked.append(1)
        writer.close()

    asked = []
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        return await run(server.sockets[0].getsockname()[1])


def plain(body, status=200):
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


CHUNKED = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


def test_the_same_bytes_in_chunks_are_the_same_bytes_and_others_are_wrong():
    async def run(port):
        expected = await references(Site(port), ["/"])
        return await run_clients(Site(port), expected, 1, 0.3, 0.01)

    right = asyncio.run(served([plain(b"abc"), CHUNKED], run))
    assert (right.wrong, set(right.statuses)) == (0, {200})
    wrong = asyncio.run(served([plain(b"abc"), CHUNKED.replace(b"ab", b"ax")], run))
    assert wrong.wrong == wrong.statuses[200] > 0
    busy = asyncio.run(served([plain(b"abc"), plain(b"no", 503)], run))
    assert (busy.wrong, set(busy.statuses)) == (0, {503})


#: Of the comparison of works that take as long: |t| above 4.5 of some 20 independent quantiles.
FALSE_ALARM = 2e-4
KEY = "dk_a-key-of-thirty-two-characters"


class VirtualClock:
    """Nanoseconds that pass as works say, with the noise of a machine: now and then something else takes long."""

    def __init__(self, seed):
        self.now, self._rng = 0, random.Random(seed)

    def __call__(self):
        return self.now

    def spend(self, nanoseconds):
        self.now += nanoseconds + self._rng.randrange(2_000) + (self._rng.random() < 0.02) * 1_000_000


def leaky(clock, given):
    """Compares letter by letter and stops at the first that differs."""

    def work():
        same = next(
            (place for place, pair in enumerate(zip(KEY, given, strict=True)) if len(set(pair)) > 1), len(KEY)
        )
        clock.spend(10_000 + 40 * same)

    return work


def even(clock, _given):
    """Takes as long whatever is given."""
    return lambda: clock.spend(10_000)


@pytest.mark.parametrize(("comparison", "leaks"), [(leaky, True), (even, False)])
def test_a_comparison_that_stops_early_is_found_and_one_that_does_not_is_not(comparison, leaks):
    clock = VirtualClock(3)
    nearly, far = KEY[:-1] + "?", "dk_?" + KEY[4:]
    times = in_pairs(comparison(clock, nearly), comparison(clock, far), 400, clock=clock)
    assert (largest_t(*times.processor) > LIMIT) == leaks


def test_cropping_finds_what_rare_interruptions_hide():
    """Wrong alternative: Welch's t of all times, which sees the interruptions alone."""
    rng = np.random.RandomState(5)
    one, other = (10_000 + 60 * kind + rng.randint(0, 400, 2_000).astype(float) for kind in (0, 1))
    one[rng.choice(2_000, 40)] += 1e7
    other[rng.choice(2_000, 40)] += 1e7
    assert abs(welch(one, other)) < LIMIT < largest_t(one, other)


@pytest.mark.slow
def test_every_point_asks_what_it_says():
    """A work whose answer has another status than it says ends the run."""
    said = []
    results = list(measure(Wish(repeats=2, say=said.append)))
    assert [each["point"] for each in results] == list(POINTS)
    assert len(said) == len(results) + 1


def test_the_p_values_are_those_of_the_test_by_default(monkeypatch):
    seen = []

    def keep(counts, noise, rng, plain=tests_size.with_noise):
        seen.append(plain(counts, noise, rng))
        return seen[-1]

    monkeypatch.setattr(tests_size, "with_noise", keep)
    for point in (Point("maxent", (2, 2), 5), Point("maxent", (6, 8), 8)):
        found = p_values(point, 4, seed=1)
        for table, p, method in zip(seen[-1], found.aware, found.methods, strict=True):
            own = independence_test(table, point.distribution())
            assert (own.p_value, own.method) == (pytest.approx(p), method)


def test_points_of_one_shape_do_not_share_their_random_numbers():
    """The wrong way, one seed for all: both points then have the same true tables, and their errors are one error."""
    points = (Point("maxent", (6, 8), 8), Point("laplace.5", (6, 8), 8))
    one, other = (p_values(point, 5, seed=1).exact for point in points)
    assert not np.isclose(one, other).any()
    assert (p_values(points[0], 5, seed=1).exact == one).all()


def published_sizes():
    return json.loads(ROOT.joinpath("docs/evidence/tests-size.json").read_text("utf-8"))


def test_every_point_was_measured():
    results = {each["point"]: each for each in published_sizes()}
    assert set(results) == {point.name for point in GRID}
    assert min(each["tables"] for each in published_sizes()) >= 1_000


def test_the_published_sizes_reach_the_goal_and_the_chi_square_distributions_do_not():
    people = {point.name: point.people for point in GRID}
    for each in published_sizes():
        for level, most, least in ((0.05, 6.5, 3.5), (0.01, 1.6, 0.5)):
            size = each[f"size_{level:g}"]
            assert size <= most, each["point"]
            assert size >= least or people[each["point"]] < 5, each["point"]
    assert sum(each["chi_square"] > 6.5 for each in published_sizes()) > 30


@pytest.mark.parametrize("point", [GRID[0], Point("maxent", (2, 3, 2), 7, "no three-way interaction")])
def test_means_follow_the_hypothesis_unless_there_is_an_effect(point):
    rng = np.random.default_rng(2)
    means = point.means(3, rng)
    assert means.mean(axis=tuple(range(1, means.ndim))) == pytest.approx(point.people)
    assert point.model().fit(means) == pytest.approx(means)
    off = point.means(3, rng, effect=1.0)
    assert point.model().fit(off) != pytest.approx(off, rel=1e-3)
