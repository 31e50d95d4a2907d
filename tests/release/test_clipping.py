"""Numbers below zero: shown as they are under `dp`; where they are clipped, the bias is told and every file has both."""

import csv
import io
import json

import numpy as np
import pytest

import discreet
from discreet.api.table import Table
from discreet.formats import format_by_name
from discreet.model.request import request_from_text
from discreet.noise import laplace, maxent
from discreet.noise.table import keep_zero
from discreet.noise.table_distribution import TableDistribution
from discreet.release.notes import clipping_note, goes_below_zero, largest_bias
from discreet.release.pipeline import release_table
from discreet.web.pages.table_grid import Layout, grid

#: A false alarm has a probability of 6e-5: four standard errors.
FALSE_ALARM, Z = 6e-5, 4
WIDE = request_from_text("town", rows=["age"], columns=["job"])


def few(town):
    """So few people that noise outweighs them."""
    return town.records.slice(0, 12)


@pytest.fixture(scope="module")
def made():
    """What `releases` has made: once for all tests."""
    return {}


@pytest.fixture
def releases(made, private_town, tmp_path):
    """The same table under `dp` with the default, and with clipping declared."""
    if made:
        return made
    for name, line in {"default": "", "clipped": "non_negative = true\n"}.items():
        text = private_town.description.replace("[protection]\n", f"[protection]\n{line}", 1)
        workspace = private_town.load(tmp_path / name, text, few(private_town))
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


def test_every_file_carries_the_signed_count_where_counts_are_clipped(releases):
    clipped = releases["clipped"]
    rows = list(csv.DictReader(io.StringIO(format_by_name("csv").write(clipped).decode())))
    shown = ~clipped.missing.ravel()
    signed = [int(row["signed"]) for row, there in zip(rows, shown, strict=True) if there]
    assert signed == clipped.noisy.ravel()[shown].tolist()
    document = json.loads(format_by_name("json").write(clipped))["extension"]["signed"]
    assert [number for number in document if number is not None] == signed
    assert Table(clipped).to_pandas()["signed"].dropna().tolist() == signed
    titles = [
        cell[3]
        for group in grid(Layout(clipped)).layers[0].groups
        for _, cells in group.rows
        for cell in cells
    ]
    assert any("before it was raised to zero: −" in title for title in titles)
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
