"""Weighted tables under `dp`: made of noisy counts and public constants alone."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadData, BadDescription, OutsideUniverse
from discreet.model.request import TableRequest
from discreet.records.storage import sum_columns
from discreet.release.measures import weighted as measure
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

SURVEY = """
id = "survey"
label = "A survey"
id_column = "person"
weight_column = "weight"
weight_decimals = 2

[[variable]]
name = "state"
categories = ["A", "B"]

[[variable]]
name = "likes"
categories = ["yes", "no"]

[[variable]]
name = "age"
categories = ["young", "old"]

[survey]
form = "FORM"
sample_size = 600
population_size = 24000
largest_weight = 60
relative_variance = 0.05
STRATA

[protection]
method = "dp"

[protection.universe]
margins = "own"
variables = ["state", "likes", "age"]
up_to = 2

[protection.budget]
calibrate = false
family = "survey"
epsilon = 8.0
cap_epsilon = 8.0
MORE
"""
KNOWN = 'invariants = ["n"]\nneighbours = "replace-one"'
WEIGHTS = 'stratum = "state"\nstratum_weights = { A = 30, B = 50 }'


def records():
    """Half of the sample in each state, with weights of 30 and 50."""
    rng = np.random.RandomState(3)
    states = np.repeat(["A", "B"], 300)
    return pa.table(
        {
            "person": np.arange(600),
            "state": states,
            "likes": rng.choice(["yes", "no"], 600),
            "age": rng.choice(["young", "old"], 600),
            "weight": np.where(states == "A", 30.0, 50.0),
        }
    )


def stored(folder, form, strata="", more="", margins="own"):
    text = (
        SURVEY.replace('"own"', f'"{margins}"')
        .replace("FORM", form)
        .replace("STRATA", strata)
        .replace("MORE", more)
    )
    text = text.replace("relative_variance = 0.05", "relative_variance = 0.0625")
    load_dataset(folder, text, records())
    return Workspace(folder).stored("survey")


def weighted(rows, columns=()):
    return TableRequest("survey", rows, columns, measure="weighted")


@pytest.mark.slow
def test_the_average_weight_times_noisy_counts(tmp_path):
    release = release_table(stored(tmp_path, "average-weight"), weighted(("likes",)))
    assert release.values.tolist() == [max(0, 40 * n) for n in release.noisy.tolist()]
    assert any("post-processing of noisy counts" in sentence for sentence in release.promise)


def test_the_invariant_form_holds_the_sample_size_fixed(tmp_path):
    release = release_table(stored(tmp_path, "invariant", more=KNOWN), weighted(("likes",)))
    assert release.values.tolist()[:2] == [40 * n for n in release.noisy.tolist()[:2]]
    assert release.value("_T") == 24000
    assert "whose records are replaced" in release.promise[0]
    assert any("N/n for one cell and 2N/n for a table" in sentence for sentence in release.promise)


def test_the_invariant_form_needs_the_invariant_and_dp(tmp_path):
    with pytest.raises(BadDescription, match="is not declared"):
        stored(tmp_path, "invariant")
    with pytest.raises(BadDescription, match="exact weights"):
        stored(tmp_path, "largest-weight")


@pytest.mark.slow
def test_public_strata_add_up_noisy_strata_that_the_universe_must_contain(tmp_path):
    survey = stored(tmp_path, "public-strata", WEIGHTS)
    release = release_table(survey, weighted(("likes",)))
    parts = release_table(survey, TableRequest("survey", ("likes",), ("state",))).noisy
    assert release.value("yes") == 30 * parts[0, 0] + 50 * parts[0, 1]
    with pytest.raises(OutsideUniverse, match="age x likes x state"):
        release_table(survey, weighted(("likes",), ("age",)))


@pytest.mark.slow
def test_what_is_declared_of_a_sample_is_compared_with_the_records_only_where_it_is_public(tmp_path):
    """A size that had to be exact would release the number of records, which an added person changes."""
    one_less = records().slice(0, 599)
    text = SURVEY.replace("STRATA", "").replace("FORM", "average-weight")
    load_dataset(tmp_path / "design", text.replace("MORE", ""), one_less)
    with pytest.raises(BadData, match="sample_size is 600"):
        load_dataset(tmp_path / "n", text.replace("MORE", KNOWN), one_less)
    load_dataset(tmp_path / "n", text.replace("MORE", KNOWN), records())
    lower = text.replace("MORE", "").replace("largest_weight = 60", "largest_weight = 49")
    load_dataset(tmp_path / "w", lower, records())  # a larger weight counts as 49: a refusal would tell of it


def test_errors_rest_on_the_noise_of_each_cell(tmp_path):
    release = release_table(
        stored(tmp_path, "average-weight", margins="sums"), weighted(("likes",), ("state",))
    )
    noise = 40**2 * np.array(
        [[float(release.distribution.at(row, column).variance) for column in range(3)] for row in range(3)]
    )
    assert release.sampling.noise == pytest.approx(noise)
    assert len(set(noise.ravel().round().tolist())) > 1, "wrong: one noise for all cells"
    assert (release.errors >= 1000 * np.sqrt(noise) / release.values).all()


@pytest.mark.parametrize("form", ["average-weight", "public-strata"])
def test_errors_read_no_weight_of_a_record(form, tmp_path, monkeypatch):
    """The wrong alternative, the variance by the design, is exact: under dp it is never asked for."""

    def exact(*_arguments):
        pytest.fail("an exact variance was computed")

    monkeypatch.setattr(measure, "design_variances", exact)
    strata = WEIGHTS if form == "public-strata" else ""
    release = release_table(stored(tmp_path, form, strata), weighted(("likes",)))
    assert (release.errors > 0).all()
    assert not any("design effect of the cell" in sentence for sentence in release.promise)
    assert sum_columns(release.dataset) == ()
