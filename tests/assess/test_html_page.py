"""The report as a page: written whole, for its owner, over nothing else."""

from __future__ import annotations

import pytest

from discreet.assess.html_page import MARKER, html_table, inline_svg, write_page
from discreet.errors import BadRequest


@pytest.mark.slow
def test_a_page_is_written_whole_for_its_owner_and_over_nothing_else(tmp_path, html):
    path = tmp_path / "report.html"
    write_page(html, path)
    assert path.stat().st_mode & 0o777 == 0o600
    write_page(html + " ", path)
    assert path.read_text("utf-8") == html + " "
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    other = tmp_path / "thesis.html"
    other.write_text("years of work")
    with pytest.raises(BadRequest, match="there already"):
        write_page(html, other)
    assert other.read_text() == "years of work"
    assert MARKER in html[:60]


def test_pictures_of_one_page_do_not_share_ids():
    svg = b'<svg width="9"><clipPath id="a"></clipPath><g clip-path="url(#a)"></g><use href="#a"/></svg>'
    text = inline_svg(svg, 'A "map"', 3)
    assert 'id="p3-a"' in text
    assert "url(#p3-a)" in text
    assert 'href="#p3-a"' in text
    assert 'aria-label="A &quot;map&quot;"' in text


def test_a_grid_names_its_lines():
    text = html_table("About", ["case", "how"], [["a<b", "words"]], words=frozenset({1}))
    assert '<th scope="row">a&lt;b</th><td class="words">words</td>' in text
