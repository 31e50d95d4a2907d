"""What a chart shows: cells without totals, classes that are never finer than the noise, and the picture in words."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.table_view import apply_view
from discreet.model.view import View
from discreet.pictures.chart_data import (
    ChartData,
    Classes,
    chart_classes,
    chart_data,
    describe_chart,
    make_classes,
)


def test_totals_and_wholes_are_left_out(village, see):
    release = village(rows="area", columns="sex", levels={"area": ["region", "area"]})
    assert len(release.dimensions[0].outputs) == 6
    what = see(release)
    assert what.axes[0].labels == ("SW side", "SE side", "NW side", "NE side")
    assert what.marks == 8


def test_a_cell_knows_its_place_in_the_table(village, see):
    """Wrong alternative: places among the cells that are drawn, which shift once a total is left out."""
    release = village(rows=["sex", "job"], columns="area", layers="region")
    what = see(release)
    record = next(
        r
        for r in what.records
        if (r["sex"], r["job"], r["area"], r["region"]) == ("Female", "none", "NW side", "N")
    )
    assert record["_cell"] == "1,4,2"  # jobs have a total: female begins at row 4
    assert len({each["_cell"] for each in what.records}) == what.marks


def test_percentages_are_drawn_where_the_view_has_them(village, see):
    release = apply_view(village(rows="area", columns="sex"), View(percent="row"))
    what = see(release)
    assert what.value_title == "Percent of the row total"
    assert what.records[0]["_value"] == release.derived[0].values[0, 0]
    assert what.records[0]["_low"] <= what.records[0]["_value"] <= what.records[0]["_high"]
    assert " %" in what.records[0]["_said"]


def test_what_is_said_never_narrows_an_interval(village, see):
    """Wrong alternative: limits of a percentage that are rounded to the nearest."""
    what = see(apply_view(village(rows="area", columns="sex"), View(percent="row")))
    for record in what.records:
        low, high = (
            float(part.split(" %")[0]) for part in record["_said"].split("between ")[1].split(" and ")
        )
        assert low <= record["_low"]
        assert high >= record["_high"]


def test_equal_labels_get_their_codes(village):
    release = village(rows="sex")
    same = replace(
        release.dimensions[0], outputs=tuple(replace(o, label="Same") for o in release.dimensions[0].outputs)
    )
    assert chart_data(replace(release, dimensions=(same,))).axes[0].labels == ("Same (1)", "Same (2)")


def test_a_variable_of_one_category_has_no_axis(village, see):
    what = see(village(rows="age", columns="sex", filters={"sex": ["2"]}))
    assert [axis.name for axis in what.axes] == ["age"]
    assert [axis.name for axis in what.fixed] == ["sex"]


def test_numbers_without_limits_have_none(village, see):
    """Wrong alternative: the limits -1 and NaN, drawn as numbers."""
    what = see(village(rows="area"))
    low, high = (limit.astype(float) for limit in what.picture.limits)
    low[0] = high[0] = -1
    low[1] = high[1] = np.nan
    release = replace(what.release, picture=replace(what.picture, limits=(low, high)))
    assert ["_low" in record for record in chart_data(release).records] == [False, False, True, True]


def test_a_total_alone_is_no_picture(village):
    release = village(rows="sex")
    empty = replace(release.dimensions[0], outputs=())
    one = replace(
        release,
        dimensions=(empty,),
        **{name: getattr(release, name)[:1].copy() for name in ("values", "noisy", "status")},
    )
    with pytest.raises(BadRequest, match="total of"):
        chart_data(one)


@pytest.mark.parametrize("width", [0, 3, 40, 90, 400])
def test_no_class_is_narrower_than_the_noise(width):
    """Wrong alternative: always five classes."""
    values = np.random.default_rng(3).integers(0, 300, 200).astype(float)
    limits = make_classes(values, width).limits
    ends = [values.min(), *limits, values.max()]
    assert len(limits) < 5
    assert not limits or np.diff(ends).min() >= width
    five = np.quantile(values, [0.2, 0.4, 0.6, 0.8])
    assert width < 90 or np.diff([values.min(), *five, values.max()]).min() < width


def test_a_number_is_in_the_class_that_names_it():
    classes = Classes((10, 20), 1)
    assert [classes.labels[classes.of(number)] for number in (-1, 9, 10, 19, 20, 99)] == [
        "under 10", "under 10", "10 to 19", "10 to 19", "20 or more", "20 or more",
    ]  # fmt: skip
    assert Classes((49.5, 50.0), 0.1).labels == ("under 49.5", "49.5 to 49.9", "50.0 or more")
    assert Classes((), 1).labels == ("all",)
    assert len({*classes.roles}) == 3


def test_the_width_is_that_of_the_intervals(village, see):
    what = see(village(rows="age", columns="sex"))
    widths = [record["_high"] - record["_low"] for record in what.records]
    assert np.diff(chart_classes(what).limits).min() >= np.median(widths)
    assert make_classes(np.array([]), 0).limits == make_classes(np.array([5.0, 5.0]), 0).limits == ()


def test_the_words_name_the_largest_the_smallest_and_the_total(village, see, hidden):
    """Wrong alternative: a withheld number that is the smallest of all."""
    release = village(rows="area")
    words = describe_chart("Bars", see(hidden(release, 0)))
    assert words.startswith("Bars: Persons by area. 3 numbers are drawn.")
    shown = release.values[1:4]
    largest, smallest = (("SE", "NW", "NE")[int(pick(shown))] for pick in (np.argmax, np.argmin))
    assert f"The largest is {largest} side: {shown.max()}" in words
    assert f"The smallest is {smallest} side: {shown.min()}" in words
    assert f"The total is {release.values[-1]}." in words
    assert words.endswith("1 has no number.")


def test_a_reader_hears_it_in_another_language(village, see):
    what = see(village(rows="area"))
    loud = ChartData(what.release, what.axes, what.fixed, str.upper)
    assert "THE LARGEST IS" in describe_chart("Bars", loud)
