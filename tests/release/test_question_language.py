"""One grammar for every face: one question, one set of numbers, one charge; names stay words of whoever asked."""

import csv
import io
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.pipeline import release_table
from discreet.web.app import create_app
from discreet.workspace.options import read_options

#: Ways to write one question: only persons with a job, children and adults against the old.
WAYS = [
    (["job=1,2"], ["age=Young:child+adult,Aged:old"]),
    (["job=Farm..Shop"], ["age=Young:..adult,Aged:old.."]),
    (["job!=0,9"], ["age=Aged:old,Young:adult+child"]),
    (["job=*", "job!=none", "job!=not stated"], ["age=Young:child..Adult,Aged:o?d"]),
    (["job=work:any"], [r"age=Young:child+grown:grown,Aged:old"]),
]


@pytest.fixture(scope="module")
def client(town_workspace):
    return TestClient(create_app(DatasetRegistry(town_workspace), read_options(town_workspace.folder)))


@pytest.mark.parametrize(("filters", "groups"), WAYS[:4])
def test_every_way_and_every_face_gives_one_question_and_one_set_of_numbers(
    town_workspace, client, run_here, filters, groups
):
    plain = request_from_text("town", rows=["age"], filters=["job=1,2"], groups=["age=child+adult,old"])
    release = release_table(town_workspace.stored("town"), plain)
    table = discreet.open(town_workspace.folder).table("town", rows=["age"], filters=filters, groups=groups)
    assert table.release.request.identity == release.request.identity
    assert np.array_equal(table.release.values, release.values)
    assert np.array_equal(table.release.noisy, release.noisy)
    query = urlencode([("rows", "age"), *(("filter", f) for f in filters), *(("group", g) for g in groups)])
    over_http = client.get(f"/api/datasets/town/table?{query}&format=csv").text
    words = [word for text in filters for word in ("--filter", text)]
    words += [word for text in groups for word in ("--group", text)]
    told = run_here("table", "town", "--rows", "age", *words, "--format", "csv", "-w", town_workspace.folder)
    assert told.stdout == over_http
    rows = list(csv.DictReader(io.StringIO(over_http)))
    assert [row["age_label"] for row in rows] == ["Young", "Aged", "Total"]
    assert [int(row["value"]) for row in rows] == release.values.tolist()
    page = client.get(f"/datasets/town?{query}&columns=", follow_redirects=False)
    assert page.headers["location"] == f"/datasets/town?{table.release.request.permalink}#table"


def test_overlapping_groups_are_refused_however_they_are_written(client):
    query = urlencode({"rows": "age", "group": WAYS[4][1][0]})
    answer = client.get(f"/api/datasets/town/table?{query}")
    assert answer.json()["detail"] == 'Two groups of "age" share a category.'


def test_a_hostile_name_is_escaped_on_the_page(client):
    query = urlencode({"rows": "age", "group": r"age=<b id\=x>:child+old"})
    page = client.get(f"/datasets/town?{query}")
    assert page.status_code == 200
    assert "<b id" not in page.text
    assert "&lt;b id=x&gt;" in page.text


def test_a_name_changes_no_charge(private_town, share, spent):
    key = share(private_town.folder, "ann", 2)
    parts = {"rows": "sex", "columns": "job", "layers": "area"}
    charged, tables = [spent(private_town.folder)], []
    with discreet.open(private_town.folder, key=key) as catalogue:
        for groups in ({"Busy": "1..2", "Not": "0"}, {"Work": "1..2", "Idle": "0"}, [["1", "2"], ["0"]]):
            tables.append(catalogue.table("town", **parts, groups={"job": groups}).release)
            charged.append(spent(private_town.folder))
    assert charged[0] < charged[1] == charged[2] == charged[3]
    assert all(np.array_equal(table.noisy, tables[0].noisy) for table in tables)
