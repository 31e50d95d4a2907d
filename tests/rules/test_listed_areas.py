"""Areas that a filter names are listed, and their total is called the sum of the areas shown, in every face."""

import csv
import io
import json

import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.answer.doors import Doors
from discreet.errors import BadRequest, Refused
from discreet.formats import named_format
from discreet.rules.listed_areas import LABEL, NOTE, list_areas
from discreet.server.app import create_app
from discreet.workspace.options import read_options

RULE = '[[rule]]\nkind = "mean-cell-size"\nleast = 20\nlevel = "area"\nfrom_variables = 2\n\n[protection]\n'


@pytest.fixture(scope="module")
def workspace(town, tmp_path_factory):
    return town.load(tmp_path_factory.mktemp("listed"), town.description.replace("[protection]\n", RULE, 1))


@pytest.fixture(scope="module")
def catalogue(workspace):
    return discreet.open(workspace.folder)


def test_a_hidden_filter_of_several_areas_becomes_rows(ask, dataset):
    request, _ = ask(rows=["sex"], columns=["age"], filters=["area=N1,S1"])
    assert list_areas(request, dataset).rows == ("sex", "area")
    one, _ = ask(rows=["sex"], columns=["age"], filters=["area=N1"])
    assert list_areas(one, dataset) == one
    above, _ = ask(rows=["area"], columns=["age"], filters=["region=N"])
    assert list_areas(above, dataset) == above


def test_a_level_that_a_filter_cuts_shows_its_areas(ask, dataset):
    request, _ = ask(rows=["area"], columns=["age"], filters=["area=N1,S1"], levels=["area=region"])
    assert dict(list_areas(request, dataset).levels)["area"] == ("region", "area")


@pytest.mark.parametrize("shown", [True, False])
def test_the_union_is_never_counted(catalogue, shown):
    """The wrong answer is the noisy count of the union, which `rows=sex` without a rule's variables still gives."""
    rows = ["area", "sex"] if shown else ["sex"]
    table = catalogue.table("town", rows=rows, columns=["age"], filters={"area": ["N1", "S1", "S2"]})
    release = table.release
    names = [d.name for d in release.dimensions]
    frame = table.to_pandas()
    total = frame[(frame.area == "_T") & (frame.sex == "1") & (frame.age == "adult")].value.item()
    parts = frame[(frame.area != "_T") & (frame.sex == "1") & (frame.age == "adult")].value
    assert total == parts.dropna().sum()
    assert release.dimensions[names.index("area")].labels[-1] == LABEL
    assert NOTE in release.notes


def test_a_declared_region_keeps_its_count(catalogue):
    whole = catalogue.table("town", rows=["area", "sex"], columns=["age"], filters={"area": ["N1", "N2"]})
    region = catalogue.table("town", rows=["region", "sex"], columns=["age"])
    assert whole.release.dimensions[0].labels[-1] == "Total"
    assert whole.release.value("_T", "1", "adult") == region.release.value("N", "1", "adult")


def test_where_no_rule_looks_a_filter_is_counted_as_before(catalogue):
    table = catalogue.table("town", rows=["sex"], filters={"area": ["N1", "S1"]})
    assert [d.name for d in table.release.dimensions] == ["sex"]
    assert NOTE not in table.release.notes


def test_every_face_says_so(catalogue, workspace, run_here):
    asked = {"rows": "sex", "columns": "age", "filter": "area=N1,S1"}
    table = catalogue.table("town", rows=["sex"], columns=["age"], filters={"area": ["N1", "S1"]})
    document = json.loads(named_format("json").write(table.release))
    assert LABEL in document["dimension"]["area"]["category"]["label"].values()
    assert NOTE in json.dumps(document, ensure_ascii=False)
    printed = run_here(
        "table", "town", "--rows", "sex", "--columns", "age", "--filter", "area=N1,S1", "-w", workspace.folder
    )
    assert LABEL in printed.stdout
    written = run_here(
        "table",
        "town",
        "--rows",
        "sex",
        "--columns",
        "age",
        "--filter",
        "area=N1,S1",
        "--format",
        "csv",
        "-w",
        workspace.folder,
    )
    assert LABEL in {row["area_label"] for row in csv.DictReader(io.StringIO(written.stdout))}
    page = TestClient(create_app(Doors(workspace), read_options(workspace.folder))).get(
        "/datasets/town", params=asked
    )
    assert LABEL in page.text
    assert NOTE in page.text


def test_a_sum_has_no_interval_of_one_count_and_is_not_fitted(catalogue):
    table = catalogue.table("town", rows=["area", "sex"], columns=["age"], filters={"area": ["N1", "S1"]})
    with pytest.raises(BadRequest, match="sum of the areas shown"):
        table.interval("_T", "1", "adult")
    with pytest.raises(Refused, match="no total of their own"):
        catalogue.table(
            "town", rows=["area", "sex"], columns=["age"], filters={"area": ["S1", "S2"]}, additivity="fitted"
        )
