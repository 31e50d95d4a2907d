"""Dots: each with the band of its own interval, and none where no law is known."""

import re

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import chart_of, draw


def test_the_band_of_a_dot_is_its_interval(village, see, svg):
    """Wrong alternative: one band for all."""
    release = village(rows="area")
    what = see(release, "dots")
    bands = re.findall(
        r'<line transform="translate\(([-\d.]+),[^>]* x2="([-\d.]+)"[^>]*stroke-width="7"',
        svg(release, "dots"),
    )
    assert len(bands) == 4
    spans = [record["_high"] - record["_low"] for record in what.records]
    drawn = [abs(float(length)) for _, length in bands]
    ratios = [width / span for width, span in zip(drawn, spans, strict=True)]
    assert max(ratios) < 1.1 * min(ratios)
    assert draw(what).to_dict()["layer"][0]["encoding"]["x2"]["field"] == "_high"


def test_without_a_law_there_are_no_dots_and_bars_have_no_lines(village, see):
    release = village(rows="area", columns="sex", additivity="fitted")
    with pytest.raises(BadRequest, match="how sure its numbers are is not known") as refused:
        chart_of(see(release, "dots"))
    assert "additivity=independent" in refused.value.advice
    what = see(release, "grouped")
    assert not any("_low" in record for record in what.records)
    assert "Lines" not in str(draw(what).to_dict()["title"])
