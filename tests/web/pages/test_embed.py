"""A table alone: its own policy, its note and source, and a refusal that is seen in the frame."""

from discreet.web.pages.embed import MOST_CELLS, POLICY
from discreet.web.security import CONTENT_SECURITY_POLICY

from ..conftest import Page

TABLE = "/embed/datasets/people?rows=sex&columns=age"


def test_the_policy_lets_any_page_frame_it_and_allows_nothing_else(client):
    """The policy of the other pages, which forbids frames, and one with scripts are the wrong alternatives."""
    policy = client.get(TABLE).headers["content-security-policy"]
    assert policy == POLICY != CONTENT_SECURITY_POLICY
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "*",
    }


def test_no_other_page_may_be_framed(client):
    for address in ("/", "/datasets/people", "/api", "/embed", "/embed/datasets"):
        assert "frame-ancestors 'none'" in client.get(address).headers["content-security-policy"]


def test_it_has_the_numbers_of_the_page_with_note_source_and_a_link(client):
    page, whole = Page(client.get(TABLE)), Page(client.get(TABLE.removeprefix("/embed")))
    assert page.texts("td") == whole.texts("td")
    assert not page.all("script")
    assert not page.all("form")
    text = client.get(TABLE).text
    assert "Counts in this table have been randomly adjusted" in text
    assert "Smallville Statistics" in text
    (link,) = [e for e in page.all("a") if "rows=sex" in e["href"]]
    assert (link["href"], link["target"]) == (
        "http://testserver/datasets/people?rows=sex&columns=age",
        "_blank",
    )


def test_what_is_refused_says_so_in_the_frame(client):
    for query, status in (("rows=sexx", 400), ("rows=sex,age,job,origin", 403), ("colour=red", 400)):
        response = client.get(f"/embed/datasets/people?{query}")
        assert (response.status_code, response.headers["content-security-policy"]) == (status, POLICY)
        assert response.headers["cache-control"] == "no-store"
    large = client.get("/embed/datasets/people?rows=district&columns=origin,age,region")
    assert f"a frame shows at most {MOST_CELLS:,}" in large.text


def test_a_reader_who_has_it_gets_304(watched, watched_client):
    first = watched_client.get(TABLE)
    again = watched_client.get(TABLE, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, watched.engines["people"].calls) == (304, 1)
    assert again.headers["content-security-policy"] == POLICY
