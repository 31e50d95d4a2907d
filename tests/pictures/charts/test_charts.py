"""What holds for every kind: its numbers are the release's, its texts stay text, and a misfit says why."""

from xml.etree.ElementTree import ParseError, fromstring

import pytest

from discreet.errors import BadRequest, UnknownFormat
from discreet.pictures.charts import MOST_MARKS, chart_of, charts, draw, fitting
from discreet.pictures.save import render

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
