"""`discreet bench`: parts by their names, numbers for people or JSON alone."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from discreet_studies.bench import scale, startup, tests_size
from discreet_studies.bench.part import Part
from discreet_studies.commands import bench


@pytest.fixture
def _toy(monkeypatch):
    """A part that measures nothing."""
    results = [{"what": "nothing", "cpu_s": 0.25}]
    monkeypatch.setattr(startup, "PART", Part(lambda _wish: results, startup.PART.columns))


@pytest.mark.usefixtures("_toy")
def test_json_stands_alone_on_standard_output(run_here):
    done = run_here("bench", "startup", "--json")
    assert json.loads(done.stdout) == [{"what": "nothing", "cpu_s": 0.25}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "ten"], "whole numbers"),
        (["tabel"], 'Did you mean "tables"?'),
        (["startup", "--points", "maxent-10x10-10"], "mean nothing to startup"),
        (["startup", "--out", "x.md"], "means nothing to startup"),
        (["joint", "--rows", "1000"], "--rows means nothing to joint"),
        (["tests-size", "--points", "maxent-10x10-11"], 'Did you mean "maxent-10x10-1'),
    ],
)
def test_what_has_no_meaning_is_refused(run_here, words, said):
    done = run_here("bench", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_no_number_is_cut_at_80_columns(monkeypatch):
    results = json.loads(Path("docs/concepts/how-it-scales.json").read_text("utf-8"))
    console = Console(width=80, record=True, file=StringIO())
    monkeypatch.setattr(bench, "output", console)
    bench._show(scale.PART, results)
    said = console.export_text()
    texts = {text(each) for text in list(scale.PART.columns.values())[3:] for each in results}
    assert [text for text in texts if text not in said] == []
    plain = Table(*scale.PART.columns)  # the wrong way: all columns in one table
    for each in results:
        plain.add_row(*(text(each) for text in scale.PART.columns.values()))
    console.print(plain)
    assert "…" in console.export_text()
    assert "…" not in said


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(
    run_here, tmp_path, monkeypatch
):
    measured = []
    part = Part(lambda _wish: measured.append(1) or [], {"what": str}, lambda *_: "page")
    monkeypatch.setattr(scale, "PART", part)
    refused = run_here("bench", "scale", "--out", str(tmp_path))
    assert (refused.returncode, measured) == (2, [])
    assert run_here("bench", "scale", "--out", str(tmp_path / "new" / "page.md")).returncode == 0
    assert (tmp_path / "new" / "page.md").read_text() == "page"


def test_points_that_a_file_has_are_not_measured_again(run_here, tmp_path, monkeypatch):
    asked = []

    def measure(wish):
        asked.extend(wish.points)
        return [{"point": name, "tables": 7} for name in wish.points]

    columns = {"point": lambda r: r["point"], "tables": lambda r: str(r["tables"])}
    monkeypatch.setattr(tests_size, "PART", Part(measure, columns))
    keep = str(tmp_path / "sizes.json")
    names = "maxent-10x10-10,maxent-6x8-8"
    run_here("bench", "tests-size", "--points", "maxent-6x8-8", "--keep", keep)
    done = run_here("bench", "tests-size", "--points", names, "--keep", keep, "--markdown")
    assert asked == ["maxent-6x8-8", "maxent-10x10-10"]
    assert done.stdout.splitlines()[2:] == ["| maxent-10x10-10 | 7 |", "| maxent-6x8-8 | 7 |"]
