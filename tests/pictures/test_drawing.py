"""Pictures are saved as their names say, and name their cells."""

import sys
from xml.etree.ElementTree import fromstring

import pytest

from discreet.errors import MissingExtra, UnknownFormat
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.pictures import library
from discreet.pictures import noise_charts as noise
from discreet.pictures.drawing import Drawing, png_of, save

ONE_ROW = NoiseTable(256, (NoiseRow((-1, 0, 1), (64, 192, 256)),), family="laplace", parameters={"m": 1})


def test_a_picture_is_saved_as_what_its_name_says(tmp_path):
    for name, start in {"a.svg": b"<svg", "b.PNG": b"\x89PNG"}.items():
        save(noise.pmf(ONE_ROW), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(UnknownFormat):
        save(noise.pmf(ONE_ROW), tmp_path / "c.pdf")


def test_the_chart_of_a_table_is_saved_as_its_name_says_and_shown_by_notebooks(village, svg, tmp_path):
    drawing = Drawing(svg(village(rows="area"), "bars"))
    for name, start in {"a.svg": b"<svg", "b.PNG": b"\x89PNG"}.items():
        drawing.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert drawing._repr_svg_() == (tmp_path / "a.svg").read_text("utf-8")
    with pytest.raises(UnknownFormat):
        drawing.save(tmp_path / "c.pdf")


NS = "{http://www.w3.org/2000/svg}"


def read_xml(picture):
    return fromstring(picture)  # noqa: S314 - our own picture


def test_a_file_has_its_title_and_words_and_a_page_has_them_beside(village, svg):
    release = village(rows="area")
    tree = read_xml(svg(release, "bars"))
    assert tree.find(f"{NS}title").text == release.title
    assert "The largest is NE side" in tree.find(f"{NS}desc").text
    assert tree.get("role") == "img"
    bare = read_xml(svg(release, "bars", bare=True))
    assert bare.find(f"{NS}title") is None, "it would be a tooltip over the whole picture"
    assert bare.get("aria-labelledby") == "chart-told"


def test_only_marks_of_cells_have_a_role_and_a_name(village, svg):
    tree = read_xml(svg(village(rows="age", columns="sex"), "pyramid"))
    named = [node for node in tree.iter() if node.get("aria-label")]
    assert len(named) == 10
    assert all(node.get("role") == "img" and node.get("data-cell") for node in named)
    assert not [node for node in tree.iter() if "graphics" in (node.get("role") or "")]
    assert not [node for node in tree.iter() if node.get("style") or node.tag == f"{NS}style"]


def test_the_extra_is_named_where_the_library_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra, match=r"discreet\[pictures\]"):
        _ = library.alt.Chart
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"discreet\[pictures\]"):
        png_of("<svg/>")
