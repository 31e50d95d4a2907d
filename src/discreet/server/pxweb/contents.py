"""The contents variable: what the numbers of a table say, as PxWeb's programs expect it.

A dataset's measures are its values; a measure with sampling errors also has its errors and the noise's share of them,
since these programs read nothing but values. Whoever does not select it gets the dataset's first measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.answer.measures import measures_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset

_NAME = "ContentsCode"
LABEL = "Contents"
_BESIDE = {
    "relative_standard_error": "relative standard error, sampling and noise together",
    "noise_share": "share of the noise in the error's variance",
}


@dataclass(frozen=True, slots=True)
class Content:
    """One value of the contents variable.

    Args:
        code: Its code.
        label: What people call it.
        measure: The measure that a request names for it.
        numbers: Which numbers of a release it shows, by their name in `model/columns.py`.
        unit: What it counts in.
        decimals: How many it has.
    """

    code: str
    label: str
    measure: str
    numbers: str
    unit: str
    decimals: int


def contents_name(dataset: Dataset) -> str:
    """The code of the contents variable; no variable of the dataset has it."""
    taken = {variable.name.casefold() for variable in dataset.variables}
    name = _NAME
    while name.casefold() in taken:
        name += "_"
    return name


def contents_of(dataset: Dataset) -> tuple[Content, ...]:
    """Every value of the contents variable of a dataset, the default first."""
    found = []
    for measure in measures_of(dataset):
        title = measure.title(dataset)
        found.append(Content(measure.name, title, measure.name, "value", dataset.unit, 0))
        if measure.has_errors:
            found += [
                Content(f"{measure.name}_{name}", f"{title}: {meaning}", measure.name, name, "percent", 1)
                for name, meaning in _BESIDE.items()
            ]
    return tuple(found)


def contents_dimension(contents: Iterable[Content]) -> dict[str, Any]:
    """The contents variable as a dimension of JSON-stat."""
    listed = list(contents)
    return {
        "label": LABEL,
        "category": {
            "index": {content.code: place for place, content in enumerate(listed)},
            "label": {content.code: content.label for content in listed},
            "unit": {
                content.code: {"base": content.unit, "decimals": content.decimals} for content in listed
            },
        },
        "extension": {"elimination": False, "show": "value", "codelists": [], "codeLists": []},
    }
