import shutil

import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import open_doors
from discreet.server.app import create_app
from discreet.workspace.load import load_dataset
from discreet.workspace.options import read_options

from .conftest import people_description, people_records


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("/.well-known/dcat", "application/ld+json"),
        (
            "/.well-known/api-catalog",
            'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
        ),
        ("/feed.atom", "application/atom+xml; charset=utf-8"),
    ],
)
def test_each_has_its_media_type_a_tag_and_no_parameters(client, address, kind):
    found = client.get(address)
    assert (found.status_code, found.headers["content-type"]) == (200, kind)
    assert client.get(address, headers={"if-none-match": found.headers["etag"]}).status_code == 304
    refused = client.get(address + "?x=1")
    assert (refused.status_code, refused.headers["content-type"]) == (400, "application/problem+json")


def test_the_links_for_programs_lead_to_the_description_and_the_catalogue(client):
    (links,) = client.get("/.well-known/api-catalog").json()["linkset"]
    for address in (links["anchor"], links["service-desc"][0]["href"], links["service-meta"][0]["href"]):
        assert client.get(address).status_code == 200


@pytest.mark.slow
def test_a_new_version_is_a_new_entry_and_another_tag(small_folder, tmp_path):
    folder = shutil.copytree(small_folder, tmp_path / "w")
    client = TestClient(create_app(open_doors(folder), read_options(folder)))
    before = client.get("/feed.atom")
    assert "1970" not in before.text
    load_dataset(folder, people_description().replace('version = "7"', 'version = "8"'), people_records())
    after = client.get("/feed.atom", headers={"if-none-match": before.headers["etag"]})
    assert (after.status_code, "version 8" in after.text, "version 7" in after.text) == (200, True, True)
    assert after.text.count("<entry>") == before.text.count("<entry>") + 1
