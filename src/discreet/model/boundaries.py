"""Boundaries of areas: a custodian's GeoJSON or TopoJSON, validated against the codes of a variable.

The stored and served form is a GeoJSON FeatureCollection with one feature per category, in the order of the categories,
with `code` and `label`; rings are closed, in degrees, and outer rings run counter-clockwise. The code of a feature is its
property `code`, the property named like the variable, or its `id`. Boundaries are public.

Source: RFC 7946 (GeoJSON), the TopoJSON specification, 2.1 and 2.2.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription
from discreet.model.limits import MOST_POINTS
from discreet.model.messages.text import nearest
from discreet.model.variable import Variable

#: Positions along a closed line, longitude and latitude.
Ring = NDArray[np.float64]
#: The outer ring, then its holes.
Polygon = list[Ring]
Shape = list[Polygon]

#: Of a degree: a tenth of a metre.
DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The shapes of a variable's categories; `content` is the GeoJSON that is stored and served."""

    content: bytes

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The polygons of each code."""
        features = json.loads(self.content)["features"]
        return {each["properties"]["code"]: _shape(each["geometry"]) for each in features}

    def __repr__(self) -> str:
        return f"<Boundaries of {len(self.content):,} bytes>"


def read_boundaries(content: bytes, variable: Variable) -> Boundaries:
    """Validate a GeoJSON or TopoJSON file and convert it to the stored form.

    Raises:
        BadDescription: The file is no such JSON, or its codes or rings are wrong.
    """
    where = f'The boundaries of "{variable.name}"'
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise BadDescription(f"{where} are no JSON.", "Give GeoJSON or TopoJSON in UTF-8.")
    try:
        shapes = [
            (_code(feature, variable.name), _shape(feature["geometry"]))
            for feature in _features(document, variable.name)
        ]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise BadDescription(
            f"{where} are no GeoJSON or TopoJSON with polygons.",
            "Give a FeatureCollection or a Topology whose features are Polygon or MultiPolygon and have a `code`.",
        ) from None
    _check_codes([code for code, _ in shapes], variable, where)
    by_code = {code: [_check_polygon(polygon, code, where) for polygon in shape] for code, shape in shapes}
    if sum(len(ring) for shape in by_code.values() for polygon in shape for ring in polygon) > MOST_POINTS:
        raise BadDescription(
            f"{where} have more than {MOST_POINTS:,} points.", "Simplify them, as with mapshaper."
        )
    return Boundaries(_geojson(by_code, variable))


def _features(document: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The features of GeoJSON, or of a topology with its arcs joined."""
    if document["type"] == "FeatureCollection":
        yield from document["features"]
        return
    objects, arcs = document["objects"], [np.array(arc, dtype=np.float64)[:, :2] for arc in document["arcs"]]
    if "transform" in document:
        scale, translate = (np.array(document["transform"][key]) for key in ("scale", "translate"))
        arcs = [arc.cumsum(axis=0) * scale + translate for arc in arcs]
    chosen = objects[name] if name in objects else next(iter(objects.values()))
    for each in chosen["geometries"]:
        polygons = [each["arcs"]] if each["type"] == "Polygon" else each["arcs"]
        coordinates = [[_join_arcs(ring, arcs) for ring in polygon] for polygon in polygons]
        yield {**each, "geometry": {"type": "MultiPolygon", "coordinates": coordinates}}


def _join_arcs(ring: list[int], arcs: list[Ring]) -> list[list[float]]:
    """The points of a ring of arcs; a negative index is a reversed arc, and neighbours share an end."""
    lines = [arcs[arc] if arc >= 0 else arcs[~arc][::-1] for arc in ring]
    points: list[list[float]] = np.concatenate([lines[0], *(line[1:] for line in lines[1:])]).tolist()
    return points


def _code(feature: dict[str, Any], name: str) -> str:
    properties = feature.get("properties") or {}
    given = (properties.get("code"), properties.get(name), feature.get("id"))
    return str([each for each in given if each is not None][0])  # noqa: RUF015 - an IndexError is caught


def _shape(geometry: dict[str, Any]) -> Shape:
    polygons = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
    if geometry["type"] not in {"Polygon", "MultiPolygon"} or not polygons:
        raise ValueError("no polygon")
    return [
        [np.array([point[:2] for point in ring], dtype=np.float64) for ring in polygon]
        for polygon in polygons
    ]


def _check_codes(codes: list[str], variable: Variable, where: str) -> None:
    unknown = [code for code in codes if code not in variable]
    if unknown:
        more = f" and {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        raise BadDescription(
            f'{where} have {unknown[0]!r}{more}, which "{variable.name}" does not have.',
            nearest(unknown[0], variable.codes),
        )
    if len(set(codes)) < len(codes):
        twice = next(code for code in codes if codes.count(code) > 1)
        raise BadDescription(f"{where} have {twice!r} twice.", "Join its shapes to one MultiPolygon.")
    there = {*codes, variable.not_stated, variable.unlisted}
    lacking = [code for code in variable.codes if code not in there]
    if lacking:
        more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
        raise BadDescription(f"{where} lack {lacking[0]!r}{more}.", "Give every category a shape.")


def _check_polygon(polygon: Polygon, code: str, where: str) -> Polygon:
    """The polygon with outer rings counter-clockwise; open, empty or implausible rings are refused."""
    kept = []
    for number, ring in enumerate(polygon):
        closed = len(ring) >= 4 and ring.ndim == 2 and np.array_equal(ring[0], ring[-1])
        if not closed or not np.isfinite(ring).all() or not ring_area(ring):
            raise BadDescription(
                f"{where}: a ring of {code!r} is open, empty or has no area.",
                "Mend the shape; the first point closes a ring.",
            )
        if (np.abs(ring) > (180, 90)).any():
            raise BadDescription(
                f"{where}: {code!r} has the position {ring[np.argmax(np.abs(ring).max(axis=1))].tolist()}.",
                "Give longitude and latitude in degrees (WGS 84), as GeoJSON wants them.",
            )
        kept.append(ring if (ring_area(ring) > 0) == (number == 0) else ring[::-1])
    return kept


def ring_area(ring: Ring) -> float:
    """Twice the signed area of a closed ring, positive if it runs counter-clockwise."""
    x, y = (ring - ring[0]).T
    return float(x[:-1] @ y[1:] - x[1:] @ y[:-1])


def _geojson(shapes: dict[str, Shape], variable: Variable) -> bytes:
    features = [
        {
            "type": "Feature",
            "properties": {"code": category.code, "label": category.label},
            "geometry": {
                "type": "MultiPolygon",
                "coordinates": [
                    [np.round(ring, DECIMALS).tolist() for ring in polygon]
                    for polygon in shapes[category.code]
                ],
            },
        }
        for category in variable.categories
        if category.code in shapes
    ]
    document = {"type": "FeatureCollection", "features": features}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
