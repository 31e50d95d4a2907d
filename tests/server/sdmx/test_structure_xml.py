"""Structures as SDMX-ML: the order of the schema, references that resolve, and labels that stay labels."""

from xml.etree import ElementTree as ET

import pytest
from tests.server.conftest import HOSTILE

from discreet.answer.doors import Doors
from discreet.server.sdmx.structure_xml import structure_message
from discreet.server.sdmx.structures import Query, find_structures

STR = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure}"
COM = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common}"


@pytest.fixture
def message(small_workspace):
    def make(*parts, **words):
        return ET.fromstring(  # noqa: S314 - our own document
            structure_message(find_structures(Doors(small_workspace), Query(*parts, **words)))
        )

    return make


def test_the_lists_and_components_stand_in_the_order_of_the_schema(message):
    """The schema of SDMX 2.1 knows one order; sdmx1 does not mind, other programs do."""
    root = message("dataflow", "people", references="all")
    assert [each.tag.removeprefix(STR) for each in root[1]] == [
        "Dataflows",
        "Codelists",
        "Concepts",
        "DataStructures",
    ]
    (parts,) = root.iter(f"{STR}DataStructureComponents")
    assert [each.tag.removeprefix(STR) for each in parts] == ["DimensionList", "AttributeList", "MeasureList"]


def test_every_reference_leads_to_something_in_the_message(message):
    root = message("dataflow", "all", references="all")
    known = {
        (each.tag.removeprefix(STR), each.get("id"), each.get("version"))
        for tag in ("Codelist", "ConceptScheme", "DataStructure")
        for each in root.iter(f"{STR}{tag}")
    }
    concepts = {
        (scheme.get("id"), concept.get("id"))
        for scheme in root.iter(f"{STR}ConceptScheme")
        for concept in scheme.iter(f"{STR}Concept")
    }
    references = [each.attrib for each in root.iter("Ref")]
    assert len(references) > 20
    for told in references:
        if told.get("class") == "Concept":
            assert (told["maintainableParentID"], told["id"]) in concepts
        elif "class" in told:
            assert (told["class"], told["id"], told["version"]) in known


def test_hostile_labels_stay_labels(message):
    """Wrong alternative: text pasted into XML, where a label becomes an element or ends the document."""
    root = message("codelist", "CL_hostile_bad")
    labels = [each.find(f"{COM}Name").text for each in root.iter(f"{STR}Code")]
    assert labels[:3] == list(HOSTILE.values())[:3]
    assert labels[3] == "nul � and bell �"
    tags = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert tags == {
        "Structure", "Header", "ID", "Test", "Prepared", "Sender", "Structures", "Codelists", "Codelist", "Name", "Code"
    }  # fmt: skip


def test_a_stub_has_a_name_and_nothing_else(message):
    root = message("datastructure", "people", references="all", detail="allstubs")
    for tag in ("Dataflow", "DataStructure", "Codelist", "ConceptScheme"):
        for each in root.iter(f"{STR}{tag}"):
            assert each.get("isExternalReference") == "true"
            assert [part.tag for part in each] == [f"{COM}Name"]
