"""The feed as a reader of feeds sees it: parsed again, with hostile labels in it.

The catalogue as harvesters read it: complete by DCAT-AP, with links that lead to documents of their format.
"""

from contextlib import closing
from dataclasses import replace
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest

from discreet.formats import formats
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.api.dcat import ATOM, CONTEXT, atom_feed, schema_org
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

from ..conftest import HOSTILE_LABEL, client_of, people_description, people_records

LOADED = {"people": "2026-01-02T03:04:05Z", "hostile": "2026-05-06T00:00:00Z"}


def entries(workspace):
    registry = DatasetRegistry(workspace)
    found = [
        (registry.open(name), [replace(facts, loaded=when) for facts in registry.versions(name)])
        for name, when in LOADED.items()
    ]
    feed = ET.fromstring(atom_feed(found, "An <office>"))  # noqa: S314 - our own feed
    return registry, feed, feed.findall(f"{{{ATOM}}}entry")


def text(element, name):
    return element.find(f"{{{ATOM}}}{name}").text


def test_each_version_that_is_served_is_an_entry_with_its_time_and_labels_stay_text(small_workspace):
    registry, feed, (first, second) = entries(small_workspace)
    assert text(feed, "updated") == text(first, "updated") == "2026-05-06T00:00:00Z"
    assert text(second, "updated") == "2026-01-02T03:04:05Z"
    assert text(second, "id") == UUID(registry.open("people").digest).urn
    assert text(second, "title") == "People of Smallville, version 7"
    assert "Reference date: 2026-01-01." in text(second, "summary")
    assert text(feed.find(f"{{{ATOM}}}author"), "name") == "An <office>"
    assert text(first, "title").startswith(HOSTILE_LABEL)
    assert {child.tag.rpartition("}")[2] for child in first} == {"id", "title", "updated", "link", "summary"}
    empty = ET.fromstring(atom_feed([], None))  # noqa: S314 - our own feed
    assert text(empty, "updated") == "1970-01-01T00:00:00Z"


def test_every_version_of_the_history_has_an_entry_with_its_own_time(town_versions):
    """Wrong alternative: the served version alone, or a time that nobody wrote down."""
    with closing(open_registry(town_versions)) as registry:
        facts = registry.versions("town")
        times = [f"2026-0{number}-01T00:00:00Z" for number in (1, 2, 3)]
        known = [replace(each, loaded=when) for each, when in zip(facts, times, strict=True)]
        feed = ET.fromstring(atom_feed([(registry.open("town"), known)], None))  # noqa: S314 - our own feed
        found = feed.findall(f"{{{ATOM}}}entry")
        assert [text(entry, "updated") for entry in found] == times[::-1]
        assert [text(entry, "id") for entry in found] == [UUID(hex=each.digest).urn for each in facts[::-1]]
        served, beside, closed = (text(entry, "summary") for entry in found)
        assert "is served" in served
        assert "is answered where a link names it" in beside
        assert "few records" in closed
        links = [entry.find(f"{{{ATOM}}}link").get("href").rpartition("?")[2] for entry in found]
        assert links[1] == f"version={facts[1].digest[:8]}"
        unknown = [replace(each, loaded="") for each in facts[:2]]
        feed = ET.fromstring(atom_feed([(registry.open("town"), [*unknown, known[2]])], None))  # noqa: S314
        assert [text(entry, "updated") for entry in feed.findall(f"{{{ATOM}}}entry")] == times[2:]


#: What DCAT-AP 3.0 makes mandatory.
MANDATORY = {
    "dcat:Catalog": {"dct:title", "dct:description", "dct:publisher", "dcat:dataset"},
    "dcat:Dataset": {"dct:title", "dct:description"},
    "dcat:Distribution": {"dcat:accessURL"},
    "dcat:DataService": {"dct:title", "dcat:endpointURL"},
    "foaf:Agent": {"foaf:name"},
}


def nodes(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


def test_the_catalogue_has_what_dcat_ap_demands(client):
    answer = client.get("/.well-known/dcat")
    catalogue = answer.json()
    assert "617" not in answer.text, "the number of records"
    assert HOSTILE_LABEL in [node.get("dct:title") for node in nodes(catalogue)]
    assert set(MANDATORY) <= {node.get("@type") for node in nodes(catalogue)}
    for node in nodes(catalogue):
        assert MANDATORY.get(node.get("@type"), set()) <= set(node)
        names = [name for name in node if ":" in name and name not in CONTEXT]
        assert all(name.partition(":")[0] in CONTEXT for name in names if not name.startswith("@"))


def test_each_dataset_has_a_file_in_each_format_that_can_be_fetched(client):
    """An address without the table's variables would answer 400: it is rejected here."""
    catalogue = client.get("/.well-known/dcat").json()
    people = next(d for d in catalogue["dcat:dataset"] if d["dct:identifier"] == "people")
    files = people["dcat:distribution"]
    assert len(files) == len([form for form in formats() if not form.is_picture])
    for file in files:
        answer = client.get(file["dcat:downloadURL"]["@id"])
        assert answer.status_code == 200
        assert file["dcat:mediaType"]["@id"].endswith(answer.headers["content-type"].partition(";")[0])
    assert client.get(people["dcat:landingPage"]["@id"]).status_code == 200
    assert client.get(catalogue["dcat:service"]["dcat:endpointDescription"]["@id"]).status_code == 200


def test_publisher_and_licence_come_from_the_options_else_the_source(small_workspace, small_folder):
    service = DatasetRegistry(small_workspace).open("people")
    options = {"publisher": "The Office", "licence": "https://l.example/by"}
    named = schema_org(service, read_options(small_folder, **options))
    assert (named["publisher"]["name"], named["license"]) == ("The Office", "https://l.example/by")
    plain = schema_org(service, read_options(small_folder))
    assert plain["publisher"]["name"] == "Smallville Statistics"
    assert "license" not in plain
    assert plain["version"] == "7"
    assert len(plain["variableMeasured"]) == 6


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
def test_a_new_version_is_a_new_entry_and_another_tag(small_copy):
    client = client_of(small_copy)
    before = client.get("/feed.atom")
    assert "1970" not in before.text
    load_dataset(small_copy, people_description().replace('version = "7"', 'version = "8"'), people_records())
    after = client.get("/feed.atom", headers={"if-none-match": before.headers["etag"]})
    assert (after.status_code, "version 8" in after.text, "version 7" in after.text) == (200, True, True)
    assert after.text.count("<entry>") == before.text.count("<entry>") + 1
