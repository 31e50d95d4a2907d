"""Bars begin at zero, so that lengths compare as numbers do; more than can be read are refused."""

import re
from dataclasses import replace

import pytest

from discreet.errors import BadRequest
from discreet.pictures.charts import bars, chart_of
from discreet.pictures.charts.bars import length


def proportional(lengths, numbers):
    ratios = [lengths[cell] / numbers[cell] for cell in lengths]
    return max(ratios) < 1.02 * min(ratios)


def starts(picture):
    """Where the bars begin, in pixels from the beginning of the scale."""
    return {float(x) for x in re.findall(r'data-cell="[^"]+"[^>]* d="M([-\d.]+),[-\d.]+h', picture)}


def test_a_bar_is_as_long_as_its_number(village, svg, widths, monkeypatch):
    """Wrong alternative: a scale that starts above zero and makes small differences large."""
    release = village(rows="area")
    numbers = {f"0,{place},0": value for place, value in enumerate(release.values[:-1].tolist())}
    picture = svg(release, "bars")
    lengths = widths(picture)
    assert starts(picture) == {0}
    assert lengths.keys() == numbers.keys()
    assert proportional(lengths, numbers)
    monkeypatch.setattr(bars, "length", lambda shown: length(shown).scale(zero=False, domain=[50, 500]))
    assert starts(svg(release, "bars")) != {0}


def test_a_number_below_zero_goes_to_the_other_side(village, svg, widths):
    release = village(rows="area")
    values = release.values.copy()
    values[0] = -30
    lengths = widths(svg(replace(release, values=values), "bars"))
    assert len(lengths) == 4


def test_a_cell_without_a_number_is_marked_and_has_no_bar(village, svg, hidden, widths):
    """Wrong alternative: a bar of length zero, which would say that nobody is there."""
    picture = svg(hidden(village(rows="area"), 2), "bars")
    assert "0,2,0" not in widths(picture)
    assert 'data-cell="0,2,0"' in picture
    assert ">[c]</text>" in picture
    assert "NW side: Not released: withheld to protect confidentiality" in picture


def test_more_categories_than_can_be_read_are_refused_with_advice(village, see, monkeypatch):
    monkeypatch.setattr(bars, "MOST_CATEGORIES", 3)
    with pytest.raises(BadRequest, match="4 categories, and 3 can be read") as refused:
        chart_of(see(village(rows="area"), "bars"))
    assert "top=20" in refused.value.advice
