"""Structure queries, and their answers as SDMX-ML 2.1.

A query returns the structures that it names, and those that they refer to or that refer to them:

    dataflow  >  datastructure  >  conceptscheme, codelist

    CS_census        the concepts of a dataset: its variables, the value, the attributes
    CL_census_sex    the codes of one variable, its total included
    CL_OBS_STATUS, CL_CONF_STATUS    SDMX's own codes, as far as they occur

The note of a dataset is an annotation of each dataflow. Characters that XML does not allow become U+FFFD.

Source: SDMX REST 1.5, "Structural metadata queries"; SDMX 2.1, section 3A, the schemas SDMXMessage and SDMXStructure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, register_namespace, tostring

from discreet.errors import BadRequest, NotFound
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
from discreet.model.sdmx import (
    AGENCY,
    CONF_STATUS,
    OBS_STATUS,
    OF_TABLES,
    OF_VALUES,
    PREPARED,
    sdmx_id,
    structure_version,
)
from discreet.model.variable import TOTAL
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.sdmx.dataflows import ALL, DescribedFlow, check_version, dataset_of, find_flow, whole_flows

#: The kinds of structures with their depth.
DEPTH = {"dataflow": 0, "datastructure": 1, "conceptscheme": 2, "codelist": 2}
_REFERENCES = ("none", "parents", "parentsandsiblings", "children", "descendants", "all", *DEPTH)
_FULL = ("full", "referencepartial")
_STUBS = ("allstubs", "allcompletestubs")
_REFERENCE_STUBS = ("referencestubs", "referencecompletestubs")


@dataclass(frozen=True, slots=True)
class StructureCodeList:
    """A code list, with the ids and labels of its codes."""

    id: str
    label: str
    version: str
    codes: tuple[tuple[str, str], ...]


def _list_of_variable(dataset: Dataset, name: str) -> StructureCodeList:
    """The codes of a variable, its total last. No dataset id has an underscore, so the id can be parsed."""
    variable = dataset.variable(name)
    codes = ((sdmx_id(category.code), category.label) for category in variable.categories)
    version = structure_version(dataset)
    return StructureCodeList(f"CL_{dataset.id}_{name}", variable.label, version, (*codes, (TOTAL, "Total")))


#: Code lists without a dataset.
OWN_LISTS = {
    each.id: each
    for each in (
        StructureCodeList("CL_OBS_STATUS", "Observation status", "1.0.0", tuple(OBS_STATUS)),
        StructureCodeList("CL_CONF_STATUS", "Confidentiality", "1.0.0", tuple(CONF_STATUS)),
    )
}


@dataclass(frozen=True, slots=True)
class Structures:
    """The answer to a query; kinds in `stubs` are included by name only."""

    dataflows: tuple[DescribedFlow, ...]
    datastructures: tuple[DescribedFlow, ...]
    conceptschemes: tuple[Dataset, ...]
    codelists: tuple[StructureCodeList, ...]
    stubs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Query:
    """A structure query: `kind/agency/id/version?references=..&detail=..`."""

    kind: str
    id: str = "all"
    version: str = "latest"
    references: str = "none"
    detail: str = "full"

    def __post_init__(self) -> None:
        if self.kind not in DEPTH:
            raise NotFound(
                f'There is no resource "{self.kind}" here.', f"The server has {', '.join(DEPTH)} and data."
            )
        for name, word, known in (
            ("references", self.references, _REFERENCES),
            ("detail", self.detail, _FULL + _STUBS + _REFERENCE_STUBS),
        ):
            if word not in known:
                raise BadRequest(f'{name} is "{word}".', nearest(word, known))

    @property
    def shown(self) -> frozenset[str]:
        """The kinds that are included in addition to the named ones."""
        depth, word = DEPTH[self.kind], self.references
        wanted = {
            "none": set[int](),
            "parents": {depth - 1},
            "parentsandsiblings": {depth - 1, depth} if depth else set(),
            "children": {depth + 1},
            "descendants": {depth + 1, depth + 2},
            "all": {depth - 1, depth, depth + 1, depth + 2} if depth else {1, 2},
        }
        if word in DEPTH:
            return frozenset({word})
        return frozenset(kind for kind, at in DEPTH.items() if at in wanted[word])

    @property
    def stubs(self) -> frozenset[str]:
        """The kinds that are included by name only."""
        if self.detail in _REFERENCE_STUBS:
            return frozenset(DEPTH) - {self.kind}
        return frozenset(DEPTH) if self.detail in _STUBS else frozenset()


def find_structures(registry: DatasetRegistry, query: Query) -> Structures:
    """The structures of a query; NotFound if there is no such artefact, or not in this version."""
    flows = _flows(registry, query)
    kinds = query.shown | {query.kind}
    datasets = tuple({each.dataset.id: each.dataset for each in flows}.values())
    lists = _code_lists(flows)
    if "codelist" not in query.shown and query.id not in ALL:
        lists = tuple(each for each in lists if each.id == query.id)
    return Structures(
        flows if "dataflow" in kinds else (),
        flows if "datastructure" in kinds else (),
        datasets if "conceptscheme" in kinds else (),
        lists if "codelist" in kinds else (),
        query.stubs,
    )


def scheme_id(dataset: Dataset) -> str:
    """The id of a dataset's concept scheme."""
    return f"CS_{dataset.id}"


def _flows(registry: DatasetRegistry, query: Query) -> tuple[DescribedFlow, ...]:
    """The dataflows of a query; for a code list or a concept scheme, those of its dataset."""
    if query.id in ALL or query.id in OWN_LISTS:
        return tuple(flow for service in open_datasets(registry) for flow in whole_flows(service))
    name = query.id
    if query.kind not in {"dataflow", "datastructure"} and name.startswith(("CL_", "CS_")):
        name = name.split("_")[1]
    found = find_flow(registry.open(dataset_of(registry.ids(), name)), name)
    if query.kind == "codelist" and query.id not in {each.id for each in _code_lists((found,))}:
        raise NotFound(
            f'There is no codelist "{query.id}".', "Ask for the datastructure with references=all."
        )
    check_version(found.flow.version, query.version)
    return (found,)


def _code_lists(flows: tuple[DescribedFlow, ...]) -> tuple[StructureCodeList, ...]:
    of_variables = {
        (each.dataset.id, name): _list_of_variable(each.dataset, name)
        for each in flows
        for name in each.flow.dimensions
    }
    return (*of_variables.values(), *OWN_LISTS.values())


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
    """The SDMX-ML document."""
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
        stub, parent = "codelist" in stubs, _within(body, "Codelists")
        element = _artefact(parent, "Codelist", code_list.id, code_list.version, code_list.label, stub=stub)
        if not stub:
            _items(element, "str:Code", code_list.codes)
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
        usage = (
            f'{described.dataset.description} The dataflow "{described.smaller}" is the table of these variables, and so '
            "for others. In this one write _T for every dimension that the table shall not have."
        )
        _text(element, "com:Description", usage.strip())
    _reference(
        SubElement(element, _name("str:Structure")), "datastructure", "DataStructure", flow.id, flow.version
    )


def _concepts(parent: Element, dataset: Dataset, *, stub: bool) -> None:
    name, version = scheme_id(dataset), structure_version(dataset)
    element = _artefact(parent, "ConceptScheme", name, version, dataset.label, stub=stub)
    if not stub:
        labels = {variable.name: variable.label for variable in dataset.variables}
        labels |= {"OBS_VALUE": dataset.unit} | OF_VALUES | OF_TABLES
        _items(element, "str:Concept", labels.items())


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
        _code_element(component, _list_of_variable(dataset, name))
    attributes = SubElement(parts, _name("str:AttributeList"), id="AttributeDescriptor")
    for name in (*OF_VALUES, *OF_TABLES):
        always = name in OF_TABLES or f"CL_{name}" in OWN_LISTS
        status = "Mandatory" if always else "Conditional"
        component = _component(attributes, "Attribute", name, dataset, assignmentStatus=status)
        if f"CL_{name}" in OWN_LISTS:
            _code_element(component, OWN_LISTS[f"CL_{name}"])
        relation = SubElement(component, _name("str:AttributeRelationship"))
        if name in OF_TABLES:
            SubElement(relation, _name("str:None"))
        else:
            SubElement(SubElement(relation, _name("str:PrimaryMeasure")), "Ref", id="OBS_VALUE")
    measures = SubElement(parts, _name("str:MeasureList"), id="MeasureDescriptor")
    _component(measures, "PrimaryMeasure", "OBS_VALUE", dataset)


def _component(parent: Element, tag: str, name: str, dataset: Dataset, **attributes: str) -> Element:
    component = SubElement(parent, _name(f"str:{tag}"), {"id": name, **attributes})
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


def _code_element(component: Element, code_list: StructureCodeList) -> None:
    representation = SubElement(component, _name("str:LocalRepresentation"))
    enumeration = SubElement(representation, _name("str:Enumeration"))
    _reference(enumeration, "codelist", "Codelist", code_list.id, code_list.version)


def _reference(parent: Element, package: str, kind: str, name: str, version: str) -> None:
    attributes = {"id": name, "version": version, "agencyID": AGENCY, "package": package, "class": kind}
    SubElement(parent, "Ref", attributes)


def _artefact(parent: Element, tag: str, name: str, version: str, label: str, *, stub: bool) -> Element:
    attributes = {"id": name, "agencyID": AGENCY, "version": version}
    attributes["isExternalReference"] = "true" if stub else "false"
    element = SubElement(parent, _name(f"str:{tag}"), attributes)
    _text(element, "com:Name", label)
    return element


def _text(parent: Element, tag: str, text: str) -> None:
    SubElement(parent, _name(tag), {_LANGUAGE: "en"}).text = _NOT_IN_XML.sub("\ufffd", text)


def _within(body: Element, tag: str) -> Element:
    """The element that lists structures of a kind, added if missing."""
    found = body.find(_name(f"str:{tag}"))
    return SubElement(body, _name(f"str:{tag}")) if found is None else found


def _name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_SPACES[prefix]}}}{local}"
