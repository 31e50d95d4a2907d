"""HTML: a document that stands alone, and in which labels stay text."""

import re

from discreet.formats import named_format

from .conftest import HOSTILE


def test_labels_never_become_elements(hostile):
    """Wrong alternative: labels that are not escaped."""
    text = named_format("html").write(hostile).decode()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\0" not in text
    assert f"<bdi>{HOSTILE['bidi']}</bdi>" in text


def test_it_stands_alone_and_has_headers_and_a_caption(release):
    text = named_format("html").write(release).decode()
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=", text)
    assert text.count('scope="row"') == release.cells * len(release.dimensions)
    assert f"<caption><bdi>{release.title}</bdi></caption>" in text
    assert text.index("<p><bdi>") < text.index("<table>"), "the mandatory note stands above the numbers"


def test_a_status_says_what_it_means(release):
    text = named_format("html").write(release).decode()
    assert text.count('<abbr title="Not applicable: cannot occur">z</abbr>') == release.missing.sum() > 0
