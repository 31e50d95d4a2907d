"""Small multiples: a panel a category, all on one scale."""

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import chart_of, multiples


def test_all_panels_have_one_scale(village, svg, widths):
    """Wrong alternative: each panel fills its own width."""
    release = village(rows="job", columns="sex", layers="area")
    lengths = widths(svg(release, "multiples"))
    assert len(lengths) == 24
    ratios = []
    for cell, length in lengths.items():
        layer, row, column = map(int, cell.split(","))
        ratios.append(length / release.values[row, column, layer])
    assert max(ratios) < 1.05 * min(ratios)


def test_more_panels_than_can_be_read_are_refused(village, see, monkeypatch):
    monkeypatch.setattr(multiples, "MOST_PANELS", 3)
    with pytest.raises(BadRequest, match="4 panels"):
        chart_of(see(village(rows="job", columns="area"), "multiples"))
