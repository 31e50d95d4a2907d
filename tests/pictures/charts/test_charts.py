"""What holds for every kind: its numbers are the release's, its texts stay text, and a misfit says why."""

import re
from dataclasses import replace
from xml.etree.ElementTree import ParseError, fromstring

import pytest

from discreet.errors import BadRequest, UnknownFormat
from discreet.pictures.chart_data import chart_classes
from discreet.pictures.charts import MOST_MARKS, bars, chart_of, charts, draw, fitting, grouped, multiples
from discreet.pictures.charts.bars import length
from discreet.pictures.charts.heat_map import NO_NUMBER
from discreet.pictures.save import render
from discreet.pictures.theme import CLASSES, PALETTES

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


def records(part):
    """Every record that a specification holds, wherever it stands."""
    if isinstance(part, dict):
        if "_cell" in part:
            yield part
        for each in part.values():
            yield from records(each)
    elif isinstance(part, list):
        for each in part:
            yield from records(each)


def truth(release):
    """What a picture must show: labels and number of every cell that is no total."""
    shown = {}
    lengths = [len(dimension.outputs) for dimension in release.dimensions]
    import itertools

    for place in itertools.product(*map(range, lengths)):
        labels = tuple(d.outputs[p].label for d, p in zip(release.dimensions, place, strict=True))
        shown[labels] = None if release.missing[place] else release.values[place].item()
    return shown


def drawn(specification, release):
    names = [dimension.name for dimension in release.dimensions]
    return {tuple(r[name] for name in names): r.get("_value") for r in records(specification)}


@pytest.mark.parametrize("kind", TABLES)
def test_the_numbers_drawn_are_those_of_the_release(kind, village, see):
    """Wrong alternative: two cells that changed places."""
    release = village(**TABLES[kind])
    found = drawn(draw(see(release, kind)).to_dict(), release)
    assert found == truth(release)
    first = list(found)[-1]
    second = next(cell for cell in found if found[cell] != found[first])
    found[first], found[second] = found[second], found[first]
    assert found != truth(release)


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
    known = [value for value in truth(release).values() if value is not None]
    told = [label.partition(": ")[2].partition(";")[0] for label in marks.values()]
    assert sorted(text for text in told if text[0].isdigit()) == sorted(f"{value:,}" for value in known)


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
    words = draw(see(release, level=0.9)).to_dict()["title"]
    assert words["text"] == [release.title]
    assert "randomly adjusted" in " ".join(words["subtitle"])
    assert "Lines: the true number lies there with a chance of at least 90 %." in words["subtitle"]
    assert "[z] Not applicable: cannot occur" in words["subtitle"]
    assert "title" not in draw(see(release, bare=True)).to_dict()


@pytest.mark.slow
def test_every_kind_is_drawn_in_the_dark(village, see):
    for chart in charts():
        config = draw(see(village(**TABLES[chart.name]), chart.name, theme="dark")).to_dict()["config"]
        assert config["background"] == "#1B1F23"
    assert render(draw(see(village(rows="area"), theme="dark")), "png").startswith(b"\x89PNG")


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


def test_stacked_bars_refuse_a_number_below_zero(village, see):
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


def line_paths(picture):
    return re.findall(r'<g class="mark-line[^"]*"[^>]*><path[^>]* d="([^"]+)"', picture)


def test_a_number_that_is_withheld_is_a_gap_in_the_line(village, svg, hidden):
    """Wrong alternative: a bridge over the gap, which would look like a number."""
    release = village(rows="age")
    assert [path.count("M") for path in line_paths(svg(release, "lines"))] == [1]
    broken = svg(hidden(release, 2), "lines")
    assert [path.count("M") for path in line_paths(broken)] == [2]
    assert ">[c]</text>" in broken


def test_only_numbers_that_rise_have_an_order(village, see):
    lines = next(chart for chart in charts() if chart.name == "lines")
    assert lines.misfit(see(village(rows="age", columns="sex"))) is None
    assert lines.misfit(see(village(rows="job", columns="sex"))) is not None
    backwards = village(rows="age", groups={"age": [["20+"], ["10-14"], ["0-4"]]})
    labels = backwards.dimensions[0].labels
    rising = see(backwards).axes[0].ordered
    assert rising == (labels[0] == "0-4")


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


def test_a_pyramid_refuses_a_number_below_zero(village, see):
    release = village(rows="age", columns="sex")
    values = release.values.copy()
    values[0, 0] = -2
    with pytest.raises(BadRequest, match="other side"):
        chart_of(see(replace(release, values=values), "pyramid"))


def test_all_panels_have_one_scale(village, svg, widths):
    """Wrong alternative: each panel fills its own width."""
    release = village(rows="job", columns="sex", layers="area")
    lengths = widths(svg(release, "multiples"))
    assert len(lengths) == 24
    ratios = []
    for cell, pixels in lengths.items():
        layer, row, column = map(int, cell.split(","))
        ratios.append(pixels / release.values[row, column, layer])
    assert max(ratios) < 1.05 * min(ratios)


def test_more_panels_than_can_be_read_are_refused(village, see, monkeypatch):
    monkeypatch.setattr(multiples, "MOST_PANELS", 3)
    with pytest.raises(BadRequest, match="4 panels"):
        chart_of(see(village(rows="job", columns="area"), "multiples"))


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
