"""Which structures a query gets: the ones it names, and those that they refer to or that refer to them.

    dataflow  >  datastructure  >  conceptscheme, codelist

    CS_census        the concepts of a dataset: its variables, the value, the attributes
    CL_census_sex    the codes of one variable, its total included
    CL_OBS_STATUS, CL_CONF_STATUS    SDMX's own codes, as far as we use them

Source: SDMX REST 1.5, "Structural metadata queries".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, NotFound
from discreet.model.nearest import nearest
from discreet.model.sdmx import CONF_STATUS, OBS_STATUS, sdmx_id, structure_version
from discreet.model.variable import TOTAL
from discreet.server.datasets import usable
from discreet.server.sdmx.flows import ALL, DescribedFlow, check_version, dataset_of, named_flow, whole_flows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.answer.doors import Doors
    from discreet.model.dataset import Dataset

#: The kinds of structures, and how deep each lies.
DEPTH = {"dataflow": 0, "datastructure": 1, "conceptscheme": 2, "codelist": 2}
_REFERENCES = ("none", "parents", "parentsandsiblings", "children", "descendants", "all", *DEPTH)
_FULL = ("full", "referencepartial")
_STUBS = ("allstubs", "allcompletestubs")
_REFERENCE_STUBS = ("referencestubs", "referencecompletestubs")
#: Code lists that belong to no dataset, and their version.
OWN_LISTS = {
    "CL_OBS_STATUS": ("Observation status", OBS_STATUS),
    "CL_CONF_STATUS": ("Confidentiality", CONF_STATUS),
}
OWN_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class CodeListOf:
    """The code list of a variable, its total last; without a dataset, one of our own lists."""

    dataset: Dataset | None
    name: str

    @property
    def id(self) -> str:
        """Its name; no dataset id has an underscore, so that it can be read back."""
        return self.name if self.dataset is None else f"CL_{self.dataset.id}_{self.name}"

    @property
    def label(self) -> str:
        """How people call it."""
        return OWN_LISTS[self.name][0] if self.dataset is None else self.dataset.variable(self.name).label

    @property
    def version(self) -> str:
        """That of its dataset."""
        return OWN_VERSION if self.dataset is None else structure_version(self.dataset)

    def codes(self) -> Iterator[tuple[str, str]]:
        """Ids and labels."""
        if self.dataset is None:
            yield from OWN_LISTS[self.name][1]
            return
        for category in self.dataset.variable(self.name).categories:
            yield sdmx_id(category.code), category.label
        yield TOTAL, "Total"


@dataclass(frozen=True, slots=True)
class Structures:
    """The answer to a query.

    Args:
        dataflows: Those that are told.
        datastructures: The dataflows whose data structures are told.
        conceptschemes: The datasets whose concepts are told.
        codelists: The code lists.
        stubs: The kinds of which only names are told.
    """

    dataflows: tuple[DescribedFlow, ...]
    datastructures: tuple[DescribedFlow, ...]
    conceptschemes: tuple[Dataset, ...]
    codelists: tuple[CodeListOf, ...]
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
        """The kinds that are told beside what is named."""
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
        """The kinds of which only names are told."""
        if self.detail in _REFERENCE_STUBS:
            return frozenset(DEPTH) - {self.kind}
        return frozenset(DEPTH) if self.detail in _STUBS else frozenset()


def find_structures(doors: Doors, query: Query) -> Structures:
    """What a query gets.

    Raises:
        NotFound: There is no such artefact, or not in this version.
    """
    flows = _flows(doors, query)
    told = query.shown | {query.kind}
    datasets = tuple({each.dataset.id: each.dataset for each in flows}.values())
    lists = _code_lists(flows)
    if "codelist" not in query.shown and query.id not in ALL:
        lists = tuple(each for each in lists if each.id == query.id)
    return Structures(
        flows if "dataflow" in told else (),
        flows if "datastructure" in told else (),
        datasets if "conceptscheme" in told else (),
        lists if "codelist" in told else (),
        query.stubs,
    )


def scheme_id(dataset: Dataset) -> str:
    """The name of a dataset's concepts."""
    return f"CS_{dataset.id}"


def _flows(doors: Doors, query: Query) -> tuple[DescribedFlow, ...]:
    """The dataflows that a query is about; of a code list or a concept scheme, those of its dataset."""
    if query.id in ALL or query.id in OWN_LISTS:
        return tuple(flow for door in usable(doors) for flow in whole_flows(door))
    name = query.id if query.kind in {"dataflow", "datastructure"} else _dataset_in(query)
    found = named_flow(doors.door(dataset_of(doors.ids(), name)), name)
    if query.kind == "codelist" and query.id not in {each.id for each in _code_lists((found,))}:
        raise NotFound(
            f'There is no codelist "{query.id}".', "Ask for the datastructure with references=all."
        )
    check_version(found.flow.version, query.version)
    return (found,)


def _dataset_in(query: Query) -> str:
    """The dataset in the name of a code list or a concept scheme: `CL_census_sex`, `CS_census`."""
    kind, _, rest = query.id.partition("_")
    return rest.partition("_")[0] if kind in {"CL", "CS"} else query.id


def _code_lists(flows: tuple[DescribedFlow, ...]) -> tuple[CodeListOf, ...]:
    """The code lists of the dimensions and attributes of dataflows, each once."""
    of_variables = {
        (each.dataset.id, name): CodeListOf(each.dataset, name)
        for each in flows
        for name in each.flow.dimensions
    }
    return (*of_variables.values(), *(CodeListOf(None, name) for name in OWN_LISTS))
