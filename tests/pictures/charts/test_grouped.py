"""Grouped bars: one variable of few categories gets the colours; bars keep their lengths and intervals."""

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import chart_of, draw, grouped


def test_every_bar_has_its_interval(village, see):
    """Wrong alternative: the limits of the neighbour."""
    what = see(village(rows="area", columns="sex"), "grouped", level=0.9)
    low, high = what.picture.limits
    for record, place in zip(what.records, what.places, strict=True):
        assert (record["_low"], record["_high"]) == (low[place], high[place])
        assert record["_low"] <= record["_value"] <= record["_high"]
    assert len({(record["_low"], record["_high"]) for record in what.records}) > 4


def test_the_variable_with_enough_colours_gets_them(village, see, monkeypatch):
    monkeypatch.setattr(grouped, "MOST_COLOURS", 3)
    colours = draw(see(village(rows="sex", columns="age"), "grouped")).to_dict()["layer"][0]["encoding"][
        "color"
    ]
    assert colours["field"] == "sex"
    with pytest.raises(BadRequest, match="both variables have more than 3"):
        chart_of(see(village(rows="area", columns="age"), "grouped"))
