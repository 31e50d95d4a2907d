"""What a chart shows: cells without totals, with labels of their own, told in words that hold what is known."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.viewed import viewed
from discreet.model.view import View
from discreet.pictures.shown import shown


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
    release = viewed(village(rows="area", columns="sex"), View(percent="row"))
    what = see(release)
    assert what.value_title == "Percent of the row total"
    assert what.records[0]["_value"] == release.derived[0].values[0, 0]
    assert what.records[0]["_low"] <= what.records[0]["_value"] <= what.records[0]["_high"]
    assert " %" in what.records[0]["_said"]


def test_what_is_said_never_narrows_an_interval(village, see):
    """Wrong alternative: limits of a percentage that are rounded to the nearest."""
    what = see(viewed(village(rows="area", columns="sex"), View(percent="row")))
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
    assert shown(replace(release, dimensions=(same,))).axes[0].labels == ("Same (1)", "Same (2)")


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
    assert ["_low" in record for record in shown(release).records] == [False, False, True, True]


def test_a_total_alone_is_no_picture(village):
    release = village(rows="sex")
    empty = replace(release.dimensions[0], outputs=())
    one = replace(
        release,
        dimensions=(empty,),
        **{name: getattr(release, name)[:1].copy() for name in ("values", "noisy", "status")},
    )
    with pytest.raises(BadRequest, match="total of"):
        shown(one)
