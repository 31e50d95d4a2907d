"""`nonzero=yes`: the lines of the whole table that are not 0, within the server's own limit."""

import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import Doors
from discreet.server.app import create_app
from discreet.workspace.options import read_options

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
    client = TestClient(create_app(Doors(small_workspace), few))
    refused = client.get(URL, params={**ASKED, "nonzero": "yes"})
    assert refused.json()["type"].endswith("too-many-cells")
