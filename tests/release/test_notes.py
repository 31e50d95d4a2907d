"""The notes of every table: what was done to totals, and the bias of clipped counts, with both counts in every file."""

import json
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.api.table import Table
from discreet.formats import format_by_name
from discreet.formats.writers.json_stat import json_stat
from discreet.model.request import request_from_text
from discreet.noise import laplace, maxent
from discreet.noise.table import keep_zero
from discreet.noise.table_distribution import TableDistribution
from discreet.release.load_cautions import load_with_cautions
from discreet.release.notes import DP_NOTES, clipping_note, goes_below_zero, largest_bias, mandatory_note
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


#: A false alarm has a probability of 6e-5: four standard errors.
FALSE_ALARM, Z = 6e-5, 4
WIDE = request_from_text("town", rows=["age"], columns=["job"])


def few(town):
    """So few people that noise outweighs them."""
    return town.records.slice(0, 12)


@pytest.fixture(scope="module")
def releases(town, private_description, tmp_path_factory):
    """The same table under `dp` with the default, and with clipping declared."""
    made = {}
    for name, line in {"default": "", "clipped": "non_negative = true\n"}.items():
        text = private_description.replace("[protection]\n", f"[protection]\n{line}", 1)
        workspace = town.load(tmp_path_factory.mktemp(name) / "w", text, few(town))
        made[name] = release_table(workspace.stored("town"), WIDE)
        workspace.close()
    return made


@pytest.mark.slow
def test_under_dp_counts_are_signed_unless_clipping_is_declared(releases):
    plain, clipped = releases["default"], releases["clipped"]
    assert plain.signed is None
    assert (plain.values == plain.noisy).all()
    assert (clipped.noisy < 0).any()
    assert (clipped.values == np.maximum(clipped.noisy, 0)).all()
    assert (clipped.signed == clipped.noisy).all()


def test_the_note_says_why_counts_are_negative_or_what_clipping_does(releases):
    assert any(note.startswith("Counts can be negative because") for note in releases["default"].notes)
    told = next(note for note in releases["clipped"].notes if note.startswith("Counts below zero"))
    assert f"by up to {largest_bias(releases['clipped'].distribution):.2g}" in told


def test_every_frame_and_file_carries_the_signed_count_where_counts_are_clipped(releases):
    clipped = releases["clipped"]
    signed = clipped.noisy[~clipped.missing].tolist()
    assert Table(clipped).to_pandas()["signed"].dropna().tolist() == signed
    document = json.loads(format_by_name("json").write(clipped))["extension"]["signed"]
    assert [number for number in document if number is not None] == signed
    assert "signed" not in format_by_name("csv").write(releases["default"]).decode().splitlines()[0]


def test_the_bias_is_the_mean_of_what_clipping_adds():
    """Measured on two million draws; the wrong answer is half the standard deviation."""
    table = laplace(epsilon=0.5, m=20)
    distribution = TableDistribution(table, (1,))
    random = np.random.default_rng(5)
    row = table.rows[0]
    keys = random.integers(0, table.modulus, 2_000_000, dtype=np.uint64)
    noise = table.noise(np.zeros(keys.size, dtype=np.int64), keys)
    added = np.maximum(-noise, 0)
    error = added.std() / np.sqrt(added.size)
    assert abs(added.mean() - largest_bias(distribution)) < Z * error
    assert abs(float(row.variance()) ** 0.5 / 2 - largest_bias(distribution)) > Z * error


def test_noise_that_never_passes_zero_needs_no_word():
    distribution = TableDistribution(maxent(D=5, V=3), (1,))
    assert not goes_below_zero(distribution)
    assert clipping_note(distribution, clips=True) == ""
    assert clipping_note(distribution, clips=False) == ""


def test_of_noise_by_count_the_worst_count_is_told():
    """Zeros stay zero, so the worst is a count of one."""
    table = keep_zero(laplace(epsilon=0.5, m=20))
    low, chances = table.distributions[-1].distribution()
    one = float(np.maximum(0, -(1 + low + np.arange(chances.size))) @ chances)
    assert largest_bias(TableDistribution(table, (1,))) == pytest.approx(one)


def test_interior_totals_are_sums_of_signed_cells(private_town, tmp_path):
    text = private_town.description.replace("[protection]\n", "[protection]\nnon_negative = true\n", 1)
    private_town.load(tmp_path / "w", text, few(private_town)).close()
    release = (
        discreet.open(tmp_path / "w")
        .table("town", rows=["age"], columns=["job"], additivity="interior")
        .release
    )
    assert release.signed[-1, -1] == release.noisy[:-1, :-1][~release.missing[:-1, :-1]].sum()
    assert release.values[-1, -1] == max(0, release.signed[-1, -1])
    assert release.values[:-1, :-1].sum() > release.signed[:-1, :-1].sum()  # clipped first they would be more
