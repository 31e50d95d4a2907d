"""The SVG of a table: words inside, marks that know their cells, nothing that a strict page would forbid."""

from xml.etree.ElementTree import fromstring

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
