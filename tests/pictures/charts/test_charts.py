"""What holds for every kind: its numbers are the release's, its texts stay text, and a misfit says why."""

import re
from dataclasses import replace
from xml.etree.ElementTree import ParseError, fromstring

import numpy as np
import pytest

from discreet.errors import BadRequest, UnknownFormat
from discreet.pictures.chart_data import chart_classes
from discreet.pictures.charts import MOST_MARKS, bars, chart_of, charts, draw, fitting
from discreet.pictures.charts.bars import Scale
from discreet.pictures.charts.heat_map import NO_NUMBER
from discreet.pictures.drawing import png_of
from discreet.pictures.theme import PALETTES

TABLES = {
    "bars": {"rows": "area"},
    "grouped": {"rows": "age", "columns": "job"},
    "stacked": {"rows": "age", "columns": "job"},
    "lines": {"rows": "age", "columns": "job"},
    "pyramid": {"rows": "age", "columns": "sex"},
    "heat_map": {"rows": "age", "columns": "job"},
    "multiples": {"rows": "age", "columns": "sex", "layers": "area"},
    "dots": {"rows": "job", "columns": "sex"},
    "map": {"rows": "area", "columns": "sex"},
}


def read_xml(picture):
    return fromstring(picture)  # noqa: S314 - our own picture


def texts(picture):
    """The texts of a picture, in their order."""
    return [node.text for node in read_xml(picture).iter() if node.tag.endswith("}text")]


def truth(release):
    """What a picture must say: the number of every cell that is no total, by its labels."""
    shown = {}
    for place in np.ndindex(*(len(dimension.outputs) for dimension in release.dimensions)):
        labels = [d.outputs[p].label for d, p in zip(release.dimensions, place, strict=True)]
        shown[", ".join(labels)] = None if release.missing[place] else f"{release.values[place]:,}"
    return shown


@pytest.mark.parametrize("kind", TABLES)
def test_every_number_is_a_mark_that_tells_it(kind, village, svg):
    release = village(**TABLES[kind])
    picture = svg(release, kind)
    assert "style=" not in picture, "an inline style is forbidden on a page"
    marks = {
        node.get("data-cell"): node.get("aria-label")
        for node in read_xml(picture).iter()
        if node.get("data-cell")
    }
    told = {}
    for label in marks.values():
        name, _, words = label.partition(": ")
        told[name] = words.partition(";")[0] if words[0].isdigit() else None
    known = truth(release)
    assert {name: number for name, number in known.items() if number} == {n: v for n, v in told.items() if v}
    assert told.keys() <= known.keys()
    turned = dict(zip(known, [*list(known.values())[1:], "?"], strict=True))
    assert told != turned, "wrong: numbers that changed places"


@pytest.mark.parametrize("kind", ["bars", "grouped", "heat_map", "multiples"])
def test_hostile_labels_stay_text(kind, village, svg):
    """Wrong alternative: a label that is put into the picture as it stands."""
    asked = {"rows": "word"} | ({} if kind == "bars" else {"columns": "sex"})
    picture = svg(village(**asked), kind)
    tree = read_xml(picture)
    assert not [node for node in tree.iter() if node.tag.endswith("script")]
    assert any("<script>alert(1)</script>" in (node.text or "") for node in tree.iter())
    with pytest.raises(ParseError):
        read_xml(picture.replace("&lt;script&gt;", "<script>", 1).replace("nul \ufffd", "nul \0"))


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"rows": "area"}, "bars"),
        ({"rows": "age", "columns": "sex"}, "pyramid"),
        ({"rows": "job", "columns": "sex"}, "grouped"),
        ({"rows": "age", "columns": "sex", "layers": "area"}, "multiples"),
        ({"rows": "age", "columns": "sex", "filters": {"sex": ["1"]}}, "bars"),
    ],
)
def test_the_chart_of_a_table_follows_its_shape(asked, kind, village, see):
    assert chart_of(see(village(**asked))).name == kind


def test_a_misfit_says_why_and_what_to_do(village, see):
    release = village(rows="area")
    for kind, why in {
        "grouped": "1 variables",
        "pyramid": "a variable of numbers",
        "lines": "in rising order",
        "heat_map": "two variables",
    }.items():
        with pytest.raises(BadRequest, match=why) as refused:
            chart_of(see(release, kind))
        assert refused.value.advice
    with pytest.raises(UnknownFormat, match='Did you mean "bars"'):
        chart_of(see(release, "bar"))
    with pytest.raises(BadRequest, match=r'no theme "drak"'):
        see(release, theme="drak")


def test_nobody_can_ask_for_a_hundred_thousand_marks(village, see, monkeypatch):
    monkeypatch.setattr("discreet.pictures.charts.MOST_MARKS", 3)
    what = see(village(rows="area"))
    assert fitting(what) == ()
    with pytest.raises(BadRequest, match="4 marks, and 3"):
        chart_of(see(village(rows="area"), "bars"))
    assert MOST_MARKS < 10_000


def test_title_note_and_source_stand_on_the_picture_unless_they_stand_elsewhere(village, see):
    release = village(rows="age", columns="job")
    words = texts(draw(see(release, level=0.9)))
    assert release.title in words
    assert "randomly adjusted" in " ".join(words)
    assert "Whiskers: the true number lies there with a chance of at least 90 %." in words
    assert release.title not in texts(draw(see(release, bare=True)))


def test_no_letter_is_drawn_that_no_line_explains(village, svg):
    """Wrong alternative: [z] at the side of a chart of cells that cannot occur."""
    for kind in ("grouped", "stacked", "lines", "heat_map"):
        assert "[z]" not in svg(village(rows="age", columns="job"), kind)


@pytest.mark.slow
def test_every_kind_is_drawn_in_the_dark(village, see):
    for chart in charts():
        picture = draw(see(village(**TABLES[chart.name]), chart.name, theme="dark"))
        assert f'fill="{PALETTES["dark"].ground}"' in picture
        assert not set(re.findall(r'fill="(#\w+)"', picture)) & {
            PALETTES["light"].ground,
            PALETTES["light"].ink,
        }
    assert png_of(draw(see(village(rows="area"), theme="dark"))).startswith(b"\x89PNG")


def proportional(lengths, release, slack=1.02):
    """Whether the bars of cells "layer,row,column" are as long as their numbers."""
    ratios = []
    for cell, pixels in lengths.items():
        layer, row, column = map(int, cell.split(","))
        ratios.append(pixels / release.values[(row, column, layer)[: release.values.ndim]])
    return max(ratios) < slack * min(ratios)


def starts(picture):
    """Where the bars begin, in pixels from the beginning of the scale."""
    return {float(x) for x in re.findall(r'data-cell="[^"]+"[^>]* d="M([-\d.]+),[-\d.]+h', picture)}


def test_a_bar_is_as_long_as_its_number(village, svg, widths, monkeypatch):
    """Wrong alternative: a scale that starts above zero and makes small differences large."""
    release = village(rows="area")
    picture = svg(release, "bars")
    assert starts(picture) == {0}
    assert widths(picture).keys() == {f"0,{place},0" for place in range(4)}
    assert proportional(widths(picture), release)
    monkeypatch.setattr(bars, "scale_of", lambda *_args, **_more: Scale((50, 500), 460))
    assert starts(svg(release, "bars")) != {0}


def test_a_cell_without_a_number_is_marked_and_has_no_bar(village, svg, hidden, widths):
    """Wrong alternative: a bar of length zero, which would say that nobody is there."""
    picture = svg(hidden(village(rows="area"), 2), "bars")
    assert "0,2,0" not in widths(picture)
    assert 'data-cell="0,2,0"' in picture
    assert ">[c]</text>" in picture
    assert "NW side: Not released: withheld to protect confidentiality" in picture


@pytest.mark.parametrize(
    ("limit", "kind", "asked", "why", "advice"),
    [
        ("MOST_CATEGORIES", "bars", {"rows": "area"}, "4 categories, and 3 can be read", "top=20"),
        ("MOST_PANELS", "multiples", {"rows": "job", "columns": "area"}, "4 panels", "fewer categories"),
        ("MOST_COLOURS", "grouped", {"rows": "area", "columns": "age"}, "have more than 3", "heat_map"),
    ],
)
def test_more_than_can_be_read_is_refused_with_advice(
    village, see, monkeypatch, limit, kind, asked, why, advice
):
    monkeypatch.setattr(bars, limit, 3)
    with pytest.raises(BadRequest, match=why) as refused:
        chart_of(see(village(**asked), kind))
    assert advice in refused.value.advice


def test_every_bar_has_its_interval(village, see):
    """Wrong alternative: the limits of the neighbour."""
    what = see(village(rows="area", columns="sex"), "grouped", level=0.9)
    low, high = what.picture.limits
    for record, place in zip(what.records, what.places, strict=True):
        assert (record["_low"], record["_high"]) == (low[place], high[place])
        assert record["_low"] <= record["_value"] <= record["_high"]
    assert len({(record["_low"], record["_high"]) for record in what.records}) > 4


def test_the_variable_with_enough_colours_gets_them(village, see, monkeypatch):
    monkeypatch.setattr(bars, "MOST_COLOURS", 3)
    picture = draw(see(village(rows="sex", columns="age"), "grouped"))
    assert 'class="c-s2 f"' in picture
    assert 'class="c-s3 f"' not in picture
    assert texts(picture).index("Sex") < texts(picture).index("0-4"), "the colours are those of sex"


@pytest.mark.parametrize(("kind", "why"), [("stacked", "below zero"), ("pyramid", "other side")])
def test_a_number_below_zero_has_no_place_in_a_stack_or_on_one_side(kind, why, village, see):
    release = village(rows="age", columns="sex")
    values = release.values.copy()
    values[0, 0] = -1
    assert chart_of(see(release, kind)).name == kind
    with pytest.raises(BadRequest, match=why):
        chart_of(see(replace(release, values=values), kind))


def test_a_bar_that_lacks_a_part_says_so_and_one_that_cannot_have_it_does_not(village, svg, hidden):
    withheld = svg(hidden(village(rows="age", columns="job"), 2, 1), "stacked")
    assert withheld.count(">[c]</text>") == 1
    assert ">[z]</text>" not in withheld


def test_the_band_of_a_dot_is_its_interval(village, see, svg):
    """Wrong alternative: one band for all."""
    release = village(rows="area")
    what = see(release, "dots")
    bands = re.findall(r'data-band="[^"]+" d="M([-\d.]+),[-\d.]+H([-\d.]+)"', svg(release, "dots"))
    assert len(bands) == 4
    spans = [record["_high"] - record["_low"] for record in what.records]
    drawn = [float(end) - float(start) for start, end in bands]
    ratios = [width / span for width, span in zip(drawn, spans, strict=True)]
    assert max(ratios) < 1.1 * min(ratios)


def test_without_a_distribution_there_are_no_dots_and_bars_have_no_lines(village, see):
    release = village(rows="area", columns="sex", additivity="fitted")
    with pytest.raises(BadRequest, match="the uncertainty of its numbers is unknown") as refused:
        chart_of(see(release, "dots"))
    assert "additivity=independent" in refused.value.advice
    what = see(release, "grouped")
    assert not any("_low" in record for record in what.records)
    assert "Whiskers" not in draw(what)


def line_paths(picture):
    return re.findall(r'data-line="[^"]*" d="([^"]+)"', picture)


def test_a_number_that_is_withheld_is_a_gap_in_the_line(village, svg, hidden):
    """Wrong alternative: a bridge over the gap, which would look like a number."""
    release = village(rows="age")
    assert len(line_paths(svg(release, "lines"))) == 1
    broken = svg(hidden(release, 2), "lines")
    assert len(line_paths(broken)) == 2
    assert ">[c]</text>" in broken


def test_only_numbers_that_rise_have_an_order(village, see):
    lines = next(chart for chart in charts() if chart.name == "lines")
    assert lines.misfit(see(village(rows="age", columns="sex"))) is None
    assert lines.misfit(see(village(rows="job", columns="sex"))) is not None
    backwards = see(village(rows="age", groups={"age": [["20+"], ["10-14"], ["0-4"]]})).axes[0]
    assert backwards.ordered == (backwards.labels[0] == "0-4")


def test_both_sides_have_one_scale_and_the_youngest_stand_below(village, svg, widths):
    """Wrong alternative: two scales, each filled to its end."""
    release = village(rows="age", columns="sex")
    picture = svg(release, "pyramid")
    assert len(widths(picture)) == 10
    assert proportional(widths(picture), release)
    assert proportional(widths(svg(release, "stacked")), release)
    heights = dict(re.findall(r'data-cell="0,(\d),0"[^>]* d="M[-\d.]+,([-\d.]+)', picture))
    assert float(heights["0"]) > float(heights["4"])


def test_all_panels_have_one_scale(village, svg, widths):
    """Wrong alternative: each panel fills its own width."""
    release = village(rows="job", columns="sex", layers="area")
    lengths = widths(svg(release, "multiples"))
    assert len(lengths) == 24
    assert proportional(lengths, release, 1.05)


def test_the_colour_of_a_cell_is_that_of_its_class(village, see, svg):
    """Wrong alternative: the class of the neighbour."""
    release = village(rows="age", columns="job")
    what = see(release, "heat_map")
    classes = chart_classes(what)
    fills = dict(re.findall(r'data-cell="([^"]+)"[^>]* fill="([^"]+)"', svg(release, "heat_map")))
    for record in what.records:
        role = classes.roles[classes.of(record["_value"])] if "_value" in record else "absent"
        assert fills[record["_cell"]] == PALETTES["light"].colour(role)
    assert len(set(fills.values()) & {*PALETTES["light"].classes}) >= 3
    assert NO_NUMBER in svg(release, "heat_map")
