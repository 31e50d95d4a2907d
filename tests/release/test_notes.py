"""The note on every table: it says what was done to totals, and promises the same value only where it is kept."""

from dataclasses import replace

import pytest

import discreet
from discreet.formats import format_by_name
from discreet.formats.writers.json_stat import json_stat
from discreet.model.request import request_from_text
from discreet.release.load_cautions import load_with_cautions
from discreet.release.notes import DP_NOTES, mandatory_note
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import LoadJob

SAME = "The same group of people always shows the same value."


@pytest.mark.parametrize("additivity", sorted(DP_NOTES))
def test_the_question_s_own_way_wins_over_the_dataset_s(dataset, additivity):
    note = mandatory_note(dataset, additivity)
    assert (SAME in note) == (additivity == "independent")
    fitted = replace(dataset, protection=replace(dataset.protection, additivity="fitted"))
    assert mandatory_note(fitted) == mandatory_note(dataset, "fitted") != mandatory_note(dataset)


def test_under_dp_neither_small_amounts_nor_the_same_value_are_claimed(dataset):
    dp = replace(dataset, protection=replace(dataset.protection, method="dp"))
    for additivity, words in DP_NOTES.items():
        note = mandatory_note(dp, additivity)
        assert words in note
        assert SAME not in note
        assert "small amounts" not in note


@pytest.mark.parametrize("margins", ["own", pytest.param("sums", marks=pytest.mark.slow)])
def test_under_dp_totals_are_told_dimension_by_dimension(private_town, tmp_path, margins):
    """Sums of one margin add up; a total that a margin of its own answers does not, and the note names both."""
    text = private_town.description.replace('margins = "own"', f'margins = "{margins}"')
    stored = private_town.load(tmp_path / "w", text).stored("town")
    release = release_table(stored, request_from_text("town", rows=["sex"], columns=["age"]))
    for axis, dimension in enumerate(release.dimensions):
        parts = release.noisy.take(range(len(dimension.outputs)), axis).sum(axis)
        adds_up = bool((parts == release.noisy.take(-1, axis)).all())
        assert release.distribution.adds_up(axis, dimension.wholes) == adds_up == (margins == "sums")
    assert ("are the sums of their parts" in release.notes[0]) == (margins == "sums")
    assert ("Totals are adjusted separately" in release.notes[0]) == (margins == "own")
    plain = request_from_text("town", rows=["sex"], totals=False)
    assert "Totals" not in release_table(stored, plain).notes[0]


def test_a_total_of_more_people_than_are_shown_says_so_on_every_face(town_workspace):
    asked = request_from_text("town", rows=["age"], columns=["sex"], groups=["age=child"])
    release = release_table(town_workspace.stored("town"), asked)
    assert release.dimensions[0].labels[-1] == "Total (all persons)"
    assert release.dimensions[1].labels[-1] == "Total"
    assert release.title.endswith("; totals over age count all persons")
    assert "also those in none of them" in release.notes[0]
    assert "Total (all persons)" in format_by_name("csv").write(release).decode()
    assert json_stat(release)["dimension"]["age"]["category"]["label"]["_T"] == "Total (all persons)"
    whole = request_from_text("town", rows=["age"], columns=["sex"], groups=["age=child,adult+old"])
    assert release_table(town_workspace.stored("town"), whole).dimensions[0].labels[-1] == "Total"


@pytest.mark.slow
def test_keys_by_description_do_not_say_that_the_same_people_show_the_same_number(town, tmp_path):
    """Wrong alternative: the sentence of hashed keys, which is false where people are described otherwise."""
    told = {}
    for keys in ("hashed", "participants-and-description"):
        text = town.description.replace('keys = "hashed"', f'keys = "{keys}"')
        load_with_cautions(LoadJob(tmp_path / keys, text, town.records))
        table = discreet.open(tmp_path / keys).table("town", rows=["sex"])
        told[keys] = " ".join((*table.release.notes, *table.release.promise))
    assert "same group of people" in told["hashed"]
    assert "same people show" in told["hashed"].lower()
    assert "same group of people" not in told["participants-and-description"]
    assert "same people show" not in told["participants-and-description"].lower()


@pytest.mark.slow
def test_a_joint_table_says_that_sums_miss_by_rounding_and_where_noise_is_hidden(joint_workspace):
    """Wrong alternatives: that totals are adjusted separately; that every table hides noise of cells that cannot occur."""
    stored = joint_workspace.stored("town")
    plain = release_table(stored, request_from_text("town", rows=["sex"], columns=["age"])).notes[0]
    zeros = release_table(stored, request_from_text("town", rows=["age"], columns=["job"])).notes[0]
    assert "totals are the sums of their parts but for this rounding" in plain
    assert "separately" not in plain
    assert "cannot occur" not in plain
    assert "Totals also hold the noise of cells that cannot occur." in zeros
