"""Frames: the same numbers in each, categories in their declared order, and what must be told beside them."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.api.frames import (
    layout_of,
    long_frame,
    polars_frame,
    table_metadata,
    wide_frame,
    xarray_dataset,
)
from discreet.api.notebook import SHOWN, STYLE, figure, listing
from discreet.errors import MissingExtra
from discreet.formats.writers.arrow import arrow_table
from discreet.model import plugins as registry
from discreet.model.shape import Output


def test_layers_stand_outside_rows_and_columns_along_the_top(town_release):
    layout = layout_of(town_release)
    assert [d.name for d in layout.side] == ["sex", "age"]
    assert [d.name for d in layout.top] == ["job"]
    lines = layout.spread(town_release.values)
    assert lines.shape == (layout.height, 5)
    for line, (sex, age) in enumerate(np.ndindex(3, 4)):
        assert lines[line].tolist() == town_release.values[age, :, sex].tolist()


def test_labels_and_codes_keep_their_declared_order(town_release):
    """Wrong: the order of the alphabet, which puts adults before children."""
    frame = long_frame(town_release)
    assert frame["age_label"].cat.categories.tolist() == ["Child", "Adult", "Old", "Total"]
    assert frame["age"].cat.ordered
    assert frame["age_label"].cat.ordered
    shuffled = frame.sample(frac=1, random_state=1).sort_values(["age_label", "job_label", "sex_label"])
    assert shuffled["value"].tolist() == frame["value"].tolist()
    assert sorted(frame["age_label"].unique().tolist()) != ["Child", "Adult", "Old", "Total"]


def test_the_wide_frame_reads_as_the_table(town_release):
    wide = wide_frame(town_release)
    assert wide.index.names == ["Sex", "Age"]
    assert wide.columns.name == "Job"
    assert wide.columns.tolist() == ["None", "Farm", "Shop", "Not stated", "Total"]
    for sex, s in (("Male", "1"), ("Total", "_T")):
        for age, a in (("Adult", "adult"), ("Total", "_T")):
            assert wide.loc[(sex, age), "Farm"] == town_release.value(a, "1", s)
    assert wide.loc[("Male", "Child"), "Farm"] is not None
    assert wide.isna().sum().sum() == town_release.missing.sum() > 0


def test_a_table_without_columns_or_rows_is_a_frame_too(catalogue):
    down = catalogue.table("town", rows=["sex"]).to_pandas(wide=True)
    across = catalogue.table("town", columns=["sex", "age"]).to_pandas(wide=True)
    assert down.columns.tolist() == ["persons"]
    assert across.index.tolist() == ["persons"]
    assert across.columns.names == ["Sex", "Age"]
    assert across.loc["persons", ("Total", "Total")] == down.loc["Total", "persons"]


def test_polars_arrow_and_xarray_have_the_numbers_of_pandas(town_release):
    frame = long_frame(town_release)
    numbers = frame["value"].astype(object).where(frame["value"].notna(), None).tolist()
    assert arrow_table(town_release)["value"].to_pylist() == numbers
    polars = polars_frame(town_release)
    assert polars["value"].to_list() == numbers
    assert polars["age_label"].dtype.categories.to_list() == ["Child", "Adult", "Old", "Total"]
    assert polars.sort("age_label")["age_label"][0] == "Child"
    array = xarray_dataset(town_release)
    assert array["value"].dims == ("age", "job", "sex")
    assert array["value"].sel(age="adult", job="1", sex="2").item() == town_release.value("adult", "1", "2")
    assert (np.isnan(array["value"].values) == town_release.missing).all()
    assert array["status"].sel(age="child", job="1", sex="1").item() == "z"
    assert array["age_label"].values.tolist() == ["Child", "Adult", "Old", "Total"]


def test_what_must_be_told_travels_with_every_frame(town_release):
    words = table_metadata(town_release)
    assert words["note"].startswith(town_release.notes[0])
    assert {"citation", "version", "promise", "digest"} <= set(words)
    assert long_frame(town_release).attrs == wide_frame(town_release).attrs == words
    assert xarray_dataset(town_release).attrs["note"] == words["note"]
    assert b"discreet" in arrow_table(town_release).schema.metadata


def test_two_categories_of_one_label_are_no_error(town_release):
    age = town_release.dimensions[0]
    outputs = tuple(replace(output, label="Same") for output in age.outputs)
    twins = replace(town_release, dimensions=(replace(age, outputs=outputs), *town_release.dimensions[1:]))
    frame = long_frame(twins)
    assert frame["age_label"].cat.categories.tolist() == ["Same", "Total"]
    assert frame["age"].cat.categories.tolist() == ["child", "adult", "old", "_T"]
    assert wide_frame(twins).shape == wide_frame(town_release).shape
    assert polars_frame(twins)["value"].to_list() == polars_frame(town_release)["value"].to_list()


def test_withheld_numbers_are_in_no_frame(town_release):
    """Wrong: to mask the number and leave it in memory; `0` stands below every mask."""
    values = np.where(town_release.missing, 987654, town_release.values)
    hidden = replace(town_release, values=values, status=town_release.status.copy())
    assert "987654" not in str(long_frame(hidden)["value"].array._data.tolist())
    assert 987654 not in xarray_dataset(hidden)["value"].values


@pytest.mark.parametrize("make", [polars_frame, xarray_dataset])
def test_what_is_not_installed_says_what_to_install(make, town_release, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="pip install"):
        make(town_release)


STYLESHEET = Path(discreet.__file__).parent / "web/static/css/base.css"


class Elements(HTMLParser):
    """The elements of a fragment; it fails where one is not closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def count(self, tag):
        return sum(found == tag for found, _ in self.found)


def test_the_note_stands_above_the_numbers_and_all_elements_are_closed(town_release):
    html = figure(town_release)
    Elements(html)
    assert html.index(town_release.notes[0][:40]) < html.index("<table")
    assert town_release.digest[:8] in html
    assert "[z] Not applicable" in html


def test_colours_are_those_of_the_page_in_light_and_dark():
    """Wrong: colours of one's own, which drift from the page's."""
    page = STYLESHEET.read_text("utf-8")
    for name in ("ink", "dim", "paper", "line", "tint", "care-bg", "care-line"):
        both = page.split(f"--{name}: light-dark(")[1].split(")")[0].split(", ")
        for ours, colour in zip(STYLE.split("@media (prefers-color-scheme:dark)"), both, strict=True):
            assert f"--{name}:{colour};" in ours + ";" or f"--{name}:{colour}}}" in ours, name


def test_the_style_touches_nothing_but_our_own_figure():
    rules = STYLE.removeprefix("<style>").replace("@media (prefers-color-scheme:dark){", "")
    selectors = [rule.rpartition("}")[2] for rule in rules.removesuffix("</style>").split("{")[:-1]]
    assert len(selectors) > 10
    assert all(selector.startswith("figure.discreet") for selector in selectors)


def test_every_number_stands_under_its_header(catalogue):
    release = catalogue.table("town", rows=["sex"], columns=["age", "job"]).release
    found = Elements(figure(release))
    spans = [int(attributes.get("colspan", 0)) for tag, attributes in found.found if tag == "th"]
    assert sum(span for span in spans if span == 5) == 20  # four ages over five jobs each
    assert found.count("td") == release.cells


def test_a_large_table_is_cut_and_says_so(catalogue):
    release = catalogue.table("town", rows=["area", "age"], columns=["job", "sex", "region"]).release
    html = figure(release)
    assert "Shown in part" not in html  # 24 lines of 45 numbers
    assert Elements(html).count("td") == release.cells
    small = catalogue.table("town", rows=["area", "age", "job"])
    assert "Shown in part" in figure(small.release)
    assert Elements(figure(small.release)).count("td") == SHOWN
    assert "Shown in part" not in figure(catalogue.table("town", rows=["area"]).release)


def test_hostile_labels_stay_text(town_release):
    age = town_release.dimensions[0]
    bad = Output("x", "<script>alert(1)</script>\x1b[31m\u202e", (0,))
    age = replace(age, label="</style><img src=x>", outputs=(bad, *age.outputs[1:]))
    dataset = replace(town_release.dataset, source='"/><script>')
    html = figure(replace(town_release, dimensions=(age, *town_release.dimensions[1:]), dataset=dataset))
    found = Elements(html)
    assert not {"script", "img"} & {tag for tag, _ in found.found}
    assert "\x1b" not in html
    listed = Elements(listing([("<script>", "b")], ("<i>", "y"), "<b>"))
    assert "script" not in {tag for tag, _ in listed.found}
