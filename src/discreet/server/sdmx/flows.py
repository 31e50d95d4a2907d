"""The dataflows that a server has: one for each measure of a dataset, and one for each table of some variables.

    census             every variable is a dimension
    census-sex-age     the table of sex by age
    potatoes-weighted  people represented in place of records counted; and so potatoes-weighted-age

The longest dataset id that begins a name is meant: `census-dp-sex` is a table of `census-dp`. The agency is not
looked at, since clients send the name that their user gave to this source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.answer.measures import measures_of
from discreet.errors import NotFound, UnknownVariable
from discreet.model.nearest import nearest
from discreet.model.sdmx import Flow, dataset_flow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.model.dataset import Dataset
    from discreet.model.measure import Measure

#: What a client writes for every artefact, and for the newest version.
ALL = frozenset({"all", "*"})
LATEST = ALL | {"latest", "+", "~"}


@dataclass(frozen=True, slots=True)
class DescribedFlow:
    """A dataflow with the dataset that it is of.

    Args:
        dataset: Public description.
        flow: Name, version and dimensions.
        measure: What the values say.
        is_whole: Whether it has all variables of the dataset, so that a key chooses the table.
        note: What every reader must be told.
    """

    dataset: Dataset
    flow: Flow
    measure: Measure
    is_whole: bool
    note: str

    @property
    def label(self) -> str:
        """How people call it."""
        dataset = self.dataset
        labels = [] if self.is_whole else [dataset.variable(name).label for name in self.flow.dimensions]
        what = [] if self.measure is measures_of(dataset)[0] else [self.measure.label(dataset)]
        return ": ".join([dataset.label, *what, *([", ".join(labels)] if labels else [])])

    @property
    def smaller(self) -> str:
        """The name of a table of two of its variables, for advice; no levels of one geography."""
        names = [name for name in self.flow.dimensions if name not in self.dataset.geography]
        return "-".join([self.dataset.id, *(names or self.flow.dimensions)[:2]])


def open_flow(doors: Doors, reference: str) -> tuple[Door, DescribedFlow]:
    """The dataflow of a data query, and the door to its dataset.

    Args:
        doors: Those of the server.
        reference: `ID`, `AGENCY,ID` or `AGENCY,ID,VERSION`.

    Raises:
        NotFound: There is no such dataflow, or not in this version.
    """
    parts = reference.split(",")
    name = parts[0] if len(parts) == 1 else parts[1]
    door = doors.door(dataset_of(doors.ids(), name))
    found = named_flow(door, name)
    check_version(found.flow.version, parts[2] if len(parts) > 2 else "latest")
    return door, found


def dataset_of(ids: Iterable[str], name: str) -> str:
    """The dataset whose id begins the name of a dataflow.

    >>> dataset_of(["census", "census-dp"], "census-dp-sex")
    'census-dp'
    """
    known = sorted(ids)
    fitting = [dataset for dataset in known if f"{name}-".startswith(f"{dataset}-")]
    if not fitting:
        raise NotFound(f'There is no dataflow "{name}".', nearest(name, known))
    return max(fitting, key=len)


def whole_flows(door: Door) -> list[DescribedFlow]:
    """The dataflows of a dataset with all its variables, one for each measure."""
    names = ["", *(f"-{measure.name}" for measure in measures_of(door.dataset)[1:])]
    return [named_flow(door, f"{door.dataset.id}{name}") for name in names]


def named_flow(door: Door, name: str) -> DescribedFlow:
    """The dataflow of a dataset that has this name.

    Raises:
        NotFound: A variable is unknown or is named twice.
    """
    dataset = door.dataset
    first, *others = measures_of(dataset)
    words = name[len(dataset.id) + 1 :].split("-") if name != dataset.id else []
    measure = next((each for each in others if words[:1] == [each.name]), first)
    variables = tuple(words if measure is first else words[1:])
    for variable in variables:
        try:
            dataset.variable(variable)
        except UnknownVariable as error:
            raise NotFound(f'There is no dataflow "{name}". {error.message}', error.advice) from None
    if len(set(variables)) != len(variables):
        raise NotFound(f'The dataflow "{name}" names a variable twice.', "Name each variable once.")
    flow = dataset_flow(dataset, variables, "" if measure is first else measure.name)
    return DescribedFlow(dataset, flow, measure, not variables, door.note())


def check_version(version: str, asked: str) -> None:
    """Refuse a version that is not the one which is served."""
    if asked not in LATEST and asked != version:
        raise NotFound(f'There is no version "{asked}" of it.', f"The version is {version}; ask for latest.")
