"""The dataflows that a server has: one for each dataset, and one for each table of some of its variables.

    census             every variable is a dimension
    census-sex-age     the table of sex by age

The longest dataset id that begins a name is meant: `census-dp-sex` is a table of `census-dp`. The agency is not
looked at, since clients send the name that their user gave to this source.

Comes from: `routes`. Goes to: `structures`, `data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import NotFound, UnknownVariable, nearest
from discreet.model.sdmx import Flow, dataset_flow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.answer.door import Door, Doors
    from discreet.model.dataset import Dataset

#: What a client writes for every artefact, and for the newest version.
ALL = frozenset({"all", "*"})
LATEST = ALL | {"latest", "+", "~"}


@dataclass(frozen=True, slots=True)
class DescribedFlow:
    """A dataflow with the dataset that it is of."""

    dataset: Dataset
    flow: Flow

    @property
    def is_whole(self) -> bool:
        """Whether it is the dataflow of the dataset, with all its variables."""
        return self.flow.id == self.dataset.id


def open_flow(doors: Doors, reference: str, key: str | None = None) -> tuple[Door, DescribedFlow]:
    """The dataflow of a data query, and the door to its dataset.

    Args:
        doors: Those of the server.
        reference: `ID`, `AGENCY,ID` or `AGENCY,ID,VERSION`.
        key: The API key of whoever asks.

    Raises:
        NotFound: There is no such dataflow, or not in this version.
        BadKey: The key is unknown or revoked.
    """
    parts = reference.split(",")
    name = parts[0] if len(parts) == 1 else parts[1]
    door = doors.door(dataset_of(doors.ids(), name), key)
    found = named_flow(door.dataset, name)
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


def named_flow(dataset: Dataset, name: str) -> DescribedFlow:
    """The dataflow of a dataset that has this name.

    Raises:
        NotFound: A variable is unknown or is named twice.
    """
    rest = name[len(dataset.id) + 1 :]
    variables = tuple(rest.split("-")) if rest else ()
    for variable in variables:
        try:
            dataset.variable(variable)
        except UnknownVariable as error:
            raise NotFound(f'There is no dataflow "{name}". {error.message}', error.advice) from None
    if len(set(variables)) != len(variables):
        raise NotFound(f'The dataflow "{name}" names a variable twice.', "Name each variable once.")
    return DescribedFlow(dataset, dataset_flow(dataset, variables))


def check_version(version: str, asked: str) -> None:
    """Refuse a version that is not the one which is served."""
    if asked not in LATEST and asked != version:
        raise NotFound(f'There is no version "{asked}" of it.', f"The version is {version}; ask for latest.")
