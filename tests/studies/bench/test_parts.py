"""Each part of the benchmark reports what it measures; a method that is measured has the error that it expects."""

import sys

import pandas as pd
import pytest

from discreet.errors import MissingExtra
from discreet_studies.bench import joint, loading, margins, startup, wide
from discreet_studies.bench.part import Wish
from discreet_studies.bench.peers import cellkey_seconds, load_ons, load_opendp
from discreet_studies.bench.startup import commands
from discreet_studies.bench.tables import LOAD, WORK, timings


@pytest.mark.slow
def test_the_measured_error_is_near_the_expected_one():
    exact = margins.count(margins.records())
    found = margins.ours("optimum", margins.DELTA, exact, 3)
    assert found["measured_error"] == pytest.approx(found["expected_error"], rel=0.1)


def test_the_demo_has_the_errors_that_docs_quote():
    by_tables, by_cells = joint.census()
    assert round(by_tables["expected_error"], 1) == 10.5
    assert round(by_cells["expected_error"], 1) == 7.7


@pytest.mark.slow
def test_a_small_run_reports_every_piece_of_work(tmp_path):
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
    """Both files are compared, one of them in processes of its own; every command is timed once."""
    run = loading.run
    monkeypatch.setattr(
        loading, "run", lambda *given: run(*given) if given[1].suffix == ".csv" else (1.0, 1.0, 11.0)
    )
    quiet = Wish(rows=(1000,), repeats=1, say=lambda _what: None)
    files = list(loading.measure(quiet))
    assert [result["file"] for result in files] == ["csv", "parquet"]
    assert all(result["load_mb"] > 10 and result["ratio"] > 0 for result in files)
    assert [result["what"] for result in startup.measure(quiet)] == list(commands(tmp_path))
    found = list(wide.measure(quiet))
    assert [line["format"] for line in found] == list(wide.FORMATS)
    assert all(line["cells"] > line["listed"] > 0 and line["peak_mb"] > 0 for line in found)
