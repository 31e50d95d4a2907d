"""Additivity through the whole flow: what adds up, what stays, and what is refused."""

import numpy as np
import pytest

import discreet
from discreet.errors import BadRequest


@pytest.fixture(scope="module")
def catalogue(town_workspace):
    return discreet.open(town_workspace.folder)


REQUESTS = [
    {"rows": ["sex"], "columns": ["age"]},
    {"rows": ["area"], "columns": ["age", "job"]},
    {"rows": ["area"], "levels": {"area": ["region", "area"]}, "columns": ["sex"]},
    {"rows": ["age"], "filters": {"age": ["adult", "old"]}, "columns": ["job"]},
    {"rows": ["age"], "groups": {"age": [["child", "adult"], ["old"]]}},
]


def adds_up(release) -> bool:
    values = release.values
    for axis, dimension in enumerate(release.dimensions):
        parts: dict[int, list[int]] = {}
        for place, output in enumerate(dimension.outputs):
            parts.setdefault(output.parent, []).append(place)
        for whole, places in parts.items():
            at = len(dimension.outputs) if whole < 0 else whole
            if not np.array_equal(values.take(places, axis).sum(axis), values.take(at, axis)):
                return False
    return True


@pytest.mark.parametrize("parts", REQUESTS, ids=str)
@pytest.mark.parametrize("additivity", ["interior", "fitted"])
def test_every_total_is_the_sum_of_its_parts_at_every_level(catalogue, parts, additivity):
    release = catalogue.table("town", additivity=additivity, **parts).release
    assert adds_up(release)
    assert release.values.min() >= 0


@pytest.mark.parametrize("parts", REQUESTS, ids=str)
def test_the_unadjusted_cells_stay_the_same_whatever_is_shown(catalogue, parts):
    releases = [
        catalogue.table("town", additivity=way, **parts).release
        for way in ("independent", "interior", "fitted")
    ]
    assert releases[0].noisy.tolist() == releases[1].noisy.tolist() == releases[2].noisy.tolist()
    assert releases[0].values.tolist() == np.maximum(releases[0].noisy, 0).tolist()


def test_the_notes_say_what_was_done(catalogue):
    independent, interior, fitted = (
        catalogue.table("town", rows=["area"], columns=["age"], additivity=way)
        for way in ("independent", "interior", "fitted")
    )
    assert "adjusted separately" in independent.note
    assert "sums of the adjusted cells" in interior.note
    assert "slightly different value in another table" in fitted.note
    assert "were changed so that all totals add up" in fitted.release.notes[1]
    assert not adds_up(independent.release)


def test_the_datasets_own_way_is_no_part_of_the_question(catalogue):
    assert catalogue.table("town", rows=["sex"], additivity="independent").release.request.additivity == ""


def test_totals_that_leave_out_parts_cannot_add_up(catalogue):
    with pytest.raises(BadRequest, match="cannot add up"):
        catalogue.table("town", rows=["age"], groups={"age": [["child"]]}, additivity="fitted")
    with pytest.raises(BadRequest, match='Did you mean "fitted"'):
        catalogue.table("town", rows=["age"], additivity="fited")


def test_a_dataset_may_declare_its_own_way(town, tmp_path):
    workspace = town.load(
        tmp_path, town.description.replace("max_variables = 3", 'max_variables = 3\nadditivity = "fitted"')
    )
    release = discreet.open(workspace.folder).table("town", rows=["area"], columns=["age"]).release
    assert adds_up(release)
    assert release.request.permalink == "rows=area&columns=age"
