"""The verdict and the picker over HTTP."""

from tests.server.conftest import Page


def test_the_verdict_alone_counts_nothing_and_is_not_kept(watched, watched_client):
    response = watched_client.get("/datasets/people/verdict?rows=district&columns=sex")
    assert response.headers["cache-control"] == "no-store"
    assert "<strong>147 cells</strong>, all 48 areas are available" in response.text
    refused = watched_client.get("/datasets/people/verdict?rows=sex,age,job,origin")
    assert refused.status_code == 200
    assert (
        next(e["href"] for e in Page(refused).all("a", class_="button"))
        == "/datasets/people?rows=sex,age,job"
    )
    assert "colour" in watched_client.get("/datasets/people/verdict?colour=red").text
    assert watched.engines["people"].calls == 0


def test_a_picker_without_scripts_searches_and_keeps_what_was_ticked(client):
    query = [
        ("rows", "sex"),
        ("filter", "district=D01"),
        ("filter.district", "D02"),
        ("search", "district 3"),
    ]
    page = Page(client.get("/datasets/people/variables/district", params=query))
    assert [e["value"] for e in page.all("input", type="hidden")] == ["sex", "D01,D02"]
    assert page.texts("code")[0] == "D03"
    sent = [
        ("rows", "sex"),
        ("filter.district", "D01,D02"),
        ("search", "district 3"),
        ("filter", "district=D03"),
    ]
    shown = client.get("/datasets/people", params=sent, follow_redirects=False)
    assert shown.headers["location"] == "/datasets/people?rows=sex&filter=district=D01,D02,D03#table"


def test_a_group_leads_to_its_table_and_a_wrong_name_back_to_the_picker(client):
    query = [("rows", "age"), ("filter", "age=0-14"), ("filter", "age=15-64"), ("do", "group")]
    made = client.get(
        "/datasets/people/variables/age", params=[*query, ("group_name", "Below 65")], follow_redirects=False
    )
    assert (made.status_code, made.headers["location"]) == (
        303,
        "/datasets/people?rows=age&group=age=Below+65%3A0-14%2B15-64,65%2B".replace("65%2B", "65%5C%2B"),
    )
    wrong = client.get("/datasets/people/variables/age", params=[*query, ("group_name", "Total")])
    assert (wrong.status_code, "cannot be called" in wrong.text) == (200, True)
    empty = client.get("/datasets/people/variables/age?rows=age&do=group")
    assert "A group needs categories." in empty.text


def test_hostile_labels_stay_text_in_the_picker_and_in_the_verdict(client):
    page = Page(client.get("/datasets/hostile/variables/bad?rows=bad&group=bad=%3Cscript%3E:1"))
    assert not [e for e in page.all("script") if "src" not in e]
    assert "<script>alert('label')</script>" in page.texts("span", class_="name")
    verdict = client.get("/datasets/hostile/verdict?rows=bad&columns=%3Cscript%3E")
    assert "<script>" not in verdict.text


def test_a_wrong_key_is_refused_by_pages_as_by_the_api(client):
    """To answer a page without looking at the key is the wrong alternative: who asks is decided once, for all routes."""
    key = {"authorization": "Bearer nobody"}
    for address in ("/api/datasets/people/table", "/datasets/people", "/datasets/people/verdict"):
        assert client.get(f"{address}?rows=sex", headers=key).status_code == 401
