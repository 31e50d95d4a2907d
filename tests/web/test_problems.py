"""Every error is a problem with its code and advice; the state of the server stays in its log."""

import re

import pytest
from starlette.exceptions import HTTPException

from discreet.errors import SecretUnusable, all_errors

from .conftest import Page, broken_workspace, client_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_every_error_code_has_a_page_that_explains_it(client, kind):
    page = Page(client.get(f"/errors/{kind.code}"))
    assert page.texts("h1") == [kind.title]
    assert len(page.texts("p", class_="lead")[0]) > 20
    assert f"/errors/{kind.code}" in [e["href"] for e in Page(client.get("/errors")).all("a")]


@pytest.mark.parametrize(
    "address", ["/nothing", "/datasets/peple", "/errors/none", "/datasets/people/variables/x"]
)
def test_errors_of_pages_are_pages(client, address):
    response = client.get(address)
    assert (response.status_code, response.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert Page(response).all("h1")


@pytest.mark.parametrize("address", ["/api/datasets", "/api/datasets/people", "/", "/datasets/people"])
def test_the_state_of_the_server_is_told_to_its_log_only(small_folder, caplog, address):
    error = SecretUnusable("The secret can be read by others.", "Run chmod 600.")
    response = client_of(broken_workspace(error, small_folder)).get(address)
    assert response.status_code == 503
    assert "chmod" not in response.text
    assert "read by others" not in response.text
    assert "secret-unusable" in response.text
    assert "read by others" in caplog.text


def test_an_http_error_of_the_framework_becomes_a_problem(small_workspace):
    client = client_of(small_workspace)

    @client.app.get("/api/teapot")
    def teapot(cups: int):
        raise HTTPException(418, "short and stout")

    assert client.get("/api/teapot?cups=2").json()["code"] == "bad-request"
    unread = client.get("/api/teapot?cups=two").json()
    assert (unread["status"], unread["detail"]) == (400, 'The parameter "cups" cannot be read.')


def test_a_page_does_not_repeat_the_title_of_an_error(client):
    page = client.get("/", headers={"authorization": "Bearer none"})
    assert page.status_code == 401
    assert re.findall(r">(The API key is not accepted[^<]*)<", page.text) == [
        "The API key is not accepted – Discreet",
        "The API key is not accepted",
    ]
