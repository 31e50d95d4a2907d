"""Structures: what a query gets with each word of `references` and `detail`; and as SDMX-ML, by the schema."""

from xml.etree import ElementTree as ET

import pytest
from tests.web.conftest import HOSTILE

from discreet.errors import BadRequest, NotFound
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.sdmx.structures import Query, find_structures, structure_message


@pytest.fixture
def found(small_workspace):
    def find(*parts, **words):
        return find_structures(DatasetRegistry(small_workspace), Query(*parts, **words))

    return find


KINDS = ("dataflows", "datastructures", "conceptschemes", "codelists")


@pytest.mark.parametrize(
    ("parts", "references", "told"),
    [
        (("dataflow",), "none", (2, 0, 0, 0)),
        (("dataflow", "people-sex-age"), "children", (1, 1, 0, 0)),
        (("dataflow", "people-sex-age"), "descendants", (1, 1, 1, 4)),
        (("dataflow", "people"), "parents", (1, 0, 0, 0)),
        (("datastructure", "people"), "children", (0, 1, 1, 8)),
        (("datastructure", "people"), "codelist", (0, 1, 0, 8)),
        (("codelist", "CL_people_sex"), "parents", (0, 1, 0, 1)),
        (("codelist", "CL_people_sex"), "parentsandsiblings", (0, 1, 1, 8)),
        (("codelist", "CL_OBS_STATUS"), "none", (0, 0, 0, 1)),
        (("conceptscheme", "CS_people"), "all", (0, 1, 1, 8)),
        (("codelist", "all"), "none", (0, 0, 0, 10)),
    ],
)
def test_references_lead_up_down_and_aside(found, parts, references, told):
    structures = found(*parts, references=references)
    assert tuple(len(getattr(structures, kind)) for kind in KINDS) == told


def test_detail_says_what_is_told_by_name_only(found):
    stubs = found("dataflow", "people", detail="allstubs").stubs
    assert stubs == {"dataflow", "datastructure", "conceptscheme", "codelist"}
    assert "dataflow" not in found("dataflow", "people", detail="referencestubs").stubs
    assert not found("dataflow", "people").stubs


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (("dataflow", "people", "6.0"), NotFound),
        (("dataflow", "people", "latest", "all", "half"), BadRequest),
    ],
)
def test_what_there_is_not_is_refused(found, parts, error):
    with pytest.raises(error):
        found(*parts)


STR = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure}"
COM = "{http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common}"


@pytest.fixture
def message(found):
    """A message as a tree of elements."""
    return lambda *parts, **words: ET.fromstring(structure_message(found(*parts, **words)))  # noqa: S314 - our own


def test_the_lists_and_components_stand_in_the_order_of_the_schema(message):
    """The schema of SDMX 2.1 knows one order; sdmx1 does not mind, other programs do."""
    root = message("dataflow", "people", references="all")
    lists = [each.tag.removeprefix(STR) for each in root[1]]
    assert lists == ["Dataflows", "Codelists", "Concepts", "DataStructures"]
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
    assert not {"script", "img"} & {each.tag.rpartition("}")[2] for each in root.iter()}


def test_a_stub_has_a_name_and_nothing_else(message):
    root = message("datastructure", "people", references="all", detail="allstubs")
    for tag in ("Dataflow", "DataStructure", "Codelist", "ConceptScheme"):
        for each in root.iter(f"{STR}{tag}"):
            assert each.get("isExternalReference") == "true"
            assert [part.tag for part in each] == [f"{COM}Name"]
