"""What holds for every route: unexpected errors reveal nothing, before and after the first byte."""

import asyncio

import pytest

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.web.context import RequestContext, use_context
from discreet.web.router import RouteDispatcher

SCOPE = {"type": "http", "path": "/x", "root_path": ""}


def route(router, method="GET", refusal=None):
    """What is sent, the error for the exception handlers, and the context of the request."""
    sent = []

    async def send(part):
        sent.append(part)

    with use_context(RequestContext(refusal=refusal)) as context:
        try:
            asyncio.run(RouteDispatcher(router)({**SCOPE, "method": method}, None, send))
        except DiscreetError as error:
            return sent, error, context
    return sent, None, context


def test_a_refusal_of_a_middleware_is_raised_before_any_route(caplog):
    async def router(*_):
        raise AssertionError

    refusal = WorkspaceUnusable("No.", "Later.")
    assert route(router, refusal=refusal)[1] is refusal


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("error", [ValueError("a canary"), BadRequest("a canary", "")])
def test_an_unexpected_exception_is_an_incident_and_its_text_goes_nowhere(caplog, started, error):
    async def router(scope, _receive, send):
        scope["route"] = type("Route", (), {"path": "/datasets/{dataset_id}"})
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    sent, raised, context = route(router)
    assert (len(sent), context.route) == (int(started), "/datasets/{dataset_id}")
    assert "canary" not in caplog.text
    expected = isinstance(error, BadRequest) and not started
    assert ("incident" in caplog.text) is not expected
    assert raised is (error if expected else raised)
    assert started is (raised is None)
    assert expected or "canary" not in str(raised)


def test_head_is_answered_by_the_route_for_get():
    async def router(scope, _receive, _send):
        assert scope["method"] == "GET"

    assert route(router, "HEAD")[2].is_head
    assert not route(router)[2].is_head
