"""Totals of a declared level leave exactly, and nothing else does, whichever way the universe is made."""

import numpy as np
import pytest

from discreet.errors import BadDescription
from discreet.inference.confidence_intervals.table_intervals import every_interval, interval_of
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.noise.table import NO_NOISE
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

TABLE = TableRequest("town", rows=("region",), columns=("sex",))
STYLES = ("own", "sums", "joint")


def described(town, style, invariants='["region"]'):
    text = town.description.replace('margins = "joint"', f'margins = "{style}"', 1)
    lines = f'family = "town"\ninvariants = {invariants}\nneighbours = "replace-one"\nepsilon'
    return text.replace('family = "town"\nepsilon', lines, 1)


@pytest.fixture(scope="module", params=STYLES)
def stored(request, joint_town, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    joint_town.load(folder, described(joint_town, request.param)).close()
    return Workspace(folder).stored("town")


@pytest.fixture(scope="module")
def regions(joint_town):
    counts = joint_town.records["region"].value_counts().to_pylist()
    return {each["values"]: each["counts"] for each in counts}


@pytest.mark.slow
def test_the_totals_of_the_level_are_exact_and_nothing_else_is(stored, regions, joint_town):
    """Wrong alternatives: noise on a declared total; no noise on its parts or on a finer level."""
    release = release_table(stored, TABLE)
    assert [release.value(each, "_T") for each in ("N", "S", "_T")] == [regions["N"], regions["S"], 3000]
    assert release.distribution.exact.tolist() == [[False, False, True]] * 2 + [[False, False, True]]
    assert all(release.distribution.at(place, 2) is NO_NOISE for place in range(3))
    assert (release.distribution.variance()[:, :2] > 0).all()
    areas = release_table(stored, TableRequest("town", ("area",), levels=(("area", ("region", "area")),)))
    assert [areas.value(each) for each in ("N", "S")] == [regions["N"], regions["S"]]
    assert [areas.distribution.at(place) is NO_NOISE for place in range(8)] == [
        True,
        False,
        False,
        True,
        *[False] * 3,
        True,
    ]
    exact = joint_town.records["area"].value_counts().to_pylist()
    assert any(areas.value(each["values"]) != each["counts"] for each in exact)
    (part,) = (
        release_table(stored, TableRequest("town", ("sex",), filters=(("region", ("N",)),)))
        .values[-1:]
        .tolist()
    )
    assert part == regions["N"]


def test_the_table_says_so_and_the_promise_what_it_gives_up(stored):
    release = release_table(stored, TABLE)
    assert any("have no noise: they are declared public" in note for note in release.notes)
    assert "replaced by others of the same region" in release.promise[0]
    assert "nothing is promised about which region a person is in" in release.promise[-1]
    noised = release_table(stored, TableRequest("town", ("sex",), columns=("age",), totals=False))
    assert not any("declared public" in note for note in noised.notes)


def test_an_interval_of_an_exact_number_has_no_width(stored, regions):
    release = release_table(stored, TABLE)
    found = interval_of(release, cells=["region=N"], level=0.95)
    assert (found.low, found.estimate, found.high) == (regions["N"],) * 3
    low, high = every_interval(release, 0.95)
    assert (low == high).tolist() == release.distribution.exact.tolist()


def test_fitted_and_clipped_tables_keep_the_exact_numbers(stored, regions):
    """Wrong alternative: totals that were declared exact are changed so that others need not be."""
    fitted = release_table(stored, TableRequest("town", ("region",), ("age",), additivity="fitted"))
    assert [fitted.value(each, "_T") for each in ("N", "S", "_T")] == [regions["N"], regions["S"], 3000]
    assert fitted.values[:, :-1].sum(axis=1).tolist() == fitted.values[:, -1].tolist()
    sums = release_table(stored, TableRequest("town", ("region",), ("age",), additivity="interior"))
    assert not any("declared public" in note for note in sums.notes)


@pytest.mark.slow
def test_without_the_declaration_no_total_is_exact(joint_town, tmp_path, regions):
    load_dataset(tmp_path, described(joint_town, "joint", '["n"]'), joint_town.records)
    release = release_table(Workspace(tmp_path).stored("town"), TABLE)
    assert release.distribution.exact.sum() == 1
    assert np.count_nonzero(release.distribution.variance() == 0) == 1


@pytest.mark.parametrize(
    ("invariants", "said"),
    [('["regions"]', "neither"), ('["region", "sex"]', "are invariants"), ('["region"]', "does not declare")],
)
def test_what_cannot_be_an_invariant_is_refused(joint_town, invariants, said):
    text = described(joint_town, "own", invariants)
    if said == "does not declare":
        text = text.replace('"job", "region", "area"]', '"job", "area"]')
    with pytest.raises(BadDescription, match=said) as refused:
        parse_dataset(text)
    assert refused.value.advice
