"""Structures as SDMX-ML 2.1: the form in which SDMX's clients read dataflows, data structures and code lists.

The note that every reader must be told is an annotation of each dataflow. All text goes through the standard library's
writer, so that a label stays a label. What XML cannot hold, such as NUL, becomes U+FFFD.

Source: SDMX 2.1, section 3A, the schemas SDMXMessage and SDMXStructure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, register_namespace, tostring

from discreet.model.sdmx import AGENCY, OF_TABLES, OF_VALUES, PREPARED, structure_version
from discreet.server.sdmx.structures import OWN_LISTS, CodeListOf, Structures, scheme_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.server.sdmx.flows import DescribedFlow

MEDIA_TYPE = "application/vnd.sdmx.structure+xml; version=2.1; charset=utf-8"
_SPACES = {
    "mes": "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message",
    "str": "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure",
    "com": "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common",
}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
for _prefix, _space in _SPACES.items():
    register_namespace(_prefix, _space)


def structure_message(structures: Structures) -> bytes:
    """The document."""
    root = Element(_name("mes:Structure"))
    header = SubElement(root, _name("mes:Header"))
    for name, text in (("ID", "structures"), ("Test", "false"), ("Prepared", PREPARED)):
        SubElement(header, _name(f"mes:{name}")).text = text
    SubElement(header, _name("mes:Sender"), id=AGENCY)
    body = SubElement(root, _name("mes:Structures"))
    stubs = structures.stubs
    for flow in structures.dataflows:
        _dataflow(_within(body, "Dataflows"), flow, stub="dataflow" in stubs)
    for code_list in structures.codelists:
        _codelist(_within(body, "Codelists"), code_list, stub="codelist" in stubs)
    for dataset in structures.conceptschemes:
        _concepts(_within(body, "Concepts"), dataset, stub="conceptscheme" in stubs)
    for flow in structures.datastructures:
        _datastructure(_within(body, "DataStructures"), flow, stub="datastructure" in stubs)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _dataflow(parent: Element, described: DescribedFlow, *, stub: bool) -> None:
    flow = described.flow
    element = _artefact(parent, "Dataflow", flow.id, flow.version, described.label, stub=stub)
    if stub:
        return
    annotations = Element(_name("com:Annotations"))
    _text(SubElement(annotations, _name("com:Annotation"), id="NOTE"), "com:AnnotationText", described.note)
    element.insert(0, annotations)
    if described.is_whole:
        _text(element, "com:Description", _how_to_ask(described))
    _reference(
        SubElement(element, _name("str:Structure")), "datastructure", "DataStructure", flow.id, flow.version
    )


def _how_to_ask(described: DescribedFlow) -> str:
    return (
        f'{described.dataset.description} The dataflow "{described.smaller}" is the table of these variables, and so '
        "for others. In this one write _T for every dimension that the table shall not have."
    ).strip()


def _codelist(parent: Element, code_list: CodeListOf, *, stub: bool) -> None:
    element = _artefact(parent, "Codelist", code_list.id, code_list.version, code_list.label, stub=stub)
    if not stub:
        _items(element, "str:Code", code_list.codes())


def _concepts(parent: Element, dataset: Dataset, *, stub: bool) -> None:
    name, version = scheme_id(dataset), structure_version(dataset)
    element = _artefact(parent, "ConceptScheme", name, version, dataset.label, stub=stub)
    variables = {variable.name: variable.label for variable in dataset.variables}
    if not stub:
        _items(
            element, "str:Concept", (variables | {"OBS_VALUE": dataset.unit} | OF_VALUES | OF_TABLES).items()
        )


def _items(parent: Element, tag: str, items: Iterable[tuple[str, str]]) -> None:
    for name, label in items:
        _text(SubElement(parent, _name(tag), id=name), "com:Name", label)


def _datastructure(parent: Element, described: DescribedFlow, *, stub: bool) -> None:
    flow, dataset = described.flow, described.dataset
    element = _artefact(parent, "DataStructure", flow.id, flow.version, described.label, stub=stub)
    if stub:
        return
    parts = SubElement(element, _name("str:DataStructureComponents"))
    dimensions = SubElement(parts, _name("str:DimensionList"), id="DimensionDescriptor")
    for place, name in enumerate(flow.dimensions, start=1):
        component = _component(dimensions, "Dimension", name, dataset, position=str(place))
        _coded(component, CodeListOf(dataset, name))
    attributes = SubElement(parts, _name("str:AttributeList"), id="AttributeDescriptor")
    for name in (*OF_VALUES, *OF_TABLES):
        _attribute(attributes, name, dataset)
    measures = SubElement(parts, _name("str:MeasureList"), id="MeasureDescriptor")
    _component(measures, "PrimaryMeasure", "OBS_VALUE", dataset)


def _attribute(parent: Element, name: str, dataset: Dataset) -> None:
    """An attribute of the values, or of the whole table."""
    always = name in OF_TABLES or f"CL_{name}" in OWN_LISTS
    status = "Mandatory" if always else "Conditional"
    component = _component(parent, "Attribute", name, dataset, assignmentStatus=status)
    if f"CL_{name}" in OWN_LISTS:
        _coded(component, CodeListOf(None, f"CL_{name}"))
    relation = SubElement(component, _name("str:AttributeRelationship"))
    if name in OF_TABLES:
        SubElement(relation, _name("str:None"))
    else:
        SubElement(SubElement(relation, _name("str:PrimaryMeasure")), "Ref", id="OBS_VALUE")


def _component(parent: Element, tag: str, name: str, dataset: Dataset, **told: str) -> Element:
    """A component that takes its meaning from a concept of the dataset."""
    component = SubElement(parent, _name(f"str:{tag}"), {"id": name, **told})
    SubElement(
        SubElement(component, _name("str:ConceptIdentity")),
        "Ref",
        {
            "id": name,
            "maintainableParentID": scheme_id(dataset),
            "maintainableParentVersion": structure_version(dataset),
            "agencyID": AGENCY,
            "package": "conceptscheme",
            "class": "Concept",
        },
    )
    return component


def _coded(component: Element, code_list: CodeListOf) -> None:
    representation = SubElement(component, _name("str:LocalRepresentation"))
    enumeration = SubElement(representation, _name("str:Enumeration"))
    _reference(enumeration, "codelist", "Codelist", code_list.id, code_list.version)


def _reference(parent: Element, package: str, kind: str, name: str, version: str) -> None:
    told = {"id": name, "version": version, "agencyID": AGENCY, "package": package, "class": kind}
    SubElement(parent, "Ref", told)


def _artefact(parent: Element, tag: str, name: str, version: str, label: str, *, stub: bool) -> Element:
    told = {
        "id": name,
        "agencyID": AGENCY,
        "version": version,
        "isExternalReference": "true" if stub else "false",
    }
    element = SubElement(parent, _name(f"str:{tag}"), told)
    _text(element, "com:Name", label)
    return element


def _text(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, _name(tag), {_LANGUAGE: "en"}).text = _NOT_IN_XML.sub("\ufffd", text)


def _within(body: Element, tag: str) -> Element:
    """The list of a kind, which is there if anything is in it."""
    found = body.find(_name(f"str:{tag}"))
    return SubElement(body, _name(f"str:{tag}")) if found is None else found


def _name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_SPACES[prefix]}}}{local}"
