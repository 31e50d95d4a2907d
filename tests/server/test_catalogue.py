"""The catalogue as harvesters read it: complete by DCAT-AP, with links that lead to documents of their format."""

from discreet.answer.doors import Doors
from discreet.formats import formats
from discreet.server.catalogue import CONTEXT, schema_org
from discreet.workspace.options import read_options

from .conftest import HOSTILE_LABEL

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
    catalogue = client.get("/.well-known/dcat").json()
    found = {node.get("@type"): node for node in nodes(catalogue)}
    assert set(MANDATORY) <= set(found)
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
    door = Doors(small_workspace).door("people")
    named = schema_org(
        door, read_options(small_folder, publisher="The Office", licence="https://l.example/by")
    )
    assert (named["publisher"]["name"], named["license"]) == ("The Office", "https://l.example/by")
    plain = schema_org(door, read_options(small_folder))
    assert plain["publisher"]["name"] == "Smallville Statistics"
    assert "license" not in plain
    assert plain["version"] == "7"
    assert len(plain["variableMeasured"]) == 6


def test_no_number_of_records_is_told(client, small_workspace):
    text = client.get("/.well-known/dcat").text
    assert "617" not in text
    assert HOSTILE_LABEL in [node.get("dct:title") for node in nodes(client.get("/.well-known/dcat").json())]
