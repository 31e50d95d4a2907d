"""The page of what was scanned, compared and timed has the times of its run, and names the faults that the scan finds."""

import json
from pathlib import Path

import pytest
from tests.drills.test_leaks import LEAKS

from discreet_studies.bench.timing import LIMIT, PAIRS, POINTS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def page():
    return (REFERENCE / "confidentiality.md").read_text("utf-8")


@pytest.fixture(scope="module")
def figures():
    return json.loads((REFERENCE / "confidentiality.json").read_text("utf-8"))


def test_every_point_was_timed_and_stays_below_the_limit(page, figures):
    assert [each["point"] for each in figures["timing"]] == list(POINTS)
    for each in figures["timing"]:
        assert each["pairs"] == PAIRS
        assert each["t"] < LIMIT
        row = next(line for line in page.splitlines() if line.startswith(f"| {each['point']} |"))
        assert f" {each['t']:.1f} |" in row
        assert f"`{each['point']}`" in page


def test_every_fault_that_is_made_on_purpose_is_named(page):
    words = (
        "count without noise",
        "cell key in a log line",
        "secret in a header",
        "log of requests",
        "metric",
        "trace",
    )
    assert len(words) == len(LEAKS)
    assert all(word in page for word in words)
