"""`nonzero=yes`: the lines of the whole table that are not 0, within the server's own limit.

Versions over HTTP: listed, asked by name, compared; a closed one answers 410 at every address.

Boundaries over HTTP: the very shapes of the version, with a tag; a variable without any is told.
"""

import csv
import io
import json
import re
from fractions import Fraction

import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.inference.version_comparison import compare
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.release.notes import mandatory_note
from discreet.release.pipeline import release_table
from discreet.web.app import create_app
from discreet.web.pages.comparison_page import COMPARE_PARAMETERS
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.demo.geography import census_boundaries
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

URL = "/api/datasets/people/table"
ASKED = {"rows": "job", "columns": "origin", "format": "csv"}


def lines(response):
    assert response.status_code == 200, response.text
    return response.text.splitlines()


def test_the_lines_are_those_of_the_whole_table(client):
    whole = lines(client.get(URL, params=ASKED))
    value = whole[0].split(",").index("value")
    found = lines(client.get(URL, params={**ASKED, "nonzero": "yes"}))
    kept = [line for line in whole[1:] if line.split(",")[value] not in {"0", ""}]
    assert sorted(found[1:]) == sorted(kept)
    assert found[0] == whole[0]


def test_it_has_a_tag_a_file_name_and_a_head(client):
    asked = {**ASKED, "nonzero": "yes", "download": "1"}
    first = client.get(URL, params=asked)
    assert first.headers["etag"] != client.get(URL, params=ASKED).headers["etag"]
    assert "attachment" in first.headers["content-disposition"]
    assert client.get(URL, params=asked, headers={"if-none-match": first.headers["etag"]}).status_code == 304
    head = client.head(URL, params=asked)
    assert (head.status_code, head.headers["etag"]) == (200, first.headers["etag"])


@pytest.mark.parametrize(
    "more", [{"format": "json"}, {"percent": "row"}, {"dry_run": "1"}, {"nonzero": "perhaps"}]
)
def test_what_does_not_go_with_it_is_refused(client, more):
    refused = client.get(URL, params={**ASKED, "nonzero": "yes", **more})
    assert refused.status_code == 400
    assert refused.json()["advice"]


def test_the_server_keeps_its_own_limit(small_workspace):
    few = read_options(small_workspace.folder, nonzero_cells=3)
    client = TestClient(create_app(DatasetRegistry(small_workspace), few))
    refused = client.get(URL, params={**ASKED, "nonzero": "yes"})
    assert refused.json()["type"].endswith("too-many-cells")


API, PAGE, QUERY = "/api/datasets/town", "/datasets/town", "rows=sex&columns=age"
REQUEST = request_from_text("town", rows=["sex"], columns=["age"])


@pytest.fixture(scope="module")
def doors(town_versions):
    opened = open_registry(town_versions)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def town_client(doors, town_versions):
    return TestClient(create_app(doors, read_options(town_versions)))


def test_versions_are_listed_the_newest_last_with_why_one_is_closed(town_client, doors):
    found = town_client.get(f"{API}/versions").json()["versions"]
    assert [v["version"] for v in found] == ["0", "1", "2"]
    assert [v["current"] for v in found] == [False, False, True]
    assert "few records" in found[0]["closed"]
    assert not found[1]["closed"]
    assert found[2]["digest"] == doors.door("town").digest
    assert town_client.get(f"{API}/versions?rows=sex").status_code == 400


@pytest.mark.parametrize("word", ["1", "digest"])
def test_a_version_is_asked_by_its_name_or_digest(town_client, doors, word):
    door = doors.door("town", version="1")
    name = door.digest[:8] if word == "digest" else word
    document = town_client.get(f"{API}/table?{QUERY}&version={name}").json()
    assert document["value"] == door.release(REQUEST).values.ravel().tolist()
    assert document["value"] != town_client.get(f"{API}/table?{QUERY}").json()["value"]
    assert document["extension"]["digest"] == door.digest


@pytest.mark.parametrize(
    "address",
    [
        f"{API}/table?{QUERY}",
        f"{API}/interval?{QUERY}",
        f"{API}/test/independence?{QUERY}",
        f"{API}/compare?{QUERY}&with=1",
        f"{API}?",
        f"{PAGE}?{QUERY}",
        f"{PAGE}/interval?{QUERY}",
        f"{PAGE}/test/independence?{QUERY}",
    ],
)
def test_a_closed_version_answers_410_and_an_unknown_one_404(town_client, address):
    assert town_client.get(f"{address}&version=1").status_code == 200
    assert town_client.get(f"{address}&version=0").status_code == 410
    assert town_client.get(f"{address}&version=none").status_code == 404


def test_a_comparison_is_that_of_the_two_releases(town_client, doors):
    new, old = (doors.door("town", version=word).release(REQUEST) for word in ("2", "1"))
    response = town_client.get(f"{API}/compare?{QUERY}&version=2&with=1&level=0.9")
    assert response.json() == compare(new, old, 0.9).document()
    assert town_client.get(f"{API}/compare?{QUERY}&with=1").json()["version"] == new.digest
    again = town_client.get(
        f"{API}/compare?{QUERY}&version=2&with=1&level=0.9",
        headers={"if-none-match": response.headers["etag"]},
    )
    assert again.status_code == 304
    other = town_client.get(f"{API}/compare?{QUERY}&version=1&with=2&level=0.9")
    assert other.headers["etag"] != response.headers["etag"]


@pytest.mark.parametrize(
    ("more", "status"),
    [("", 400), ("&with=0", 410), ("&with=none", 404), ("&with=1&level=2", 400), ("&with=1&wiht=2", 400)],
)
def test_what_cannot_be_compared_is_refused(town_client, more, status):
    response = town_client.get(f"{API}/compare?{QUERY}{more}")
    assert response.status_code == status
    assert response.json()["advice"]


def test_the_page_names_the_version_in_its_link_and_citation(town_client, doors):
    for word, more in (("2", ""), ("1", "&version=1")):
        digest = doors.door("town", version=word).digest
        page = town_client.get(f"{PAGE}?{QUERY}{more}").text
        assert page.count(f"version={digest[:8]}") >= 2, "permalink and citation"
        assert ("&amp;version=1" in page) == bool(more), "further links stay with the version that was asked"
    assert '<input type="hidden" name="version" value="1">' in page


def test_every_parameter_of_a_comparison_is_described(town_client):
    described = town_client.get("/openapi.json").json()["paths"]["/api/datasets/{dataset_id}/compare"]["get"]
    names = [p["name"] for p in described["parameters"] if p["in"] == "query"]
    assert sorted(names) == sorted(COMPARE_PARAMETERS)
    assert "410" in described["responses"]


PX, PX_QUERY = "/api/pxweb/v2", "valueCodes[sex]=*&valueCodes[age]=*"


def px_values(town_client, address):
    """The numbers of PxWebApi, by codes in the order of our own table."""
    return town_client.get(PX + address).json()["value"]


def test_pxweb_answers_the_version_that_is_asked_for_and_saved_queries_keep_it(town_client, doors):
    """Wrong alternative: a saved query that answers from whatever version is served now."""
    old, new = (px_values(town_client, f"/tables/town/data?{PX_QUERY}&version={word}") for word in ("1", "2"))
    assert sorted(map(str, old)) == sorted(
        map(str, doors.door("town", version="1").release(REQUEST).values.ravel())
    )
    assert old != new == px_values(town_client, f"/tables/town/data?{PX_QUERY}")
    selection = {"selection": [{"variableCode": name, "valueCodes": ["*"]} for name in ("sex", "age")]}
    assert town_client.post(f"{PX}/tables/town/data?version=1", json=selection).json()["value"] == old
    for address, body in (("?version=1", {}), ("", {"version": "1"})):
        saved = town_client.post(
            f"{PX}/savedqueries{address}", json={"tableId": "town", "selection": selection, **body}
        )
        assert saved.json()["savedQuery"]["version"] == doors.door("town", version="1").digest[:16]
        assert px_values(town_client, f"/savedqueries/{saved.json()['id']}/data") == old
    later = town_client.post(f"{PX}/savedqueries", json={"tableId": "town", "selection": selection})
    assert "version" not in later.json()["savedQuery"]
    assert px_values(town_client, f"/savedqueries/{later.json()['id']}/data") == new


def test_sdmx_answers_the_version_that_is_asked_for(town_client, doors):
    texts = {
        word: town_client.get(f"/api/sdmx/data/town-sex-age?version={word}&format=sdmx-csv").text
        for word in "12"
    }
    assert texts["1"] != texts["2"] == town_client.get("/api/sdmx/data/town-sex-age?format=sdmx-csv").text
    for word, text in texts.items():
        assert doors.door("town", version=word).digest in text


@pytest.mark.parametrize(
    "address",
    [
        f"{PX}/tables/town?",
        f"{PX}/tables/town/metadata?",
        f"{PX}/tables/town/defaultselection?",
        f"{PX}/tables/town/data?",
        f"{PX}/codelists/vs_town_area?",
        "/api/sdmx/data/town-sex?",
        "/api/sdmx/dataflow?",
        "/api/sdmx/datastructure/all/town?",
    ],
)
def test_a_closed_or_unknown_version_is_not_answered_by_pxweb_and_sdmx_either(town_client, address):
    assert town_client.get(f"{address}version=1").status_code == 200
    assert town_client.get(f"{address}version=0").status_code == 410
    assert town_client.get(f"{address}version=none").status_code == 404


ROWS = 2_000


@pytest.fixture(scope="module")
def map_client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    for name, shapes in census_boundaries(ROWS, seed=2026).items():
        (folder / f"{name}.geojson").write_bytes(shapes)
    load_dataset(folder / "w", census_description(ROWS, mapped=True), census_batches(ROWS), beside=folder)
    return TestClient(create_app(open_registry(folder / "w"), read_options(folder / "w")))


def test_shapes_are_served_as_geojson_with_codes_and_labels(map_client):
    answer = map_client.get("/api/datasets/census/boundaries/region")
    assert answer.headers["content-type"].startswith("application/geo+json")
    features = answer.json()["features"]
    listed = map_client.get("/api/datasets/census").json()["variables"][0]["categories"]
    told = [{"code": c["code"], "label": c["label"]} for c in listed]
    assert [feature["properties"] for feature in features] == told
    again = map_client.get(
        "/api/datasets/census/boundaries/region", headers={"if-none-match": answer.headers["etag"]}
    )
    assert again.status_code == 304


def test_a_variable_without_boundaries_is_told_which_have_some(map_client):
    answer = map_client.get("/api/datasets/census/boundaries/sex")
    assert answer.status_code == 404
    assert answer.json()["advice"] == "It has those of area, district, region."
    assert map_client.get("/api/datasets/census/boundaries/region?chart=map").status_code == 400


def test_the_description_says_where_they_are(map_client):
    variables = {v["name"]: v for v in map_client.get("/api/datasets/census").json()["variables"]}
    assert variables["region"]["boundaries"] == "/api/datasets/census/boundaries/region"
    assert variables["sex"]["boundaries"] is None
    assert map_client.get(variables["area"]["boundaries"]).status_code == 200


def test_a_map_is_drawn_by_the_api_and_on_the_page(map_client):
    picture = map_client.get("/api/datasets/census/table?rows=region&format=svg&chart=map")
    assert 'data-chart="map"' in picture.text
    page = map_client.get("/datasets/census?rows=region&columns=sex&percent=row&show=map").text
    assert page.count('role="img" data-cell="') == 22
    assert json.loads(map_client.get("/openapi.json").text)["paths"][
        "/api/datasets/{dataset_id}/boundaries/{variable}"
    ]


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
    key = open_accounts(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**9)))
    ledger.close()
    address, query = "/api/datasets/town/table", {"rows": "sex", "columns": "job", "layers": "area"}
    with TestClient(create_app(open_registry(folder), read_options(folder))) as client:
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
