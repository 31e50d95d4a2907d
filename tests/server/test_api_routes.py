import csv
import io
import json
import re
from fractions import Fraction

import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.answer.doors import open_doors
from discreet.answer.notes import mandatory_note
from discreet.answer.pipeline import release_table
from discreet.model.request import request_from_text
from discreet.server.app import create_app
from discreet.workspace.ledger_place import accounts_of, open_ledger
from discreet.workspace.options import read_options

TABLE = "/api/datasets/people/table"


def rows_of(response):
    return list(csv.DictReader(io.StringIO(response.text)))


def test_a_table_is_json_stat_unless_another_format_is_asked_for(client, small_workspace):
    response = client.get(TABLE, params={"rows": "sex", "columns": "age"})
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    document = response.json()
    assert (document["version"], document["id"], document["size"]) == ("2.0", ["sex", "age"], [3, 4])
    assert document["note"][0].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "The noise changes a count above zero" in document["note"][0]


def test_the_csv_is_what_the_pipeline_releases(client, small_workspace):
    response = client.get(TABLE, params={"rows": "sex", "columns": "job", "format": "csv"})
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    release = release_table(
        small_workspace.stored("people"), request_from_text("people", rows=["sex"], columns=["job"])
    )
    assert [int(row["value"]) for row in rows_of(response)] == release.values.ravel().tolist()


@pytest.mark.parametrize("form", ["csv", "csv-excel", "json"])
def test_every_answer_names_the_document_with_its_note_and_citation(client, small_workspace, form):
    """CSV has no place for words."""
    response = client.get(TABLE, params={"rows": "sex", "format": form})
    address, kind = re.fullmatch(
        r'<([^>]+)>; rel="describedby"; type="(.+)"', response.headers["link"]
    ).groups()
    document = client.get(address)
    assert document.headers["content-type"].startswith(kind)
    assert document.json()["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert document.json()["dataset"]["digest"] == small_workspace.stored("people").digest


def test_lists_may_be_separated_by_commas_or_repeated(client):
    together = client.get(f"{TABLE}?rows=sex,age&format=csv")
    repeated = client.get(f"{TABLE}?rows=sex&rows=age&format=csv")
    assert together.content == repeated.content
    assert len(rows_of(together)) == 12


def test_repeated_filters_on_one_variable_unite(client):
    apart = client.get(f"{TABLE}?rows=sex&filter=origin=2&filter=origin=3&format=csv")
    united = client.get(f"{TABLE}?rows=sex&filter=origin=3,2&format=csv")
    assert apart.content == united.content
    assert apart.headers["etag"] == united.headers["etag"]


def test_groups_and_layers_and_no_totals_are_understood(client):
    query = {"rows": "age", "layers": "sex", "group": "age=15-64+65+", "totals": "no", "format": "csv"}
    response = client.get(TABLE, params={**query, "group": "age=0-14+15-64"})
    assert [(row["age"], row["sex"]) for row in rows_of(response)] == [
        ("0-14+15-64", "1"),
        ("0-14+15-64", "2"),
    ]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("hostile/table?rows=bad&format=csv", "hostile-bad.csv"),
        ("people/table?rows=sex&columns=age&layers=region", "people-sex-by-age-by-region.json"),
        ("people/table?rows=sex&columns=age&filter=job=1&format=csv", "people-sex-by-age-selection.csv"),
    ],
)
def test_a_download_is_named_by_dataset_and_variables_and_never_by_a_label(client, query, name):
    response = client.get(f"/api/datasets/{query}&download=1")
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "content-disposition" not in client.get("/api/datasets/hostile/table?rows=bad&format=csv").headers


@pytest.mark.parametrize(
    ("query", "status", "code", "words"),
    [
        ("rows=sexx", 400, "unknown-variable", 'Did you mean "sex"?'),
        ("rows=sex&filter=age=0-15", 400, "unknown-category", 'Did you mean "0-14"?'),
        ("rows=sex&format=cvs", 400, "unknown-format", 'Did you mean "csv"?'),
        ("rows=sex&format=csv&format=json", 400, "bad-request", "once"),
        ("rows=sex&column=age", 400, "bad-request", 'Did you mean "columns"?'),
        ("rows=sex&totals=maybe", 400, "bad-request", "yes or no"),
        ("rows=sex&download=please", 400, "bad-request", "0 or 1"),
        ("rows=sex&filter=age", 400, "bad-request", "birthplace=2,3"),
        ("rows=sex&filter=age=0-14%5C", 400, "bad-request", "two backslashes"),
        ("", 400, "bad-request", "at least one"),
        ("rows=sex&columns=sex", 400, "bad-request", "once"),
        ("rows=age&group=age=0-14+15-64", 400, "unknown-category", "%2B"),
        ("rows=sex,age,job,origin", 403, "too-many-variables", "Take out 1"),
        ("rows=district,region,sex&columns=age,job", 403, "too-many-cells", "coarser"),
        ("rows=district&group=district=D01%2BD02", 403, "groups-on-geography", "coarser level"),
        (f"rows=sex&filter=origin={'1,' * 9000}1", 414, "request-too-long", "coarser"),
    ],
)
def test_what_cannot_be_answered_is_a_problem_with_advice(client, query, status, code, words):
    response = client.get(f"{TABLE}?{query}")
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "instance", "code", "advice"}
    assert (problem["type"], problem["code"], problem["status"]) == (f"/errors/{code}", code, status)
    assert words in problem["advice"]
    assert problem["instance"] == TABLE


@pytest.mark.parametrize("address", ["/api/datasets/peple", "/api/datasets/peple/table?rows=sex"])
def test_an_unknown_dataset_is_404_with_the_nearest(client, address):
    problem = client.get(address)
    assert problem.status_code == 404
    assert (problem.json()["code"], problem.json()["advice"]) == ("unknown-dataset", 'Did you mean "people"?')


@pytest.mark.parametrize("address", ["/api/datasets", "/api/datasets/people"])
def test_addresses_without_parameters_refuse_them(client, address):
    assert client.get(address, params={"rows": "sex"}).json()["code"] == "bad-request"


def test_an_unknown_address_and_method_are_problems_too(client):
    missing = client.get("/api/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    wrong = client.post(TABLE)
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method-not-allowed")
    assert wrong.headers["allow"] == "GET, HEAD"


def test_an_astronomical_table_is_refused_with_no_engine_call(watched, watched_client):
    response = watched_client.get(f"{TABLE}?rows=district,region&columns=sex,age,job")
    assert response.json()["code"] == "too-many-cells"
    assert watched.engines["people"].calls == 0


def test_json_keeps_hostile_labels_as_data(client):
    text = client.get("/api/datasets/hostile/table?rows=bad").text
    labels = json.loads(text)["dimension"]["bad"]["category"]["label"]
    assert labels["a,b"] == "<script>alert('label')</script>"
    assert labels["x\\y"] == "nul \x00 and bell \x07"


def test_hostile_codes_can_be_filtered_by_their_permalink(client):
    document = client.get(
        "/api/datasets/hostile/table", params={"rows": "good", "filter": r"bad=a\,b,c\+d\=e"}
    ).json()
    again = client.get(f"/api/datasets/hostile/table?{document['extension']['query']}")
    assert again.json() == document


def test_a_dry_run_tells_size_and_verdict_without_numbers(client):
    told = client.get(TABLE, params={"rows": "sex", "columns": "age", "dry_run": "1"}).json()
    assert told["cells"] == 12
    assert told["allowed"]
    assert told["verdict"]["table_error"] is None
    assert client.get(TABLE, params={"rows": "sex", "dry_run": "yes"}).status_code == 400


@pytest.mark.slow
def test_an_account_is_told_its_charge_and_the_document_is_the_same_for_everybody(private_town):
    """A document that told the charge would not be the one that others get for free."""
    folder = private_town.folder
    key = accounts_of(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**9)))
    ledger.close()
    address, query = "/api/datasets/town/table", {"rows": "sex", "columns": "job", "layers": "area"}
    with TestClient(create_app(open_doors(folder), read_options(folder))) as client:
        paid = client.get(address, params=query, headers={"authorization": f"Bearer {key}"})
        free = client.get(address, params=query)
        view = client.get(
            address, params=query | {"percent": "row"}, headers={"authorization": f"Bearer {key}"}
        )
    assert "discreet-charged" not in view.headers, "a view is the same release"
    assert view.json()["value"] == paid.json()["value"]
    assert len(view.json()["extension"]["percent"]) == len(paid.json()["value"])
    told = 'Charged epsilon 0.5 to the budget "town"; 0.5 of the share of "ann" is left.'
    assert paid.headers["discreet-charged"] == told
    assert "discreet-charged" not in free.headers
    assert paid.content == free.content
    again = discreet.open(folder, key=key).table("town", rows=["sex"], columns=["job"], layers=["area"])
    assert again.charged is None


@pytest.mark.parametrize(
    "query",
    [
        "rows=sex&totals=no&percent=column",
        "rows=sex&percent=row",
        "rows=sex&percent=sex=9",
        "columns=sex&rank=yes",
        "rows=sex&columns=age&totals=no&top=1",
    ],
)
def test_a_view_that_a_table_cannot_have_is_refused_before_anything_is_counted(
    query, watched_client, watched
):
    """By GET, HEAD and a dry run alike. Wrong alternative: to count and charge first, and refuse then."""
    address = f"/api/datasets/people/table?{query}"
    for answer in (
        watched_client.get(address),
        watched_client.head(address),
        watched_client.get(f"{address}&dry_run=1"),
        watched_client.get(f"/datasets/people?{query}"),
    ):
        assert answer.status_code == 400
    assert watched.engines["people"].calls == 0
