"""JSON-stat 2.0: dense values, category indices as objects, status by position.

The mandatory note is `note[0]`; what the protection promises is under `extension.confidentiality`. Where numbers
below zero are shown as zero, `extension.signed` has them as they were. A total is the category `_T`.
Read by pyjstat, rjstat and jsonstat-toolkit; https://json-stat.org/full/.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from discreet.formats import Format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension


def to_json_stat(release: Release) -> bytes:
    """The release as a JSON-stat 2.0 dataset."""
    return json.dumps(json_stat(release), ensure_ascii=False, allow_nan=False).encode()


def json_stat(release: Release) -> dict[str, Any]:
    """The release as the JSON-stat 2.0 structure."""
    import numpy as np

    from discreet.model.release import STATUSES

    dataset = release.dataset
    status = release.status.ravel()
    marked = np.flatnonzero(status)
    document: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": release.title,
        "source": dataset.source,
        "note": list(release.notes),
        "id": [dimension.name for dimension in release.dimensions],
        "size": [dimension.length for dimension in release.dimensions],
        "dimension": {dimension.name: _dimension(dimension) for dimension in release.dimensions},
        "value": _numbers(release, release.values),
        "status": {str(place): STATUSES[status[place]] for place in marked.tolist()},
        "extension": _extension(release),
    }
    geography = [dimension.name for dimension in release.dimensions if dimension.geography]
    if geography:
        document["role"] = {"geo": geography}
    return document


def _numbers(release: Release, numbers: NDArray[np.int64] | NDArray[np.float64]) -> list[float | None]:
    """Numbers in the order of the cells; null where nothing is released."""
    import numpy as np

    listed: list[float | None] = [*numbers.ravel().tolist()]
    for place in np.flatnonzero(release.missing.ravel()).tolist():
        listed[place] = None
    return listed


def _dimension(dimension: Dimension) -> dict[str, Any]:
    index = {code: place for place, code in enumerate(dimension.codes)}
    labels = dict(zip(dimension.codes, dimension.labels, strict=True))
    category: dict[str, Any] = {"index": index, "label": labels}
    children: dict[str, list[str]] = {}
    for output in dimension.outputs:
        if output.parent >= 0:
            children.setdefault(dimension.outputs[output.parent].code, []).append(output.code)
    if children:
        category["child"] = children
    return {"label": dimension.label, "category": category}


def _errors(release: Release) -> dict[str, Any]:
    """Of a weighted table: errors and the noise's share of them, in percent, in the order of the values."""
    if release.errors is None or release.noise_shares is None:
        return {}
    return {
        "relative_standard_error": _percent(release, release.errors),
        "noise_share": _percent(release, release.noise_shares),
    }


def _derived(release: Release) -> dict[str, Any]:
    """Percentages and ranks, in the order of the values, and what they mean."""
    from discreet.model.columns import numbers_of

    names = [column.name for column in release.derived]
    columns = {numbers.name: numbers for numbers in numbers_of(release) if numbers.name in names}
    meanings = {name: numbers.meaning for name, numbers in columns.items()}
    found: dict[str, Any] = {name: numbers.listed() for name, numbers in columns.items()}
    return found | ({"meaning": meanings} if meanings else {})


def _percent(release: Release, tenths: NDArray[np.int64]) -> list[float | None]:
    """Tenths of a percent as percent; null where there is none."""
    import numpy as np

    shown = np.where(release.missing, -1, tenths).ravel().tolist()
    return [None if number < 0 else number / 10 for number in shown]


def _extension(release: Release) -> dict[str, Any]:
    from discreet.model.release import STATUS_MEANING

    dataset = release.dataset
    return {
        "dataset": dataset.id,
        "dataset_version": dataset.version,
        "digest": release.digest,
        "unit": dataset.unit,
        "population": dataset.population,
        "reference_date": dataset.reference_date,
        "query": release.query,
        **({} if release.selection is None else {"selection": dict(release.selection.codes)}),
        "measure": release.request.measure,
        **({} if release.signed is None else {"signed": _numbers(release, release.signed)}),
        **_errors(release),
        **_derived(release),
        "status": {"label": STATUS_MEANING},
        "confidentiality": {
            "method": dataset.protection.method,
            "perturbed": True,
            "additivity": release.request.additivity or dataset.protection.additivity,
            **release.law.document(),
            "promise": list(release.promise),
            **({} if release.verdict is None else {"verdict": dict(release.verdict)}),
        },
    }


FORMAT = Format(
    "json",
    "JSON-stat",
    "JSON-stat 2.0",
    "json",
    "application/json; charset=utf-8",
    to_json_stat,
    python_name="json_stat",
)
