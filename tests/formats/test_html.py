"""HTML: the table as it reads, a document that stands alone, and labels that stay text."""

import io
import re

import pandas as pd
import pytest

from discreet.formats import format_by_name
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table

from .conftest import HOSTILE
from .test_formats import decorated


def text_of(release):
    return format_by_name("html").write(release).decode()


def test_labels_never_become_elements(hostile):
    """Wrong alternative: labels that are not escaped."""
    text = text_of(hostile)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\0" not in text
    assert f"<bdi>{HOSTILE['bidi']}</bdi>" in text


def test_it_stands_alone_and_every_header_has_its_scope(release):
    text = text_of(release)
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=", text)
    assert text.count("<th ") == text.count("<th scope=")
    assert f"<h1><bdi>{release.title}</bdi></h1>" in text
    assert text.index("<p><bdi>") < text.index("<table>"), "the mandatory note stands above the numbers"


def test_each_layer_is_a_table_with_the_rows_and_columns_of_the_request(release):
    """Wrong alternative: one line a cell, which nobody can read as a table. Read by pandas."""
    text = text_of(release)
    age, job, sex = release.dimensions
    tables = pd.read_html(io.StringIO(text), index_col=0)
    assert len(tables) == sex.length
    assert re.findall("<caption>(.*?)</caption>", text)[-1].endswith(
        '<data value="_T"><bdi>Total</bdi></data>'
    )
    for layer, table in enumerate(tables):
        assert table.index.tolist() == list(age.labels)
        assert table.columns.tolist() == [(job.label, label) for label in job.labels]
        for place in ((1, 1), (2, 3)):
            assert int(table.iloc[place]) == release.values[(*place, layer)]


def test_numbers_beside_the_value_are_the_innermost_columns(release):
    """Their meaning stands below; outer headers span them."""
    text = text_of(decorated(release))
    table = pd.read_html(io.StringIO(text), index_col=0)[0]
    names = ["value", "signed", "relative standard error", "noise share"]
    assert table.columns.tolist() == [
        ("Job", label, name) for label in release.dimensions[1].labels for name in names
    ]
    assert "<dt><bdi>noise share</bdi></dt><dd><bdi>The noise&#x27;s part" in text


@pytest.mark.parametrize(
    ("asked", "shape"),
    [({"rows": ["sex"]}, (3, 1)), ({"columns": ["sex"]}, (1, 3)), ({"layers": ["sex"]}, (1, 1))],
)
def test_a_table_without_rows_or_columns_has_one_of_them(town_workspace, asked, shape):
    release = release_table(town_workspace.stored("town"), request_from_text("town", **asked))
    tables = pd.read_html(io.StringIO(text_of(release)), index_col=0 if "rows" in asked else None)
    assert {table.shape for table in tables} == {shape}


def test_a_finer_level_stands_within_the_coarser_one(town_workspace):
    asked = request_from_text("town", rows=["area"], levels=["area=region,area"])
    text = text_of(release_table(town_workspace.stored("town"), asked))
    assert '<th scope="row" class="d1"><data value="N1">' in text
    assert '<th scope="row"><data value="N">' in text


def test_a_status_says_what_it_means(release):
    text = text_of(release)
    assert text.count('<abbr title="Not applicable: cannot occur">z</abbr>') == release.missing.sum() > 0
