"""The pictures of attacks draw the study's own numbers, and name every line where it ends."""

from __future__ import annotations

from itertools import pairwise

import pytest

from discreet.pictures.save import render
from discreet_studies.pictures.attacks import (
    NAMES,
    averaging_error,
    bob_success,
    versions_success,
    weights_exact,
)

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


def curves(*errors):
    found = [
        {"ways": n + 1, "error": e, "low": e * 0.9, "high": e * 1.1, "exact": {"share": 0.5}}
        for n, e in enumerate(errors)
    ]
    return {"other words": found, "regroupings": found}


AVERAGING = {
    "targets": 50,
    "baseline": {"protection": "unprotected", "curves": curves(0.0, 0.0)},
    "results": [
        {"protection": "participants-and-description", "curves": curves(1.7, 1.2)},
        {
            "protection": "dp",
            "claim": CLAIM,
            "bound": {"error": 1.36, "exact": 0.46},
            "curves": curves(5.0, 4.0),
        },
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
    assert [(r["x"], r["y"]) for r in lines] == [
        (1, 1.0),
        (2, 1.0),
        (1, 0.93),
        (2, 1.0),
        (1, 0.52),
        (2, 0.55),
    ]
    assert [r["y"] for r in next(found for found in drawn if "floor" in found[0])] == [0.6, 0.7]
    (names,) = labels(specification)
    assert set(names) == {NAMES["unprotected"], NAMES["cellkey"], NAMES["dp"] + ", ε = 1"}


def test_names_do_not_stand_on_each_other():
    (names,) = labels(bob_success(BOB).to_dict())
    places = sorted(names.values())
    assert all(b - a >= 0.02 for a, b in pairwise(places))
    assert places[-1] <= 1.0


def test_the_averaging_picture_has_a_panel_for_each_kind_and_shades_what_is_out_of_reach():
    specification = averaging_error(AVERAGING).to_dict()
    assert len(specification["hconcat"]) == 2
    shaded = [found for found in records(specification) if found[0].get("high") == 1.36]
    assert len(shaded) == 2
    (names,) = labels(specification)
    assert len(names) == 3


@pytest.mark.parametrize(("draw", "study"), [(bob_success, BOB), (averaging_error, AVERAGING)])
def test_a_study_without_baseline_or_dp_is_drawn_too(draw, study):
    bare = study | {"baseline": None, "results": study["results"][:1]}
    assert render(draw(bare), "svg").startswith(b"<svg")


def test_the_picture_of_versions_has_every_point_and_a_name_for_each_line():
    point = {"tables": 1, "success": 0.4, "low": 0.3, "high": 0.5}
    results = [
        {"protection": name, "curve": [point, point | {"tables": 2}]} for name in ("keep-keys", "new-lineage")
    ]
    study = {"targets": 20, "results": results, "baseline": None}
    text = str(versions_success(study).to_dict())
    assert "the same keys in both versions" in text
    assert "a new lineage" in text
    assert text.count("'y': 0.4") >= 4


def test_the_picture_of_weights_has_every_form_and_counts_alone():
    def curve(*shares):
        return [
            {"tables": n + 1, "exact": e, "low": e - 0.02, "high": e, "counts_alone": 0.4}
            for n, e in enumerate(shares)
        ]

    study = {
        "surveys": 2,
        "people": 1500,
        "baseline": None,
        "results": [
            {"protection": "cell-average", "curve": curve(1.0, 1.0)},
            {"protection": "largest-weight", "curve": curve(0.2, 0.2)},
        ],
    }
    specification = weights_exact(study).to_dict()
    (names,) = labels(specification)
    assert set(names) == {"cell-average *", "largest-weight", "counts alone"}
    lines = next(found for found in records(specification) if "low" in found[0])
    assert [(r["x"], r["y"]) for r in lines][:2] == [(1, 1.0), (2, 1.0)]
    assert render(weights_exact(study), "svg").startswith(b"<svg")
