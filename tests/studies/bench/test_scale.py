"""The measurement of growth, on small censuses: every curve has its points. No time is asserted."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet_studies.bench import scale
from discreet_studies.bench.scale import CELLS, CROSSED
from discreet_studies.bench.scale_page import document
from discreet_studies.bench.tables import WORK, peak_of

pytestmark = pytest.mark.slow


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
