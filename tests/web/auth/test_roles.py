"""What may not be seen is as if it were not there: at every route of the application, and in every list."""

from __future__ import annotations

import re

import pytest
from tests.web.conftest import with_key

from discreet.errors import BadOption
from discreet.web.auth.identity import RequestAuthoriser

#: What stands for the parts of an address; a new name must be added here, with the dataset in it where it has one.
PARTS = {
    "dataset_id": "{0}",
    "table_id": "{0}",
    "flow": "{0}",
    "list_id:path": "vs_{0}_district",
    "query_id": "none",
    "variable": "district",
    "code": "bad-key",
    "kind": "dataflow",
    "agency": "all",
    "id": "{0}",
    "version": "latest",
    "key": "all",
    "provider": "all",
    "name": "sex",
}
#: Routes that need a query to find what they tell.
QUERIES = {"table": "rows=sex", "independence": "rows=sex&columns=age", "interval": "rows=sex"}
BODIES = {"/api/pxweb/v2/savedqueries": {"tableId": "{0}"}, "/api/pxweb/v2/tables/{table_id}/data": {}}
#: Words that only the hidden dataset has.
TELLS = ("Smallville", "People of")


def all_routes(routes):
    """Every route with its methods, those of included routers too."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from all_routes(inner.routes)
        elif getattr(route, "methods", None):
            yield route


def asked(client, route, dataset, headers):
    """The answers of one route about one dataset, by each of its methods."""
    path = re.sub(r"{(.*?)}", lambda part: PARTS[part[1]].format(dataset), route.path)
    query = next((words for end, words in QUERIES.items() if path.endswith(end)), "")
    body = {name: text.format(dataset) for name, text in BODIES.get(route.path, {}).items()}
    for method in sorted(route.methods - {"HEAD"}):
        json = body if method == "POST" else None
        address = f"{path}?{query}".rstrip("?")
        yield client.request(method, address, headers=headers, json=json, follow_redirects=False)


def worded(answer, dataset):
    """An answer without the name that was asked for; one that names none stays as it is."""
    named = dataset in f"{answer.request.url}{answer.request.content!r}"
    return answer.status_code, answer.text.replace(dataset, "ID") if named else answer.text


@pytest.mark.parametrize(
    "who", [None, *(pytest.param(who, marks=pytest.mark.slow) for who in ("reader", "elsewhere", "lowered"))]
)
def test_a_dataset_that_may_not_be_seen_answers_at_every_route_as_one_that_does_not_exist(
    office_client, office, who
):
    """401 or 403 for it is the wrong alternative: that would tell that it is there."""
    headers = {} if who is None else with_key(office[1][who])
    routes = list(all_routes(office_client.app.routes))
    assert len(routes) > 50
    for route in routes:
        hidden = [worded(each, "people") for each in asked(office_client, route, "people", headers)]
        absent = [worded(each, "absent") for each in asked(office_client, route, "absent", headers)]
        assert hidden == absent, route.path
        assert not [tell for _, text in hidden for tell in TELLS if tell in text], route.path


def test_who_may_see_it_gets_it_at_the_same_addresses(office_client, office):
    """The test above could not fail if these addresses never answered."""
    headers, answered = with_key(office[1]["analyst"]), 0
    for route in all_routes(office_client.app.routes):
        for answer in asked(office_client, route, "people", headers):
            answered += answer.status_code < 400 and "people" in str(answer.request.url)
    assert answered >= 15


@pytest.mark.parametrize("who", [None, "analyst"])
def test_lists_show_what_may_be_seen_and_nothing_else(office_client, office, who):
    headers = {} if who is None else with_key(office[1][who])
    lists = ("/", "/?search=smallville", "/api/datasets", "/.well-known/dcat", "/feed.atom", "/api/pxweb/v2/tables",
             "/api/sdmx/dataflow")  # fmt: skip
    for path in lists:
        answer = office_client.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert any(tell in answer.text for tell in TELLS) == (who is not None), path


def test_an_audience_that_nobody_knows_is_refused():
    with pytest.raises(BadOption, match="access"):
        RequestAuthoriser("everybody")
