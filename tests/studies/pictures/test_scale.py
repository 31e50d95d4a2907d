"""The pictures of growth render with their words and their numbers."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from discreet.pictures.drawing import render
from discreet_studies.pictures.boxes import five_numbers, outside
from discreet_studies.pictures.scale import pictures

RECORD = Path(__file__).parents[3] / "docs" / "concepts" / "how-it-scales.json"
SHOWN = {
    "records": "A table's time as the records grow",
    "cells": "Variables crossed",
    "loads": "Peak memory, MB",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_the_one_of_the_record(name):
    chart = pictures(json.loads(RECORD.read_text()))[name]
    words = words_of(render(chart, "svg"))
    assert SHOWN[name] in words
    assert not re.search(r"\bNaN\b|Infinity", words)
    assert words_of(RECORD.with_name(f"{RECORD.stem}-{name}.svg").read_bytes()) == words


def words_of(svg):
    return re.sub(r"<[^>]+>", " ", svg.decode()).replace("&#39;", "'").replace("&apos;", "'")


def test_whiskers_end_at_runs_and_not_at_their_reach():
    runs = [0.0, 10.0, 11.0, 12.0, 13.0, 14.0, 40.0]
    five = five_numbers(runs)
    assert (five["q1"], five["median"], five["q3"]) == tuple(np.percentile(runs, (25, 50, 75)))
    assert (five["low"], five["high"]) == (10.0, 14.0)
    assert outside(runs) == [0.0, 40.0]
