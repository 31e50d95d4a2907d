import pytest

from discreet.api.server_url import (
    ServerUrl,
    is_confidential,
    is_url,
    parse_table_query,
    parse_url,
    split_query,
)
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.model.view import VIEW_PARAMETERS, View


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://example.org", ServerUrl("https://example.org")),
        ("https://example.org/", ServerUrl("https://example.org")),
        ("HTTPS://example.org:8443/stats/", ServerUrl("https://example.org:8443/stats")),
        ("http://[::1]:8000/datasets/census", ServerUrl("http://[::1]:8000", "census")),
        ("https://h/a/datasets/census/?rows=sex#table", ServerUrl("https://h/a", "census", "rows=sex")),
        ("https://h/datasets/datasets/x", ServerUrl("https://h/datasets", "x")),
    ],
)
def test_an_address_names_a_server_and_perhaps_a_table(text, found):
    assert is_url(text)
    assert parse_url(text) == found


@pytest.mark.parametrize("text", ["https://", "https://me:x1y2z3@example.org", "http://example.org:port"])
def test_an_address_that_cannot_be_used_is_refused_with_advice(text):
    with pytest.raises(BadRequest) as refused:
        parse_url(text)
    assert refused.value.advice
    assert "x1y2z3" not in str(refused.value)


def test_a_folder_is_no_address():
    assert not any(map(is_url, ("census", "C:/data", "/srv/https", "ftp://example.org", None)))


def test_only_tls_and_this_machine_are_private():
    assert all(map(is_confidential, ("http://localhost:8000", "http://[::1]:8000")))
    assert not any(map(is_confidential, ("http://127.0.0.1.example.org", "http://10.0.0.1")))


def test_the_query_of_a_page_is_the_request_that_wrote_it():
    request = TableRequest(
        "census",
        ("sex",),
        ("age",),
        filters=(("bad", ("a,b", "c+d=e", "x\\y", "é&?")),),
        groups=(("age", (("1", "2"), ("3",))),),
        totals=False,
        measure="weighted",
        additivity="fitted",
        fit_to=("sex*age",),
    )
    assert parse_table_query("census", request.permalink) == request


def test_a_server_and_its_client_read_the_same_parameters():
    """Wrong: a parameter of the server that the client leaves out of its questions."""
    from discreet.web.urls import TABLE_PARAMETERS

    for name in (*TABLE_PARAMETERS, *VIEW_PARAMETERS):
        assert parse_table_query("census", split_query(f"rows=sex&{name}=")[0]) is not None
    with pytest.raises(BadRequest):
        parse_table_query("census", "rows=sex&nothing=")


def test_the_view_and_the_version_of_an_address_are_told_apart_from_its_table():
    """Wrong: to leave out what a page was asked with, or to read it as a variable's."""
    view = View("sex=1,age=_T", rank=True, top=3, hide_empty=True, sort="-age=b")
    query = "&".join(["rows=sex&filter=age=a%2Cb", *(f"{name}={text}" for name, text in view.to_query())])
    assert split_query(f"{query}&version=1") == ("rows=sex&filter=age=a,b", view, "1")
    for wrong in ("top=x", "rank=maybe", "version=1&version=2", "percent=rows", "sort=x"):
        with pytest.raises(BadRequest):
            split_query(wrong)


def test_a_parameter_or_a_value_that_a_table_does_not_have_is_refused_and_never_left_out():
    """Wrong: to take `totals=maybe` as yes, which a server refuses."""
    for query in ("row=sex", "rows=sex&measure=count&measure=weighted", "rows=sex&totals=maybe"):
        with pytest.raises(BadRequest):
            parse_table_query("census", query)
    for text, totals in (("", True), ("&totals=", True), ("&totals=yes", True), ("&totals=no", False)):
        assert parse_table_query("census", f"rows=sex{text}").totals is totals
