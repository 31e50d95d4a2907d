"""What is told of a dataset: read, refused with what to do, and shown wherever people and catalogues look."""

import json

import pytest

import discreet
from discreet.answer.doors import Doors
from discreet.errors import BadDescription
from discreet.model.about import About, about_of
from discreet.model.dataset_toml import parse_dataset
from discreet.server.catalogue import dcat_catalogue, schema_org
from discreet.server.documents import description
from discreet.workspace.options import read_options

ABOUT = """
[about]
publisher = "Office"
licence = "https://example.org/licence"
contact = "tables@example.org"
keywords = ["towns"]
spatial = "Nowhere"
temporal = "2026-01-01/2026-12-31"
next_update = "2027-03-01"
"""
WORDS = """label = "Sex"
description = "As stated."
universe = "everybody"
notes = "New in 2026."
source = "Register"
classification = "https://example.org/sex"
"""


@pytest.fixture(scope="module")
def text(town):
    return town.description.replace('label = "Sex"\n', WORDS, 1).replace(
        "[[variable]]", ABOUT + "[[variable]]", 1
    )


@pytest.fixture(scope="module")
def workspace(town, text, tmp_path_factory):
    opened = town.load(tmp_path_factory.mktemp("about"), text)
    yield opened
    opened.close()


def test_it_is_read_whole(text):
    dataset = parse_dataset(text)
    assert dataset.about.temporal == "2026-01-01/2026-12-31"
    assert dataset.about.keywords == ("towns",)
    assert dataset.variable("sex").universe == "everybody"
    assert About().as_json() == {}


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("x", "not a section"),
        ({"publishr": "x"}, "unknown key"),
        ({"keywords": "x"}, "`keywords`"),
        ({"contact": 5}, "`contact`"),
        ({"contact": ["x"]}, "`contact`"),
    ],
)
def test_what_is_wrong_is_said(section, said):
    with pytest.raises(BadDescription, match=said):
        about_of(section)


def test_a_classification_is_a_web_address(text):
    with pytest.raises(BadDescription, match="no web address"):
        parse_dataset(text.replace("https://example.org/sex", "javascript:alert(1)"))


def test_programs_and_catalogues_are_told(workspace):
    door = Doors(workspace).door("town")
    options = read_options(workspace.folder)
    found = schema_org(door, options)
    assert found["license"] == "https://example.org/licence"
    assert found["publisher"]["contactPoint"]["email"] == "tables@example.org"
    assert found["spatialCoverage"] == "Nowhere"
    sex = {"name": "Sex", "description": "As stated.", "sameAs": "https://example.org/sex"}
    assert {"@type": "PropertyValue", **sex} in found["variableMeasured"]
    (listed,) = dcat_catalogue([(door, "")], options)["dcat:dataset"]
    assert listed["dct:temporal"]["dcat:endDate"]["@value"] == "2026-12-31"
    assert listed["dcat:keyword"][0] == "towns"
    assert listed["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:tables@example.org"}
    document = description(door)
    assert document.about.next_update == "2027-03-01"
    assert next(v for v in document.variables if v.name == "sex").notes == "New in 2026."


def test_a_file_is_told_and_numbers_do_not_change(workspace, town_workspace):
    with discreet.open(workspace.folder) as told, discreet.open(town_workspace.folder) as plain:
        here, there = (json.loads(each.table("town", rows=["sex"]).to_json_stat()) for each in (told, plain))
    assert here["extension"]["about"]["publisher"] == "Office"
    assert here["dimension"]["sex"]["note"] == ["New in 2026."]
    assert here["dimension"]["sex"]["extension"]["universe"] == "everybody"
    assert here["value"] == there["value"]
    assert "about" not in there["extension"]
