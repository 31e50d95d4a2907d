"""Structures: what a query gets with each word of `references` and `detail`; and as SDMX-ML, by the schema.

Dataflows by name, keys by position, versions and formats: what a query of SDMX asks for.
"""

import json
from xml.etree import ElementTree as ET

import pytest
from tests.web.conftest import HOSTILE

from discreet.errors import BadRequest, NotFound, UnknownDataset
from discreet.model.sdmx import flow_of
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.sdmx.dataflows import (
    choose_data_format,
    dataset_of,
    document,
    find_flow,
    open_flow,
    parse_data_query,
    parse_key,
    table_variables,
    whole_flows,
)
from discreet.web.sdmx.structures import Query, find_structures, structure_message
from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


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


def test_the_longest_dataset_id_is_meant():
    """Wrong alternative: the first that fits, for which `census-dp` is a variable `dp` of `census`."""
    ids = ["census", "census-dp", "cen"]
    names = ["census", "census-sex", "census-dp", "census-dp-sex-age"]
    assert [dataset_of(ids, name) for name in names] == ["census", "census", "census-dp", "census-dp"]
    for name in ("censuses", "sex-census", "", "-", "cens"):
        with pytest.raises(UnknownDataset):
            dataset_of(ids, name)


def test_a_table_has_its_variables_in_the_order_of_its_name(people):
    assert people("people-age-sex").flow.dimensions == ("age", "sex")
    assert not people("people-age-sex").is_whole
    assert people("people").is_whole


@pytest.mark.parametrize(
    "reference", ["people-sex", "ANY,people-sex", "ANY,people-sex,7.0.0", "A,people-sex,latest"]
)
def test_a_reference_may_name_agency_and_version(small_workspace, reference):
    service, found = open_flow(DatasetRegistry(small_workspace), reference)
    assert (service.dataset.id, found.flow.reference) == ("people", "DISCREET:people-sex(7.0.0)")


def test_a_survey_has_a_dataflow_for_each_measure(tmp_path):
    """Wrong alternative: counts alone, and no sampling error ever reaches a client of SDMX."""
    load_dataset(tmp_path, spudlandia_description(), spudlandia_batches())
    service = DatasetRegistry(Workspace(tmp_path)).open("spudlandia")
    assert [each.flow.id for each in whole_flows(service)] == ["spudlandia", "spudlandia-weighted"]
    found = find_flow(service, "spudlandia-weighted-age")
    assert (found.flow.dimensions, found.measure.name, found.is_whole) == (("age",), "weighted", False)
    assert found.label.endswith(": Estimated persons: Age in years")
    query = parse_data_query(service, found, "all")
    release = service.answer(query.checked)
    assert flow_of(release) == found.flow
    message = json.loads(b"".join(document(release, query, choose_data_format(""))))
    observation = message["dataSets"][0]["observations"]["0"]
    assert observation[0] == release.values[0]
    assert len(observation) == 6, "status, confidentiality, and errors in their places"


@pytest.fixture
def people(small_workspace):
    return lambda name: find_flow(DatasetRegistry(small_workspace).open("people"), name)


def test_an_empty_position_means_all_and_a_plus_joins(people):
    flow = people("people-sex-age-region")
    assert parse_key(flow, "2+1..R1") == {"sex": ("1", "2"), "region": ("R1",)}
    assert parse_key(flow, "*._T+65$2B.") == {"age": ("65+", "_T")}
    assert parse_key(flow, "all") == parse_key(flow, "..") == {}


def test_in_the_dataflow_of_a_dataset_totals_are_no_variables_and_a_table_keeps_its_own(people):
    """Wrong alternative: `_T` leaves a variable out of a named table too, and a fitted total then differs by slice."""

    def asked(name, key):
        return table_variables(people(name), parse_key(people(name), key))

    assert asked("people", "_T._T.1+_T.._T._T") == ("sex", "age")
    assert asked("people", "_T._T._T._T._T._T") == ("region",)
    assert len(asked("people", "all")) == 6
    assert asked("people-sex-age", "_T.65$2B") == ("sex", "age")


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "sdmx-json"),
        ("application/vnd.sdmx.data+csv;version=2.0.0", "sdmx-csv"),
        ("application/json;q=0.5, text/csv;q=0.4", "sdmx-json"),
        ("application/json;q=0.5, text/csv", "sdmx-csv"),
        ("text/csv;q=0, */*;q=0.1", "sdmx-json"),
        ("application/vnd.sdmx.structurespecificdata+xml;version=2.1", "sdmx-json"),
        ("text/csv;q=high", "sdmx-csv"),
    ],
)
def test_accept_chooses_the_format(accept, name):
    assert choose_data_format(accept).name == name
