import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.requests import Request
from starlette.responses import Response

from discreet import __version__
from discreet.server import answer

TABLE = "/api/datasets/people/table?rows=sex&columns=age"


@pytest.mark.parametrize("address", [TABLE, TABLE + "&format=csv", "/datasets/people?rows=sex&columns=age"])
def test_a_reader_who_has_the_table_gets_304_without_an_engine_call(watched, watched_client, address):
    first = watched_client.get(address)
    assert (first.status_code, watched.engines["people"].calls) == (200, 1)
    again = watched_client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert watched.engines["people"].calls == 1


@pytest.mark.parametrize(
    "address", ["/", "/api/datasets", "/api/datasets/people", "/errors", "/errors/refused"]
)
def test_what_needs_no_counting_has_an_etag_too(client, address):
    tag = client.get(address).headers["etag"]
    assert client.get(address, headers={"if-none-match": f'"other", W/{tag}'}).status_code == 304


def test_another_tag_gets_the_table_again(watched, watched_client):
    assert watched_client.get(TABLE, headers={"if-none-match": '"another"'}).status_code == 200
    assert watched.engines["people"].calls == 1


def test_the_tag_is_strong_and_the_copy_must_be_revalidated(client):
    response = client.get(TABLE)
    assert response.headers["etag"].startswith('"')
    assert response.headers["cache-control"] == "public, max-age=0, must-revalidate"


def test_the_tag_depends_on_layout_format_and_version_and_on_nothing_else(client, monkeypatch):
    tag = client.get(TABLE).headers["etag"]
    assert client.get("/api/datasets/people/table?columns=age&rows=sex&format=json").headers["etag"] == tag
    assert client.get(TABLE + "&format=csv").headers["etag"] != tag
    assert client.get("/api/datasets/people/table?rows=age&columns=sex").headers["etag"] != tag
    monkeypatch.setattr(answer, "__version__", __version__ + ".1")
    other = {"accept": "*/*;q=0.5"}  # a key of its own at the front
    assert client.get(TABLE, headers=other).headers["etag"] != tag


def test_head_has_the_headers_of_get_and_no_body(client):
    for address in (TABLE, "/", "/datasets/people", "/static/discreet.css", "/nothing"):
        got, head = client.get(address), client.head(address)
        assert (head.status_code, head.content) == (got.status_code, b"")
        for name in ("content-type", "content-length", "etag", "cache-control"):
            assert head.headers.get(name) == got.headers.get(name), (address, name)


def test_the_server_itself_sends_no_body_for_head(client):
    """Clients drop the body of a HEAD answer, so what is sent is looked at before it reaches one."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "HEAD", "path": "/api/datasets/people/table", "query_string": b"rows=sex",
        "headers": [(b"host", b"testserver")], "http_version": "1.1", "scheme": "http", "server": ("testserver", 80),
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:  # a browser test before this one may have left a loop in this thread
        pool.submit(lambda: asyncio.run(client.app(scope, receive, send))).result()
    assert sent[0]["status"] == 200
    assert [message["body"] for message in sent[1:]] == [b""]


def test_a_refusal_has_no_tag_and_cannot_become_304(client):
    response = client.get("/api/datasets/people/table?rows=sexx", headers={"if-none-match": "*"})
    assert response.status_code == 400
    assert "etag" not in response.headers


@pytest.mark.parametrize(("path", "made"), [("/datasets/people", 2), ("/api/datasets/people/table", 1)])
def test_a_page_for_an_account_is_neither_kept_nor_taken(client, path, made):
    """A page may speak to whoever asks; a document is the same for everybody who may ask for it."""
    calls = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [],
        "app": client.app,
    }
    for account in (True, False):
        request = Request(scope | {"discreet.account": account, "server": ("x", 80), "scheme": "http"})
        tag = answer.strong_tag("account", path)
        answer.conditional(request, tag, lambda: calls.append(1) or Response(b"a"), lasting=True)
    assert len(calls) == made
