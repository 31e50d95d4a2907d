"""Shapes keep their relative size on paper, whatever their latitude."""

import numpy as np
import pytest

from discreet.model.boundaries import ring_area
from discreet.pictures.shapes import label_point, laid_out


def box(lon, lat, size):
    return [
        [
            np.array(
                [[lon, lat], [lon + size, lat], [lon + size, lat + size], [lon, lat + size], [lon, lat]],
                dtype=float,
            )
        ]
    ]


def on_sphere(lat, size):
    """The area of a box between two parallels, in units of the sphere's square radius."""
    return np.radians(size) * (np.sin(np.radians(lat + size)) - np.sin(np.radians(lat)))


def test_areas_keep_their_relative_size():
    """Wrong alternative: degrees as they are, by which the north looks almost twice as large as it is."""
    south, north = box(0, 40, 8), box(0, 64, 8)
    sheet = laid_out([south, north])
    drawn = [abs(ring_area(shape[0][0])) for shape in sheet.shapes]
    assert drawn[1] / drawn[0] == pytest.approx(on_sphere(64, 8) / on_sphere(40, 8), rel=0.02)
    assert drawn[1] / drawn[0] < 0.7
    assert max(sheet.width, sheet.height) == 480
    assert sheet.shapes[1][0][0][:, 1].min() == 0, "north is at the top"


def test_points_that_fall_together_are_one():
    fine = [[np.column_stack([np.linspace(0, 1, 5000), np.zeros(5000)])]]
    ring = np.concatenate([fine[0][0], [[1, 1], [0, 1], [0, 0]]])
    assert laid_out([[[ring]]], 100).points < 1200


def test_a_symbol_stands_in_the_largest_part():
    assert label_point([*box(0, 0, 1), *box(10, 10, 4)]) == (12.0, 12.0)
