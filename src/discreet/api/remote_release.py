"""Parse the documents of a server: the description of a dataset, and a release from JSON-stat.

A remote release has every number, status and note of the server's release, but no noise distribution: intervals and
tests are requested from the server (`remote.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.api.server_url import parse_table_query, split_query
from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.protection import Protection
from discreet.model.release import STATUSES, Derived, Release, Selection
from discreet.model.request import Measure
from discreet.model.shape import Dimension, Output
from discreet.model.variable import TOTAL, Category, CodeList, Hierarchy, Variable
from discreet.noise.table_distribution import UnstatedDistribution

Document = Mapping[str, Any]
Numbers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ServerDistribution(UnstatedDistribution):
    """The noise distribution, which only the server has."""

    @property
    def distributions(self) -> NoReturn:
        """Refused, like `kind`."""
        raise _ask_server_error()

    @property
    def kind(self) -> NoReturn:
        raise _ask_server_error()

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> ServerDistribution:
        return ServerDistribution(tuple(kept.size for kept in places))


def _ask_server_error() -> BadRequest:
    return BadRequest(
        "The server has the law of the noise of this table.",
        "Ask the table: table.interval(), table.intervals(), table.test_independence().",
    )


@dataclass(frozen=True, slots=True, repr=False)
class RemoteRelease(Release):
    """A release of a server.

    Args:
        label: The title, in the server's language.
        tag: The ETag of its document.
        asked_version: The version named in the query; empty for the current one.
    """

    label: str = ""
    tag: str = ""
    asked_version: str = ""

    @property
    def title(self) -> str:
        return self.label


def read_dataset(document: Document) -> Dataset:
    """The public description of a dataset."""
    protection = document["protection"]
    limits = {} if protection["method"] == "dp" else {"max_variables": protection["max_variables"]}
    return Dataset(
        id=document["id"],
        label=document["label"],
        variables=tuple(
            Variable(
                each["name"],
                each["label"],
                tuple(Category(c["code"], c["label"], c["parent"]) for c in each["categories"]),
            )
            for each in document["variables"]
        ),
        id_column="",
        **{
            name: document[name]
            for name in ("description", "source", "version", "reference_date", "unit", "population")
        },
        hierarchies=tuple(
            Hierarchy(each["name"], each["label"], tuple(each["levels"]), each["geography"])
            for each in document["hierarchies"]
        ),
        code_lists=tuple(
            CodeList(
                each["name"],
                each["label"],
                each["variable"],
                tuple((c["code"], c["label"], tuple(c["members"])) for c in each["categories"]),
            )
            for each in document.get("code_lists", ())
        ),
        protection=Protection(
            method=protection["method"],
            additivity=protection.get("additivity", "independent"),
            max_cells=protection["max_cells"],
            **limits,
        ),
    )


def read_release(
    document: Document, dataset: Dataset, tag: str, charged: str, version: str = ""
) -> RemoteRelease:
    """A release from its JSON-stat document."""
    extension, shape = document["extension"], tuple(document["size"])
    label, chosen, values = document["label"], extension.get("selection"), _numbers(document["value"], shape)
    status = np.zeros(values.size, dtype=np.uint8)
    for place, letter in document.get("status", {}).items():
        status[int(place)] = STATUSES.index(letter)
    errors, shares = (
        _tenths(extension.get(name), shape) for name in ("relative_standard_error", "noise_share")
    )
    table, view, _ = split_query(extension["query"])
    request = parse_table_query(extension["dataset"], table)
    return RemoteRelease(
        dataset=dataset,
        digest=extension["digest"],
        request=request,
        dimensions=tuple(_dimension(name, document) for name in document["id"]),
        values=values,
        noisy=values.astype(np.int64),
        status=status.reshape(shape),
        distribution=ServerDistribution(shape),
        notes=tuple(document["note"]),
        promise=tuple(extension["confidentiality"]["promise"]),
        errors=errors,
        noise_shares=shares,
        verdict=extension["confidentiality"].get("verdict"),
        measure=Measure(
            request.measure,
            label=lambda _dataset: request.measure,
            title=lambda _dataset: label.partition(" by ")[0],
            subject="",
            is_count=request.measure == "count",
            has_errors=errors is not None,
        ),
        charged={"sentence": charged} if charged else None,
        signed=_numbers(extension["signed"], shape) if "signed" in extension else None,
        label=label,
        tag=tag,
        asked_version=version,
        view=view,
        selection=None
        if chosen is None
        else Selection(label, tuple((n, tuple(c)) for n, c in chosen.items())),
        derived=tuple(
            Derived(
                name,
                meaning,
                _numbers(extension[name], shape),
                np.array([number is None for number in extension[name]]).reshape(shape),
            )
            for name, meaning in extension.get("meaning", {}).items()
        ),
    )


def _dimension(name: str, document: Document) -> Dimension:
    metadata = document["dimension"][name]
    index, labels = metadata["category"]["index"], metadata["category"]["label"]
    codes = sorted(index, key=index.__getitem__)
    parents = {
        child: index[parent]
        for parent, children in metadata["category"].get("child", {}).items()
        for child in children
    }
    total = codes[-1:] == [TOTAL]
    outputs: list[Output] = []
    for code in codes[:-1] if total else codes:
        parent = parents.get(code, -1)
        outputs.append(
            Output(code, labels[code], (), parent, outputs[parent].depth + 1 if parent >= 0 else 0)
        )
    return Dimension(
        name,
        metadata["label"],
        tuple(outputs),
        population=(),
        base=(),
        total=total,
        geography=name in document.get("role", {}).get("geo", ()),
        total_label=labels[TOTAL] if total else "",
    )


def _numbers(listed: list[float | None], shape: tuple[int, ...]) -> Numbers:
    """Integers where all are; 0 where there is none."""
    present = [0 if number is None else number for number in listed]
    if all(type(number) is int for number in present):
        return np.array(present, dtype=np.int64).reshape(shape)
    return np.array(present, dtype=np.float64).reshape(shape)


def _tenths(percent: list[float | None] | None, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
    if percent is None:
        return None
    tenths = [-1 if number is None else round(10 * number) for number in percent]
    return np.array(tenths, dtype=np.int64).reshape(shape)
