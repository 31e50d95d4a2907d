"""Shapes on paper: areas in degrees to points of a picture, true to their size.

    x = lon cos(m)     y = sin(lat) / cos(m)        m the latitude of the middle, lon and lat in radians

This is the cylindrical equal-area projection: areas keep their relative size, so that a colour weighs what its land weighs,
and shapes are true near the middle. Points are rounded to a tenth of a pixel, and points that fall together are one.

Source: Snyder (1987), Map Projections: A Working Manual, section 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.boundaries import ring_area

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.boundaries import Polygon, Ring, Shape

#: The longest side of a map in pixels.
LONGEST = 480


@dataclass(frozen=True, slots=True)
class Sheet:
    """Areas laid out on a picture: the outline of each in pixels, and its size.

    Args:
        shapes: In the order in which they were given.
        width, height: Of all of them.
    """

    shapes: list[Shape]
    width: int
    height: int

    @property
    def points(self) -> int:
        """How many points there are to draw."""
        return sum(len(ring) for shape in self.shapes for polygon in shape for ring in polygon)


def laid_out(shapes: list[Shape], longest: float = LONGEST) -> Sheet:
    """Areas on a picture."""
    everything = np.concatenate([polygon[0] for shape in shapes for polygon in shape])
    middle = np.radians((everything[:, 1].min() + everything[:, 1].max()) / 2)
    flat = _flat(everything, middle)
    corner, size = flat.min(axis=0), np.ptp(flat, axis=0)
    scale = longest / max(size)
    placed = [[_placed(polygon, middle, corner, scale) for polygon in shape] for shape in shapes]
    width, height = np.ceil(size * scale).astype(int).tolist()
    return Sheet(placed, width, height)


def _flat(ring: Ring, middle: float) -> NDArray[np.float64]:
    lon, lat = np.radians(ring).T
    return np.column_stack([lon * np.cos(middle), -np.sin(lat) / np.cos(middle)])


def _placed(polygon: Polygon, middle: float, corner: NDArray[np.float64], scale: float) -> Polygon:
    """A polygon in pixels, without points that fall on the one before; an island of one pixel keeps its points."""
    rings = []
    for ring in polygon:
        points = np.round((_flat(ring, middle) - corner) * scale, 1)
        kept = np.concatenate([[True], (np.diff(points, axis=0) != 0).any(axis=1)])
        rings.append(points[kept] if kept.sum() >= 4 else points)
    return rings


def label_point(shape: Shape) -> tuple[float, float]:
    """The centre of gravity of the largest part of a shape: where its symbol stands.

    >>> square = np.array([[0.0, 0], [2, 0], [2, 2], [0, 2], [0, 0]])
    >>> label_point([[square]])
    (1.0, 1.0)
    """
    ring = max((polygon[0] for polygon in shape), key=lambda each: abs(ring_area(each)))
    start = ring[0]
    x, y = (ring - start).T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    if not cross.sum():
        return float(ring[:, 0].mean()), float(ring[:, 1].mean())
    at = [float(((part[:-1] + part[1:]) * cross).sum() / (3 * cross.sum())) for part in (x, y)]
    return round(at[0] + float(start[0]), 1), round(at[1] + float(start[1]), 1)
