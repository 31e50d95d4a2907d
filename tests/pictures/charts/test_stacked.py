"""Stacked bars: parts add up to the bar; a part below zero is refused, one that is withheld is marked."""

from dataclasses import replace

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import chart_of


def test_a_number_below_zero_is_refused(village, see):
    release = village(rows="area", columns="sex")
    values = release.values.copy()
    values[0, 0] = -1
    assert chart_of(see(release, "stacked")).name == "stacked"
    with pytest.raises(BadRequest, match="below zero"):
        chart_of(see(replace(release, values=values), "stacked"))


def test_parts_are_as_long_as_their_numbers(village, svg, widths):
    release = village(rows="area", columns="sex")
    lengths = widths(svg(release, "stacked"))
    ratios = {length / release.values[int(cell[2]), int(cell[4])] for cell, length in lengths.items()}
    assert len(lengths) == 8
    assert max(ratios) < 1.02 * min(ratios)


def test_a_bar_that_lacks_a_part_says_so_and_one_that_cannot_have_it_does_not(village, svg, hidden):
    withheld = svg(hidden(village(rows="age", columns="job"), 2, 1), "stacked")
    assert withheld.count(">[c]</text>") == 1
    assert ">[z]</text>" not in withheld
