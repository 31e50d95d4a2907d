"""The picture of a table: a bar a cell, its interval, marks where there is no number, and the note."""

import pytest

import discreet
from discreet.errors import BadRequest
from discreet.pictures.save import render


@pytest.fixture(scope="module")
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


def drawn(table, **options):
    chart = table.plot(**options).to_dict()
    (bars,) = chart["datasets"].values()
    return chart, bars


def test_every_cell_has_its_bar_and_its_interval(catalogue):
    table = catalogue.table("town", rows=["age"], columns=["sex"])
    chart, bars = drawn(table, level=0.9)
    assert len(bars) == 6  # totals are left out
    limits = table.intervals(level=0.9)
    for bar in bars:
        line = limits[(limits["age_label"] == bar["age"]) & (limits["sex_label"] == bar["sex"])].iloc[0]
        assert (bar["_value"], bar["_low"], bar["_high"]) == (line["value"], line["low"], line["high"])
    words = " ".join(chart["title"]["subtitle"])
    assert "randomly adjusted" in words
    assert "at least 90 %" in words


def test_a_cell_without_a_number_is_marked_and_has_no_bar(catalogue):
    """Wrong: a bar of length zero, which would say that nobody is there."""
    chart, bars = drawn(catalogue.table("town", rows=["age"], columns=["job"]))
    impossible = [bar for bar in bars if bar["age"] == "Child" and bar["job"] == "Farm"]
    assert impossible == [{"age": "Child", "job": "Farm", "_end": 0, "_mark": "[z]"}]
    assert "[z] Not applicable: cannot occur" in chart["title"]["subtitle"]
    assert (
        render(catalogue.table("town", rows=["age"], columns=["job"]).plot(), "svg").count(b">[z]</text>")
        == 3
    )


def test_numbers_that_were_made_to_add_up_have_no_interval(catalogue):
    chart, bars = drawn(catalogue.table("town", rows=["age"], columns=["sex"], additivity="fitted"))
    assert not any("_low" in bar for bar in bars)
    assert not any(line.startswith("Lines:") for line in chart["title"]["subtitle"])


def test_what_cannot_be_read_as_a_picture_is_refused(catalogue):
    with pytest.raises(BadRequest, match="3 variables"):
        catalogue.table("town", rows=["age"], columns=["sex"], layers=["job"]).plot()
    with pytest.raises(BadRequest, match="The level is 1"):
        catalogue.table("town", rows=["age"]).plot(level=1)
