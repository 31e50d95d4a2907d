"""The pictures of attacks draw the study's own numbers, and name every line where it ends."""

from discreet.pictures.drawing import render
from discreet_studies.pictures.attacks import NAMES, bob_success

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
