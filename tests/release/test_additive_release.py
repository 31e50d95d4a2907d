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
def test_totals_are_the_sums_of_their_parts_at_every_level_and_the_unadjusted_cells_stay(catalogue, parts):
    ways = ("independent", "interior", "fitted")
    tables = [catalogue.table("town", additivity=way, **parts) for way in ways]
    independent, interior, fitted = (table.release for table in tables)
    assert independent.values.tolist() == np.maximum(independent.noisy, 0).tolist()
    assert not adds_up(independent) or len(independent.dimensions) == 1
    for release in (interior, fitted):
        assert adds_up(release)
        assert release.values.min() >= 0
        assert release.noisy.tolist() == independent.noisy.tolist()
    for table, said in zip(
        tables, ("separately", "sums of the adjusted", "value in another table"), strict=True
    ):
        assert said in table.note


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
