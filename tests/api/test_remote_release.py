"""A release read back from its own document; documents that no server of Discreet sends."""

import json
from copy import deepcopy

import numpy as np
import pyarrow as pa
import pytest

from discreet.api.remote_release import read_dataset, read_release
from discreet.api.server_url import reject_malformed
from discreet.errors import BadRequest, ServerUnusable
from discreet.formats import format_by_name


@pytest.fixture
def document(town_release):
    return json.loads(format_by_name("json").write(town_release))


def test_a_release_is_read_back_from_its_document(town_release, document):
    read = read_release(document, town_release.dataset, '"tag"', "")
    assert (read.status == town_release.status).all()
    assert (read.values == np.where(town_release.missing, 0, town_release.values)).all()
    for own, other in zip(town_release.dimensions, read.dimensions, strict=True):
        assert (other.codes, other.labels, other.geography) == (own.codes, own.labels, own.geography)
    assert read.title == town_release.title
    assert read.value("adult", "1", "1") == town_release.value("adult", "1", "1")
    assert len(repr(read)) < 200
    assert len(repr(read.distribution)) < 200


def test_numbers_that_are_no_whole_numbers_stay_so(town_release, document):
    document["value"][0] = 0.5
    assert read_release(document, town_release.dataset, "", "").values.dtype == np.float64


def without(name):
    return lambda document: document.pop(name)


def put(value, *path):
    def change(document):
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        without("extension"),
        without("value"),
        put([10**9, 10**9, 10**9], "size"),
        put([-1, -1, -1], "size"),
        put("4,5,3", "size"),
        put([1], "value"),
        put([10**30] * 60, "value"),
        put(["<b>"] * 60, "value"),
        put({"999999": "c"}, "status"),
        put({"x": "c"}, "status"),
        put({"0": "pickle"}, "status"),
        put(["age", "job", "nothing"], "id"),
        put({"adult": 0}, "dimension", "age", "category", "index"),
        put({"old": ["child"]}, "dimension", "age", "category", "child"),
        put("rows=sex&nonsense=1", "extension", "query"),
    ],
)
def test_a_document_that_is_not_as_it_should_be_is_the_servers_fault(town_release, document, change):
    """Wrong: an exception of ours, or a table of another shape than it says."""
    broken = deepcopy(document)
    change(broken)
    with pytest.raises(ServerUnusable, match="cannot be read"), reject_malformed():
        read_release(broken, town_release.dataset, "", "")


@pytest.mark.parametrize(
    "document", [{}, {"id": "../etc", "label": "", "variables": [], "protection": {}}, []]
)
def test_a_description_that_is_none_is_the_servers_fault(document):
    with pytest.raises(ServerUnusable), reject_malformed():
        read_dataset(document)


def test_batches_and_files_hold_the_cells_of_the_table(catalogue, tmp_path):
    asked = {"rows": "age", "columns": ["job", "sex"]}
    whole = catalogue.table("town", **asked).to_pandas()
    kept = whole[whole["value"].fillna(0) != 0]
    found = catalogue.nonzero("town", **asked)
    assert "by age" in found.title
    assert any("is not listed" in note for note in found.notes)
    assert pa.Table.from_batches(found.batches()).num_rows == len(kept)
    catalogue.nonzero("town", **asked).save(tmp_path / "cells.csv")
    assert len((tmp_path / "cells.csv").read_text().splitlines()) == len(kept) + 1
    with pytest.raises(BadRequest, match="needs all cells"):
        catalogue.nonzero("town", **asked).save(tmp_path / "cells.json")
    assert "NonzeroCells" in repr(found)
