"""Dataflows and their data: one per measure of a dataset, and one per table of some variables.

    census             every variable is a dimension
    census-sex-age     the table of sex by age
    potatoes-weighted  people represented in place of records counted; and so potatoes-weighted-age

The longest dataset id at the start of a name is its dataset. The agency is ignored: clients send their own name of it. A
key selects codes of each dimension: `1+2..R01` the codes 1 and 2 of the first, all of the second, R01 of the third; an empty
position, `*` or the key `all` all codes, the total `_T` included. In the dataflow of a whole dataset a dimension with the
code `_T` alone is no variable of the table: so a key chooses the table. Codes select cells and are never a filter.

A client that asks for SDMX-ML data gets SDMX-JSON: sdmx1 asks for SDMX-ML wherever it knows a structure, and parses by the
type of the response. Source: SDMX REST 1.5, "Data queries", the parameter key.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass

from discreet.errors import BadRequest, NotFound, Refused, UnknownCategory, UnknownDataset, UnknownVariable
from discreet.formats import Format, format_by_name
from discreet.formats.writers.sdmx_data import sdmx_csv, sdmx_json
from discreet.model.dataset import Dataset
from discreet.model.messages.text import nearest
from discreet.model.release import Release, subset_release
from discreet.model.request import Measure, TableRequest
from discreet.model.sdmx import Flow, dataset_flow, flow_word, sdmx_id
from discreet.model.variable import TOTAL, Variable
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.release.measures import measures_of
from discreet.web.negotiation import parse_accept
from discreet.web.responses import check_request

#: The words for every artefact, and for the newest version.
ALL = frozenset({"all", "*"})
LATEST = ALL | {"latest", "+", "~"}


@dataclass(frozen=True, slots=True)
class DescribedFlow:
    """A dataflow and its dataset, with the note that every reader must see; in a whole one a key chooses the table."""

    dataset: Dataset
    flow: Flow
    measure: Measure
    is_whole: bool
    note: str

    @property
    def label(self) -> str:
        """Its label."""
        dataset = self.dataset
        labels = [] if self.is_whole else [dataset.variable(name).label for name in self.flow.dimensions]
        what = [] if self.measure is measures_of(dataset)[0] else [self.measure.label(dataset)]
        return ": ".join([dataset.label, *what, *([", ".join(labels)] if labels else [])])

    @property
    def smaller(self) -> str:
        """The name of a table of two of its variables, for advice; no levels of one geography."""
        names = [name for name in self.flow.dimensions if name not in self.dataset.geography]
        return "-".join([self.dataset.id, *(names or self.flow.dimensions)[:2]])


def open_flow(registry: DatasetRegistry, reference: str) -> tuple[DatasetService, DescribedFlow]:
    """The dataset and dataflow of a data query: `ID`, `AGENCY,ID` or `AGENCY,ID,VERSION`."""
    parts = reference.split(",")
    name = parts[0] if len(parts) == 1 else parts[1]
    service = registry.open(dataset_of(registry.ids(), name))
    found = find_flow(service, name)
    check_version(found.flow.version, parts[2] if len(parts) > 2 else "latest")
    return service, found


def dataset_of(ids: Iterable[str], name: str) -> str:
    """The dataset whose id begins the name of a dataflow.

    >>> dataset_of(["census", "census-dp"], "census-dp-sex")
    'census-dp'
    """
    known = sorted(ids)
    fitting = [dataset for dataset in known if f"{name}-".startswith(f"{dataset}-")]
    if not fitting:
        raise UnknownDataset(f'There is no dataflow "{name}".', nearest(name, known))
    return max(fitting, key=len)


def whole_flows(service: DatasetService) -> list[DescribedFlow]:
    """The dataflows of a dataset with all its variables, one for each measure."""
    names = ["", *(f"-{flow_word(measure.name)}" for measure in measures_of(service.dataset)[1:])]
    return [find_flow(service, f"{service.dataset.id}{name}") for name in names]


def find_flow(service: DatasetService, name: str) -> DescribedFlow:
    """The dataflow of a dataset that has this name; its variables are known and named once."""
    dataset = service.dataset
    first, *others = measures_of(dataset)
    words = name[len(dataset.id) + 1 :].split("-") if name != dataset.id else []
    measure = next((each for each in others if words[:1] == [flow_word(each.name)]), first)
    variables = tuple(words if measure is first else words[1:])
    for variable in variables:
        try:
            dataset.variable(variable)
        except UnknownVariable as error:
            raise NotFound(f'There is no dataflow "{name}". {error.message}', error.advice) from None
    if len(set(variables)) != len(variables):
        raise NotFound(f'The dataflow "{name}" names a variable twice.', "Name each variable once.")
    flow = dataset_flow(dataset, variables, "" if measure is first else measure.name)
    return DescribedFlow(dataset, flow, measure, not variables, service.note())


def check_version(version: str, asked: str) -> None:
    """Refuse a version other than the current one."""
    if asked not in LATEST and asked != version:
        raise NotFound(f'There is no version "{asked}" of it.', f"The version is {version}; ask for latest.")


#: The selected codes of a dimension; dimensions without a selection are missing.
KeyCodes = dict[str, tuple[str, ...]]


def parse_key(described: DescribedFlow, key: str) -> KeyCodes:
    """The codes of a key, which has one position for each dimension."""
    names = described.flow.dimensions
    if key in {"", "all", "*"}:
        return {}
    positions = key.split(".")
    if len(positions) != len(names):
        raise BadRequest(
            f'The key "{key[:200]}" has {len(positions)} positions, and the dataflow has {len(names)} dimensions.',
            f"Write codes in the order {'.'.join(names)}; leave a position empty for all of its codes.",
        )
    return {
        name: _codes(described.dataset.variable(name), position)
        for name, position in zip(names, positions, strict=True)
        if position not in {"", "*"}
    }


def table_variables(described: DescribedFlow, wanted: KeyCodes) -> tuple[str, ...]:
    """The variables of the table of a key, in the order of the dimensions; at least the smallest variable."""
    names = described.flow.dimensions
    if not described.is_whole:
        return names
    shown = tuple(name for name in names if wanted.get(name) != (TOTAL,))
    return shown or (min(names, key=lambda name: len(described.dataset.variable(name))),)


def _codes(variable: Variable, position: str) -> tuple[str, ...]:
    known = {sdmx_id(code): code for code in variable.codes} | {TOTAL: TOTAL}
    asked = set(position.split("+"))
    for name in sorted(asked - set(known)):
        raise UnknownCategory(f'The dimension "{variable.name}" has no code "{name}".', nearest(name, known))
    return tuple(code for name, code in known.items() if name in asked)


_WRITERS: dict[str, Callable[[Release, Flow], Iterator[bytes]]] = {
    "sdmx-json": sdmx_json,
    "sdmx-csv": sdmx_csv,
}
DATA_FORMATS = tuple(_WRITERS)
_CSV = ("application/vnd.sdmx.data+csv", "text/csv")
_JSON = ("application/vnd.sdmx.data+json", "application/json", "text/json", "*/*")


@dataclass(frozen=True, slots=True)
class DataQuery:
    """A data query, checked against the rules of shape."""

    described: DescribedFlow
    wanted: KeyCodes
    checked: CheckedRequest


def parse_data_query(service: DatasetService, described: DescribedFlow, key: str) -> DataQuery:
    """The data query of a key, checked against the rules of shape."""
    wanted = parse_key(described, key)
    variables = table_variables(described, wanted)
    table = TableRequest(service.dataset.id, rows=variables, measure=described.measure.name)
    try:
        return DataQuery(described, wanted, check_request(service, table))
    except Refused as error:
        refusal = copy(error)
        advice = (
            f'Write _T in the key for a dimension that the table shall not have, in the dataflow "{described.dataset.id}"; '
            f'or ask for the dataflow of fewer variables, as in "{described.smaller}".'
        )
        refusal.advice = f"{error.advice} {advice}".strip()
        raise refusal from None


def document(release: Release, query: DataQuery, form: Format) -> Iterator[bytes]:
    """The selected cells of a whole table, as a document in pieces."""
    shown = {d.name for d in release.dimensions}
    codes = {name: codes for name, codes in query.wanted.items() if name in shown}
    return _WRITERS[form.name](subset_release(release, codes), query.described.flow)


def choose_data_format(accept: str) -> Format:
    """The format of a header `Accept` with the highest quality.

    >>> choose_data_format("application/vnd.sdmx.data+csv;version=2.0.0").name, choose_data_format("*/*").name
    ('sdmx-csv', 'sdmx-json')
    """
    best, name = 0.0, "sdmx-json"
    for media_type, quality in parse_accept(accept):
        if media_type in _CSV + _JSON and quality > best:
            best, name = quality, "sdmx-csv" if media_type in _CSV else "sdmx-json"
    return format_by_name(name)
