"""Parse the documents of a server: the description of a dataset, and a release from JSON-stat.

A remote release has every number, status and note of the server's release, but no noise distribution: intervals and
tests are requested from the server (`remote.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.api.server_url import request_from_query, split_query
from discreet.errors import BadDescription, BadRequest, ServerUnusable
from discreet.model.dataset import Dataset
from discreet.model.measure import Measure
from discreet.model.protection import Protection
from discreet.model.release import STATUSES, Derived, Release, Selection
from discreet.model.shape import Dimension, Output
from discreet.model.variable import TOTAL, Category, CodeList, Hierarchy, Variable
from discreet.noise.table_distribution import UnstatedDistribution

Document = Mapping[str, Any]
Numbers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ServerDistribution(UnstatedDistribution):
    """The noise distribution, which only the server has."""

    @property
    def laws(self) -> NoReturn:
        """Not available.

        Raises:
            BadRequest: Always.
        """
        raise _ask_server_error()

    @property
    def kind(self) -> NoReturn:
        """Not available, like `laws`."""
        raise _ask_server_error()

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> ServerDistribution:
        """The distribution of fewer cells."""
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
        """The title of the table."""
        return self.label


@contextmanager
def reject_malformed() -> Iterator[None]:
    """Turn parse errors into an error of the server.

    Raises:
        ServerUnusable: A field is missing, or has another type or size.
    """
    try:
        yield
    except (
        ValueError,
        TypeError,
        OSError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
        BadDescription,
        BadRequest,
    ) as error:
        raise ServerUnusable(
            f"The server's answer cannot be read ({type(error).__name__}).",
            "It may be of another version of Discreet, or no server of Discreet at all.",
        ) from None


def read_dataset(document: Document) -> Dataset:
    """The public description of a dataset."""
    protection = document["protection"]
    return Dataset(
        id=document["id"],
        label=document["label"],
        variables=tuple(_variable(each) for each in document["variables"]),
        id_column="",
        **{
            name: document[name]
            for name in ("description", "source", "version", "reference_date", "unit", "population")
        },
        hierarchies=tuple(
            Hierarchy(each["name"], each["label"], tuple(each["levels"]), each["geography"])
            for each in document["hierarchies"]
        ),
        code_lists=tuple(_code_list(each) for each in document.get("code_lists", ())),
        protection=_protection(protection),
    )


def read_release(
    document: Document, dataset: Dataset, tag: str, charged: str, version: str = ""
) -> RemoteRelease:
    """A release from its JSON-stat document."""
    extension, shape = document["extension"], tuple(document["size"])
    listed = document["value"]
    values = _numbers(listed, shape)
    errors, shares = (
        _tenths(extension.get(name), shape) for name in ("relative_standard_error", "noise_share")
    )
    table, view, _ = split_query(extension["query"])
    request = request_from_query(extension["dataset"], table)
    return RemoteRelease(
        dataset=dataset,
        digest=extension["digest"],
        request=request,
        dimensions=tuple(_dimension(name, document) for name in document["id"]),
        values=values,
        noisy=values.astype(np.int64),
        status=_status(document.get("status", {}), shape),
        law=ServerDistribution(shape),
        notes=tuple(document["note"]),
        promise=tuple(extension["confidentiality"]["promise"]),
        errors=errors,
        noise_shares=shares,
        verdict=extension["confidentiality"].get("verdict"),
        measure=_measure(request.measure, document["label"], has_errors=errors is not None),
        charged={"sentence": charged} if charged else None,
        signed=_numbers(extension["signed"], shape) if "signed" in extension else None,
        label=document["label"],
        tag=tag,
        asked_version=version,
        view=view,
        selection=_selection(document),
        derived=tuple(
            _derived_column(name, meaning, extension[name], shape)
            for name, meaning in extension.get("meaning", {}).items()
        ),
    )


def _variable(document: Document) -> Variable:
    categories = tuple(Category(c["code"], c["label"], c["parent"]) for c in document["categories"])
    return Variable(document["name"], document["label"], categories)


def _code_list(document: Document) -> CodeList:
    groups = tuple((c["code"], c["label"], tuple(c["members"])) for c in document["categories"])
    return CodeList(document["name"], document["label"], document["variable"], groups)


def _protection(document: Document) -> Protection:
    """The method, the limits and the additivity; `dp` has no limit of variables."""
    limits = {} if document["method"] == "dp" else {"max_variables": document["max_variables"]}
    return Protection(
        method=document["method"],
        additivity=document.get("additivity", "independent"),
        max_cells=document["max_cells"],
        **limits,
    )


def _measure(name: str, label: str, *, has_errors: bool) -> Measure:
    return Measure(
        name,
        label=lambda _dataset: name,
        title=lambda _dataset: label.partition(" by ")[0],
        subject="",
        is_count=name == "count",
        has_errors=has_errors,
    )


def _dimension(name: str, document: Document) -> Dimension:
    """A dimension with its categories in order, and their parents."""
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
    whole = all(type(number) is int for number in present)
    if whole:
        return np.array(present, dtype=np.int64).reshape(shape)
    return np.array(present, dtype=np.float64).reshape(shape)


def _selection(document: Document) -> Selection | None:
    chosen = document["extension"].get("selection")
    if chosen is None:
        return None
    return Selection(document["label"], tuple((name, tuple(codes)) for name, codes in chosen.items()))


def _derived_column(name: str, meaning: str, listed: list[float | None], shape: tuple[int, ...]) -> Derived:
    missing = np.array([number is None for number in listed]).reshape(shape)
    return Derived(name, meaning, _numbers(listed, shape), missing)


def _tenths(percent: list[float | None] | None, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
    if percent is None:
        return None
    tenths = [-1 if number is None else round(10 * number) for number in percent]
    return np.array(tenths, dtype=np.int64).reshape(shape)


def _status(letters: Mapping[str, str], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    status = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.uint8)
    for place, letter in letters.items():
        status[int(place)] = STATUSES.index(letter)
    return status.reshape(shape)
