import json
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.errors import BadRequest
from discreet.inference.confidence_intervals import table_intervals as module
from discreet.inference.confidence_intervals.count_intervals import Interval
from discreet.inference.confidence_intervals.table_intervals import (
    cell_codes,
    error_text,
    every_document,
    every_interval,
    interval_document,
    interval_of,
    interval_texts,
)
from discreet.model.release import NOT_APPLICABLE, WITHHELD
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.pipeline import release_table
from discreet.web.app import create_app
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace


@pytest.fixture
def release(town_workspace):
    asked = request_from_text("town", rows=["sex"], columns=["age"])
    return release_table(town_workspace.stored("town"), asked)


def with_status(release, place, status):
    changed = release.status.copy()
    changed[place] = status
    return replace(release, status=changed)


def test_a_variable_that_is_not_named_means_its_total(release):
    assert (
        cell_codes(release.dimensions, "sex=1") == cell_codes(release.dimensions, {"sex": "1"}) == ("1", "_T")
    )
    assert cell_codes(release.dimensions, {}) == ("_T", "_T")
    assert cell_codes(release.dimensions, ["1", "_T"]) == ("1", "_T")


@pytest.mark.parametrize("kind", ["release", "dp_release", "joint_release"])
def test_every_interval_is_that_of_its_cell(kind, request):
    release = request.getfixturevalue(kind)
    low, high = every_interval(release, 0.9)
    for place in np.ndindex(release.noisy.shape):
        codes = [d.codes[at] for d, at in zip(release.dimensions, place, strict=True)]
        found = interval_of(release, [codes], level=0.9)
        around = (
            (0, 1) if kind == "joint_release" else (0,)
        )  # all at once, they hold those of unrounded numbers
        assert found.low - low[place] in around
        assert high[place] - found.high in around


def test_each_distribution_and_count_is_worked_out_once(release, monkeypatch):
    """A table of 100,000 cells takes as long as its distinct counts do: one call for a distribution."""
    calls = []
    own = module.cell_intervals
    monkeypatch.setattr(module, "cell_intervals", lambda *given: calls.append(1) or own(*given))
    every_interval(release)
    assert len(calls) <= len(release.distribution.distributions)


def test_withheld_cells_are_refused_and_cells_that_cannot_occur_are_zero(release):
    hidden = with_status(release, (0, 0), WITHHELD)
    cell = [d.codes[0] for d in release.dimensions]
    with pytest.raises(BadRequest, match="withheld"):
        interval_of(hidden, [cell])
    assert every_interval(hidden)[0][0, 0] == -1
    assert every_document(hidden)["cells"][0] == {"codes": cell, "value": None, "low": None, "high": None}
    empty = with_status(release, (0, 0), NOT_APPLICABLE)
    found = interval_of(empty, [cell])
    assert (found.estimate, found.low, found.high) == (0, 0, 0)
    assert every_interval(empty)[1][0, 0] == 0


def test_a_share_takes_its_parts_or_a_total_with_noise_of_its_own(release):
    parts = interval_of(release, ["sex=1"], of=["sex=1", "sex=2"])
    total = interval_of(release, ["sex=1"], of=[{}])
    for found in (parts, total):
        assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert parts != total


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cells": []}, "No cell"),
        ({"cells": ["sex=1"], "of": ["sex=1"]}, "part is the whole"),
        ({"cells": ["sex=1"], "of": ["sex=2", "sex=_T"]}, "not among"),
        ({"cells": ["sex=1"], "of": ["sex=2"]}, "does not lie in the whole"),
        ({"cells": ["sex=1", {}]}, "share people"),
        ({"cells": ["sex=1,sex=2"]}, "cannot be read"),
    ],
)
def test_what_has_no_interval_is_refused(release, given, words):
    with pytest.raises(BadRequest, match=words):
        interval_of(release, **given)


def test_an_end_without_limit_is_null():
    found = interval_document(Interval(3.0, 0.0, float("inf"), 0.95))
    assert found == {"estimate": 3.0, "low": 0.0, "high": None, "level": 0.95}


@pytest.fixture
def dp_release(private_town):
    """Areas by sex under `dp`; grouped areas and the total of sex within an area add up base cells."""
    stored = Workspace(private_town.folder).stored("town")
    return release_table(stored, request_from_text("town", rows=["area"], columns=["sex"]))


@pytest.fixture
def joint_release(joint_workspace):
    return release_table(
        joint_workspace.stored("town"), request_from_text("town", rows=["area"], columns=["sex"])
    )


def totals_of_the_same_cells(release):
    """The release as if each total of sex were the sum of its two cells, with their noise and no other."""
    distribution = release.distribution
    noisy, terms, margin = release.noisy.copy(), distribution.terms.copy(), distribution.margin.copy()
    noisy[:, 2], terms[:, 2], margin[:, 2] = noisy[:, 0] + noisy[:, 1], 2, margin[:, 0]
    return replace(
        release,
        noisy=noisy,
        values=noisy,
        signed=None,
        distribution=replace(distribution, terms=terms, margin=margin),
    )


def test_a_dp_total_of_the_same_cells_is_answered_by_the_rest(dp_release):
    release = totals_of_the_same_cells(dp_release)
    cells = {"cells": ["area=N1,sex=1"], "level": 0.9}
    by_parts = interval_of(release, **cells, of=["area=N1,sex=1", "area=N1,sex=2"])
    assert interval_of(release, **cells, of=["area=N1"]) == by_parts
    other = interval_of(release, ["area=N1,sex=2"], level=0.9)
    found = interval_of(release, ["area=N1"], minus=["area=N1,sex=1"], level=0.9)
    assert (found.estimate, found.low, found.high) == (other.estimate, other.low, other.high)
    turned = interval_of(release, ["area=N1,sex=1"], minus=["area=N1"], level=0.9)
    assert (turned.low, turned.high) == (-other.high, -other.low)


def test_counts_below_zero_under_dp_have_intervals_from_zero(dp_release):
    noisy = dp_release.noisy.copy()
    noisy[0, 0] = -3
    release = replace(dp_release, noisy=noisy, values=noisy, signed=None)
    codes = [dp_release.dimensions[0].codes[0], "1"]
    found = interval_of(release, [codes])
    assert (found.estimate, found.low) == (-3, 0)
    assert every_interval(release)[0][0, 0] == 0
    assert interval_of(release, [codes], of=[codes, [codes[0], "2"]]).low == 0


WEIGHTS = """
[survey]
sample_size = 3000
population_size = 60000
largest_weight = 20
"""
#: What may be asked, as options of Python and of every other face.
QUESTIONS = {
    "cell": {"cells": ["area=N1,sex=1"]},
    "sum": {"cells": ["area=N1,sex=1", "area=S1,sex=2"]},
    "share of parts": {"cells": ["area=N1,sex=1"], "of": ["area=N1,sex=1", "area=N1,sex=2"]},
    "share of a total": {"cells": ["area=N1,sex=1"], "of": ["area=N1"]},
    "ratio": {"cells": ["area=N1,sex=1"], "over": ["area=S1,sex=1"]},
    "difference": {"cells": ["area=N1,sex=1"], "minus": ["area=S1,sex=1"]},
    "difference of shares": {
        "cells": ["area=N1,sex=1"],
        "of": ["area=N1"],
        "minus": ["area=S1,sex=1"],
        "minus_of": ["area=S1"],
    },
}


@pytest.fixture(params=["count", "count dp", "weighted", "weighted dp"])
def opened_town(request, town, tmp_path):
    """A workspace of each kind, and the measure to ask for."""
    measure, *dp = request.param.split()
    source = request.getfixturevalue("private_town") if dp else town
    description, records = source.description, town.records
    if measure == "weighted":
        description = description.replace('id_column = "person"', 'id_column = "person"\nweight_column = "w"')
        description = description.replace("[protection]", WEIGHTS + "\n[protection]", 1)
        records = records.append_column("w", [np.full(records.num_rows, 20)])
    return town.load(tmp_path / "faces", description, records), measure


def by_method(table, cells, **more):
    """The method of a table that asks the question."""
    if not more:
        return table.sum(*cells)
    method = table.difference if "minus" in more else table.ratio if "over" in more else table.share
    return method(*cells, **more)


@pytest.mark.slow
def test_every_face_gives_the_same_answer(opened_town, run_here):
    """Counts and weighted counts, by cell keys and under dp: Python, command line, HTTP and page."""
    workspace, measure = opened_town
    client = TestClient(create_app(DatasetRegistry(workspace), read_options(workspace.folder)))
    shape = ["--rows", "area", "--columns", "sex", "--measure", measure, "-w", workspace.folder]
    with discreet.open(workspace.folder) as catalogue:
        table = catalogue.table("town", rows=["area"], columns=["sex"], measure=measure)
    for question, asked in QUESTIONS.items():
        pairs = [(name.replace("cells", "cell"), cell) for name, cells in asked.items() for cell in cells]
        options = [part for name, cell in pairs for part in ("--" + name.replace("_", "-"), cell)]
        query = urlencode([("rows", "area"), ("columns", "sex"), ("measure", measure), *pairs])
        told = run_here("interval", "town", *shape, *options, "--json")
        api, page = (client.get(f"{base}/datasets/town/interval?{query}") for base in ("/api", ""))
        if question == "difference of shares" and measure == "count":
            assert (told.returncode != 0, api.status_code, page.status_code) == (True, 400, 400)
            continue
        found = interval_of(table.release, **asked)
        assert found == by_method(table, **asked)
        assert json.loads(told.stdout) == api.json() == interval_document(found)
        assert ("relative_standard_error" in api.json()) == (measure == "weighted")
        texts = interval_texts(found, share="of" in asked, ratio="over" in asked, minus="minus" in asked)
        assert all(text in page.text for text in (*texts, error_text(found)))
        if question == "ratio":
            sentence = run_here("interval", "town", *shape, *options).stdout
            assert all(text in sentence for text in (*texts, error_text(found)))
    every = (
        run_here("interval", "town", *shape, "--json"),
        client.get(f"/api/datasets/town/interval?{query[: query.index('&cell')]}"),
    )
    assert json.loads(every[0].stdout) == every[1].json() == every_document(table.release)


def test_the_pieces_of_all_intervals_are_the_document(release, monkeypatch):
    """Block by block, with a last one that is shorter, and all at once."""
    whole = json.dumps(module.every_document(release, 0.9)).encode()
    for cells in (release.cells, 4, 1):
        monkeypatch.setattr(module, "CELLS_AT_ONCE", cells)
        pieces = list(module.every_piece(release, 0.9))
        assert b"".join(pieces) == whole
        assert len(pieces) == 2 + -(-release.cells // cells)
