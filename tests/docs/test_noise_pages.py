from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from discreet.noise.files import FORMATS
from discreet.noise.files.document import to_document
from discreet.noise.table import NoiseRow, NoiseTable

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["concepts/exact-audit.md", "reference/noise-table-files.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_page_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_format_and_every_key_of_our_document_is_on_the_page():
    page = (DOCS / PAGES[1]).read_text(encoding="utf-8")
    document = to_document(NoiseTable(4, (NoiseRow((0,), (4,)),)))
    for word in (*FORMATS, *document, "privacy", "alternative"):
        assert f"`{word}`" in page, word
