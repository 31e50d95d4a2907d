"""The API of datasets over HTTP: tables, problems, versions, boundaries, and the lists of what there is."""

import re

import pytest

import discreet
from discreet.errors import WorkspaceUnusable
from discreet.inference.version_comparison import compare
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.notes import mandatory_note
from discreet.web.api.dataset_documents import open_datasets
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.demo.geography import census_boundaries
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

from ..conftest import client_of, key_with_budget, with_key

TABLE = "/api/datasets/people/table"
ASKED = {"rows": "district", "columns": "origin", "format": "csv"}


def test_nonzero_lines_are_those_of_the_whole_table_with_a_tag_and_a_file_name(client):
    whole = client.get(TABLE, params=ASKED).text.splitlines()
    value = whole[0].split(",").index("value")
    asked = {**ASKED, "nonzero": "yes", "download": "1"}
    answer = client.get(TABLE, params=asked)
    found = answer.text.splitlines()
    kept = [line for line in whole[1:] if line.split(",")[value] not in {"0", ""}]
    assert 0 < len(kept) < len(whole) - 1
    assert sorted(found[1:]) == sorted(kept)
    assert found[0] == whole[0]
    tag = answer.headers["etag"]
    assert tag != client.get(TABLE, params=ASKED).headers["etag"]
    assert "attachment" in answer.headers["content-disposition"]
    assert client.get(TABLE, params=asked, headers={"if-none-match": tag}).status_code == 304
    head = client.head(TABLE, params=asked)
    assert (head.status_code, head.headers["etag"]) == (200, tag)


@pytest.mark.parametrize(
    "more", [{"format": "json"}, {"percent": "row"}, {"dry_run": "1"}, {"nonzero": "perhaps"}]
)
def test_what_does_not_go_with_nonzero_lines_and_more_than_the_limit_is_refused(
    client, small_workspace, more
):
    refused = client.get(TABLE, params={**ASKED, "nonzero": "yes", **more})
    assert refused.status_code == 400
    assert refused.json()["advice"]
    few = client_of(small_workspace, nonzero_cells=3)
    refused = few.get(TABLE, params={**ASKED, "nonzero": "yes"})
    assert refused.json()["type"].endswith("too-many-cells")


API, PAGE, QUERY = "/api/datasets/town", "/datasets/town", "rows=sex&columns=age"
PX, PX_QUERY = "/api/pxweb/v2", "valueCodes[sex]=*&valueCodes[age]=*"
REQUEST = request_from_text("town", rows=["sex"], columns=["age"])


def test_versions_are_listed_the_newest_last_with_why_one_is_closed(town_client, town_registry):
    found = town_client.get(f"{API}/versions").json()["versions"]
    assert [v["version"] for v in found] == ["0", "1", "2"]
    assert [v["current"] for v in found] == [False, False, True]
    assert "few records" in found[0]["closed"]
    assert not found[1]["closed"]
    assert found[2]["digest"] == town_registry.open("town").digest
    assert town_client.get(f"{API}/versions?rows=sex").status_code == 400


def test_a_version_is_asked_by_its_name_or_digest(town_client, town_registry):
    service = town_registry.open("town", version="1")
    for name in ("1", service.digest[:8]):
        document = town_client.get(f"{API}/table?{QUERY}&version={name}").json()
        assert document["value"] == service.release(REQUEST).values.ravel().tolist()
        assert document["extension"]["digest"] == service.digest
    assert document["value"] != town_client.get(f"{API}/table?{QUERY}").json()["value"]


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
def test_a_closed_version_answers_410_and_an_unknown_one_404(town_client, address):
    assert town_client.get(f"{address}&version=1").status_code == 200
    assert town_client.get(f"{address}&version=0").status_code == 410
    assert town_client.get(f"{address}&version=none").status_code == 404


def test_a_comparison_is_that_of_the_two_releases(town_client, town_registry):
    new, old = (town_registry.open("town", version=word).release(REQUEST) for word in ("2", "1"))
    response = town_client.get(f"{API}/compare?{QUERY}&version=2&with=1&level=0.9")
    assert response.json() == compare(new, old, 0.9).document()
    assert town_client.get(f"{API}/compare?{QUERY}&with=1").json()["version"] == new.digest
    known = {"if-none-match": response.headers["etag"]}
    again = town_client.get(f"{API}/compare?{QUERY}&version=2&with=1&level=0.9", headers=known)
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


def test_the_page_names_the_version_in_its_link_and_citation(town_client, town_registry):
    for word, more in (("2", ""), ("1", "&version=1")):
        digest = town_registry.open("town", version=word).digest
        page = town_client.get(f"{PAGE}?{QUERY}{more}").text
        assert page.count(f"version={digest[:8]}") >= 2, "permalink and citation"
        assert ("&amp;version=1" in page) == bool(more), "further links stay with the version that was asked"
    assert '<input type="hidden" name="version" value="1">' in page


def test_pxweb_answers_the_version_that_is_asked_for_and_saved_queries_keep_it(town_client, town_registry):
    """Wrong alternative: a saved query that answers from whatever version is served now."""

    def values(address):
        return town_client.get(PX + address).json()["value"]

    def saved(address="", **body):
        body |= {"tableId": "town", "selection": selection}
        return town_client.post(f"{PX}/savedqueries{address}", json=body).json()

    old, new = (values(f"/tables/town/data?{PX_QUERY}&version={word}") for word in ("1", "2"))
    first = town_registry.open("town", version="1")
    assert sorted(map(str, old)) == sorted(map(str, first.release(REQUEST).values.ravel()))
    assert old != new == values(f"/tables/town/data?{PX_QUERY}")
    selection = {"selection": [{"variableCode": name, "valueCodes": ["*"]} for name in ("sex", "age")]}
    assert town_client.post(f"{PX}/tables/town/data?version=1", json=selection).json()["value"] == old
    for kept in (saved("?version=1"), saved(version="1")):
        assert kept["savedQuery"]["version"] == first.digest[:16]
        assert values(f"/savedqueries/{kept['id']}/data") == old
    later = saved()
    assert "version" not in later["savedQuery"]
    assert values(f"/savedqueries/{later['id']}/data") == new


def test_sdmx_answers_the_version_that_is_asked_for(town_client, town_registry):
    address = "/api/sdmx/data/town-sex-age?format=sdmx-csv"
    texts = {word: town_client.get(f"{address}&version={word}").text for word in "12"}
    assert texts["1"] != texts["2"] == town_client.get(address).text
    for word, text in texts.items():
        assert town_registry.open("town", version=word).digest in text


ROWS = 2_000


@pytest.fixture(scope="module")
def map_client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    for name, shapes in census_boundaries(ROWS, seed=2026).items():
        (folder / f"{name}.geojson").write_bytes(shapes)
    load_dataset(folder / "w", census_description(ROWS, mapped=True), census_batches(ROWS), beside=folder)
    return client_of(folder / "w")


CENSUS = "/api/datasets/census"


def test_shapes_are_served_as_geojson_with_codes_and_labels(map_client):
    answer = map_client.get(f"{CENSUS}/boundaries/region")
    assert answer.headers["content-type"].startswith("application/geo+json")
    variables = {v["name"]: v for v in map_client.get(CENSUS).json()["variables"]}
    told = [{"code": c["code"], "label": c["label"]} for c in variables["region"]["categories"]]
    assert [feature["properties"] for feature in answer.json()["features"]] == told
    known = {"if-none-match": answer.headers["etag"]}
    assert map_client.get(f"{CENSUS}/boundaries/region", headers=known).status_code == 304
    assert variables["region"]["boundaries"] == f"{CENSUS}/boundaries/region"
    assert variables["sex"]["boundaries"] is None
    assert map_client.get(variables["area"]["boundaries"]).status_code == 200
    missing = map_client.get(f"{CENSUS}/boundaries/sex")
    assert missing.status_code == 404
    assert missing.json()["advice"] == "It has those of area, district, region."
    assert map_client.get(f"{CENSUS}/boundaries/region?chart=map").status_code == 400
    assert map_client.get(f"{CENSUS}/boundaries/region?format=png").status_code == 400
    outlines = map_client.get(f"{CENSUS}/boundaries/district?format=svg")
    assert outlines.headers["content-type"].startswith("image/svg+xml")
    assert 'id="district-0"' in outlines.text
    assert 'id="region-10"' in outlines.text, "coarser levels are drawn on the same sheet"


def test_a_map_is_drawn_by_the_api_and_on_the_page(map_client):
    picture = map_client.get(f"{CENSUS}/table?rows=region&format=svg&chart=map")
    assert 'data-chart="map"' in picture.text
    page = map_client.get("/datasets/census?rows=region&columns=sex&percent=row&show=map").text
    assert page.count('role="img" data-cell="') == 22


def test_a_table_is_json_stat_unless_another_format_is_asked_for(client, small_workspace):
    response = client.get(TABLE, params={"rows": "sex", "columns": "age"})
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    document = response.json()
    assert (document["version"], document["id"], document["size"]) == ("2.0", ["sex", "age"], [3, 4])
    assert document["note"][0].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "The noise changes a count above zero" in document["note"][0]


@pytest.mark.parametrize("form", ["csv", "csv-excel", "json"])
def test_every_answer_names_the_document_with_its_note_and_citation(client, small_workspace, form):
    """CSV has no place for words."""
    response = client.get(TABLE, params={"rows": "sex", "format": form})
    address, kind = re.fullmatch(r'<(.+)>; rel="describedby"; type="(.+)"', response.headers["link"]).groups()
    document = client.get(address)
    assert document.headers["content-type"].startswith(kind)
    assert document.json()["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert document.json()["dataset"]["digest"] == small_workspace.stored("people").digest


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("hostile/table?rows=bad&format=csv", "hostile-bad.csv"),
        ("people/table?rows=sex&columns=age&layers=region", "people-sex-by-age-by-region.json"),
        ("people/table?rows=sex&columns=age&filter=job=1&format=csv", "people-sex-by-age-selection.csv"),
        ("people/table?rows=sex&columns=age&format=sdmx-csv", "people-sex-by-age.sdmx.csv"),
        ("people/table?rows=sex&columns=age&format=sdmx-json", "people-sex-by-age.sdmx.json"),
        ("people/table?rows=sex&columns=age&format=csv-excel-point", "people-sex-by-age.excel-point.csv"),
        ("people/table?rows=sex&columns=age&format=px", "people-sex-by-age.px"),
        ("people/table?rows=sex&columns=age&format=jsonstat", "people-sex-by-age.json"),
    ],
)
def test_a_download_is_named_by_dataset_and_variables_and_never_by_a_label(client, query, name):
    response = client.get(f"/api/datasets/{query}&download=1")
    assert response.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert "content-disposition" not in client.get("/api/datasets/hostile/table?rows=bad&format=csv").headers


@pytest.mark.parametrize("name", ["jsonstat", "json-stat"])
def test_json_stat_has_its_other_names(client, name):
    own, other = (client.get(TABLE, params={"rows": "sex", "format": form}) for form in ("json", name))
    assert (other.content, other.headers["content-type"]) == (own.content, own.headers["content-type"])


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


def test_what_there_is_not_is_a_problem_too(client):
    for tail in ("", "/table?rows=sex"):
        problem = client.get(f"/api/datasets/peple{tail}").json()
        assert (problem["status"], problem["code"]) == (404, "unknown-dataset")
        assert problem["advice"] == 'Did you mean "people"?'
    for address in ("/api/datasets", "/api/datasets/people"):
        assert client.get(address, params={"rows": "sex"}).json()["code"] == "bad-request"
    missing = client.get("/api/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    wrong = client.post(TABLE)
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method-not-allowed")
    assert wrong.headers["allow"] == "GET, HEAD"


def test_an_astronomical_table_is_refused_with_no_engine_call(watched, watched_client):
    response = watched_client.get(f"{TABLE}?rows=district,region&columns=sex,age,job")
    assert response.json()["code"] == "too-many-cells"
    assert watched.engines["people"].calls == 0


def test_hostile_codes_can_be_filtered_by_their_permalink(client):
    address = "/api/datasets/hostile/table"
    document = client.get(address, params={"rows": "good", "filter": r"bad=a\,b,c\+d\=e"}).json()
    assert client.get(f"{address}?{document['extension']['query']}").json() == document


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
    key = key_with_budget(folder)
    address, query = "/api/datasets/town/table", {"rows": "sex", "columns": "job", "layers": "area"}
    with client_of(folder) as client:
        paid = client.get(address, params=query, headers=with_key(key))
        free = client.get(address, params=query)
        view = client.get(address, params=query | {"percent": "row"}, headers=with_key(key))
    assert "discreet-charged" not in view.headers, "a view is the same release"
    assert view.json()["value"] == paid.json()["value"]
    assert len(view.json()["extension"]["percent"]) == len(paid.json()["value"])
    told = 'Charged epsilon 0.5 to the budget "town"; 0.5 of the share of "ann" is left.'
    assert paid.headers["discreet-charged"] == told
    assert "discreet-charged" not in free.headers
    assert paid.headers["cache-control"] == "private, no-store", "as docs/how-to/accounts.md says"
    assert paid.content == free.content
    again = discreet.open(folder, key=key).table("town", rows=["sex"], columns=["job"], layers=["area"])
    assert again.charged is None


@pytest.mark.parametrize(
    "query",
    [
        "rows=sex&totals=no&percent=column",
        "rows=sex&percent=row",
        "rows=sex&percent=sex=9",
        "rows=sex&percent=rows",
        "rows=sex&top=x",
        "rows=sex&rank=maybe",
        "columns=sex&percent=column",
        "columns=sex&rank=yes",
        "rows=sex&columns=age&totals=no&top=1",
    ],
)
def test_a_view_that_a_table_cannot_have_is_refused_before_anything_is_counted(
    query, watched_client, watched
):
    """By GET, HEAD and a dry run alike. Wrong alternative: to count and charge first, and refuse then."""
    address = f"{TABLE}?{query}"
    answers = [
        watched_client.get(each) for each in (address, f"{address}&dry_run=1", f"/datasets/people?{query}")
    ]
    for answer in (*answers, watched_client.head(address)):
        assert answer.status_code == 400
    assert answers[0].json()["advice"]
    assert watched.engines["people"].calls == 0


@pytest.fixture
def damaged(small_copy):
    """A copy of the workspace in which one dataset has lost its noise table."""
    for noise in small_copy.glob("datasets/hostile/*/noise.json"):
        noise.unlink()
    return Workspace(small_copy, threads=1)


def test_a_damaged_dataset_is_left_out_and_the_others_are_served(damaged, caplog):
    client = client_of(damaged)
    assert [d["id"] for d in client.get("/api/datasets").json()["datasets"]] == ["people"]
    assert "The dataset hostile is left out" in caplog.text
    refused = client.get("/api/datasets/hostile/table?rows=good")
    assert (refused.status_code, refused.json()["code"]) == (503, "workspace-unusable")
    assert client.get(f"{TABLE}?rows=sex").status_code == 200


def test_when_none_can_be_opened_that_is_an_error(damaged):
    for noise in damaged.folder.glob("datasets/people/*/noise.json"):
        noise.unlink()
    with pytest.raises(WorkspaceUnusable):
        open_datasets(DatasetRegistry(damaged))


def test_a_secret_that_others_can_read_means_no_answer(small_copy):
    (small_copy / "secret").chmod(0o644)
    client = client_of(Workspace(small_copy, threads=1))
    for address in (f"{TABLE}?rows=sex", "/datasets/people", "/api/datasets", "/"):
        response = client.get(address)
        assert response.status_code == 503, address
        assert "secret-unusable" in response.text


def test_a_dataset_is_listed_and_described_without_its_number_of_records(client, small_workspace):
    listed = client.get("/api/datasets")
    found = [(each["id"], each["href"], each["unit"]) for each in listed.json()["datasets"]]
    assert found[1] == ("people", "/api/datasets/people", "persons")
    answer = client.get("/api/datasets/people")
    described = answer.json()
    assert [v["name"] for v in described["variables"]] == [
        "region",
        "district",
        "sex",
        "age",
        "job",
        "origin",
    ]
    _, district, sex, *_ = described["variables"]
    assert sex["categories"][1] == {"code": "2", "label": "Female", "parent": None}
    assert (district["geography"], district["categories"][0]["parent"]) == (True, "R2")
    assert described["hierarchies"][0]["levels"] == ["region", "district"]
    assert described["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "at most" in described["protection"]["promise"][0]
    assert described["protection"]["additivity"] == "independent"
    assert described["code_lists"] == []  # tests/api/test_remote.py compares those of another dataset
    assert (described["version"], described["reference_date"]) == ("7", "2026-01-01")
    assert "617" not in answer.text.replace(described["digest"], "") + listed.text
