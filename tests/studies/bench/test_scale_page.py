"""The page is what its record says: no number of it is written by hand."""

import json
from pathlib import Path

import pytest

from discreet_studies.bench.scale_page import PEOPLE, document

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "how-it-scales.md"


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
