"""Pictures of reproduced papers, attacks and growth render, and show the numbers of what they draw."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.studies.test_exhibit import exhibit_of

from discreet.pictures.drawing import render
from discreet_studies.pictures.attacks import NAMES, bob_success
from discreet_studies.pictures.boxes import five_numbers, outside
from discreet_studies.pictures.scale import pictures

SHOWN = {
    ("rinott2018", "table 2"): "Laplace noise stays nearer",
    ("rinott2018", "figure 1"): "Cramér's V",
    ("rinott2018", "figure 2"): "p-value of Pearson's test",
    ("rinott2018", "figure 3"): "Loss l3",
    ("rinott2018", "figure 4"): "H0: p = 0.7 (false)",
    ("rinott2018", "section 7"): "Everything, each on its own",
    ("shlomo2019", "table 2"): "Residual by 15",
    ("shlomo2019", "figure 1"): "Drop/add-up-to-q",
    ("shlomo2019", "figure 2"): "A strong relation is seen",
    ("shlomo2019", "figure 3"): "PRAM Avg cell",
    ("shlomo2019", "figure 4"): "Naive p-values fall",
    ("bailie2020", "table 2"): "An invariant makes the estimate useful",
}


def words_of_chart(chart):
    svg = render(chart, "svg").decode("utf-8")
    assert not re.search(r"\bNaN\b|Infinity", svg)
    return re.sub(r"<[^>]+>", " ", svg).replace("&#39;", "'").replace("&apos;", "'")


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), SHOWN)
def test_a_picture_renders_with_its_words(paper, name):
    assert SHOWN[paper, name] in words_of_chart(exhibit_of(paper, name).picture())


CLAIM = {"epsilon": 1.0, "delta": 1e-9, "neighbours": "replace-one", "sentence": ""}


def point(pairs, success, **more):
    return {"pairs": pairs, "success": success, "low": success - 0.02, "high": min(1, success + 0.02)} | more


BOB = {
    "targets": 50,
    "baseline": {"protection": "unprotected", "curve": [point(1, 1.0), point(2, 1.0)]},
    "results": [
        {"protection": "cellkey", "curve": [point(1, 0.93), point(2, 1.0)]},
        {"protection": "dp", "claim": CLAIM, "curve": [point(1, 0.52, bound=0.6), point(2, 0.55, bound=0.7)]},
    ],
}


def layers(specification):
    for chart in specification.get("hconcat", [specification]):
        for layer in chart["layer"]:
            yield from layer.get("layer", [layer])


def records(specification):
    return [specification["datasets"][layer["data"]["name"]] for layer in layers(specification)]


def labels(specification):
    """The names at the ends of lines."""
    return [
        {record["name"]: record["y"] for record in found}
        for found, layer in zip(records(specification), layers(specification), strict=True)
        if layer["mark"]["type"] == "text" and "name" in found[0]
    ]


def test_bobs_picture_has_every_point_the_bound_and_a_name_for_each_line():
    specification = bob_success(BOB).to_dict()
    drawn = records(specification)
    lines = next(found for found in drawn if "low" in found[0])
    assert [(r["x"], r["y"]) for r in lines] == list(
        zip([1, 2] * 3, [1, 1, 0.93, 1, 0.52, 0.55], strict=True)
    )
    assert [r["y"] for r in next(found for found in drawn if "floor" in found[0])] == [0.6, 0.7]
    (names,) = labels(specification)
    assert set(names) == {NAMES["unprotected"], NAMES["cellkey"], NAMES["dp"] + ", ε = 1"}
    bare = BOB | {"baseline": None, "results": BOB["results"][:1]}
    assert render(bob_success(bare), "svg").startswith(b"<svg")


RECORD = Path(__file__).parents[2] / "docs" / "evidence" / "how-it-scales.json"
SHOWN_GROWTH = {
    "records": "A table's time as the records grow",
    "cells": "Variables crossed",
    "loads": "Peak memory, MB",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN_GROWTH)
def test_a_picture_of_growth_is_the_one_of_the_record(name):
    chart = pictures(json.loads(RECORD.read_text()))[name]
    words = words_of(render(chart, "svg"))
    assert SHOWN_GROWTH[name] in words
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
