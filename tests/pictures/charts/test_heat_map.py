"""A heat map: the class of each cell holds its number; one without a number is grey."""

import re

from discreet.pictures.chart_data import chart_classes
from discreet.pictures.charts.heat_map import NO_NUMBER
from discreet.pictures.theme import CLASSES, PALETTES


def test_the_colour_of_a_cell_is_that_of_its_class(village, see, svg):
    """Wrong alternative: the class of the neighbour."""
    release = village(rows="age", columns="job")
    what = see(release, "heat_map")
    classes = chart_classes(what)
    fills = dict(re.findall(r'data-cell="([^"]+)"[^>]* fill="([^"]+)"', svg(release, "heat_map")))
    for record in what.records:
        expected = (
            classes.colours[classes.of(record["_value"])] if "_value" in record else PALETTES["light"].absent
        )
        assert fills[record["_cell"]].upper() == expected
    assert len(set(fills.values()) & {*CLASSES}) >= 3
    assert NO_NUMBER in svg(release, "heat_map")
