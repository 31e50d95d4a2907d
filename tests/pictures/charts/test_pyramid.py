"""A pyramid: both sides on one scale, the youngest at the bottom."""

import re
from dataclasses import replace

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import chart_of


def test_both_sides_have_one_scale_and_the_youngest_stand_below(village, svg, widths):
    """Wrong alternative: two scales, each filled to its end."""
    release = village(rows="age", columns="sex")
    picture = svg(release, "pyramid")
    lengths = widths(picture)
    ratios = [length / release.values[int(cell[2]), int(cell[4])] for cell, length in lengths.items()]
    assert len(ratios) == 10
    assert max(ratios) < 1.02 * min(ratios)
    heights = dict(re.findall(r'data-cell="0,(\d),0"[^>]* d="M[-\d.]+,([-\d.]+)', picture))
    assert float(heights["0"]) > float(heights["4"])


def test_a_number_below_zero_is_refused(village, see):
    release = village(rows="age", columns="sex")
    values = release.values.copy()
    values[0, 0] = -2
    with pytest.raises(BadRequest, match="other side"):
        chart_of(see(replace(release, values=values), "pyramid"))
