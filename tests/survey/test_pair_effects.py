"""The constants of tests: those of R survey for a sample of clusters, a slow computation, and rounding by chance."""

import csv
import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.survey_tests import SurveyTable, rao_scott
from discreet.model.survey import PairEffect, SamplingDesign, Survey, sampling_design
from discreet.survey.pair_effects import measured_pair, step_of_variation
from discreet.survey.sample_sums import CategorySums, SampleDesign

ORACLES = Path(__file__).parents[1] / "oracles"
R = json.loads((ORACLES / "survey_tests.json").read_text("utf-8"))
WEIGHT = 50.0
SHAPE = (2, 3)


def clusters():
    """40 clusters with their tables; together they are nearly independent."""
    rng = np.random.default_rng(28)
    tables = np.array([rng.multinomial(30, rng.dirichlet(np.full(6, 2.0))).reshape(SHAPE) for _ in range(30)])
    left = tables.sum(axis=0).max() + 20 - tables.sum(axis=0)
    tables = np.concatenate([tables, [(left + at) // 10 for at in range(10)]])
    tables[0, 0, 0] += 4
    return tables


def survey_of(tables, design=None):
    records = int(tables.sum())
    return Survey(
        "average-weight", records, records * Fraction(50), Fraction(50), Fraction(0),
        design=design or SamplingDesign(clusters="unit"),
    )  # fmt: skip


def sums_of(tables):
    unit, category = np.nonzero(tables.reshape(len(tables), -1))
    counts = tables.reshape(len(tables), -1)[unit, category].astype(float)
    weights = np.full(unit.size, WEIGHT)
    return CategorySums(category, np.zeros_like(unit), unit, counts, weights, weights, weights, ())


def measured(tables):
    survey, sums = survey_of(tables), sums_of(tables)
    places = sums.category // SHAPE[1], sums.category % SHAPE[1]
    return measured_pair(sums, *places, np.zeros_like(sums.category), survey, SampleDesign(survey, sums))


def rejected(tables, effect):
    table = SurveyTable(
        tables.sum(axis=0)[..., None].astype(float),
        np.zeros(SHAPE),
        np.array([WEIGHT]),
        np.array([float(tables.sum())]),
        freedom=len(tables) - 1,
    )
    return rao_scott(table, HierarchicalModel.of([(0,), (1,)], np.ones(SHAPE)), effect)


def test_without_noise_the_test_is_that_of_r_survey():
    tables, drawn = clusters(), 1 - 1 / WEIGHT
    exact, freedom = measured(tables), len(tables) - 1
    assert exact.effect * drawn * 2 == pytest.approx(R["pearson"] / R["F"], rel=2e-3)
    # R takes the sum of the squared eigenvalues as it is estimated, and here the part of the estimate's error is off.
    squares = (1 / R["ndf"] - 1 / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
    assert 1 + exact.variation == pytest.approx(2 * squares, rel=2e-3)
    found = rejected(tables, PairEffect(exact.effect, 2 / R["ndf"] - 1))
    assert found.pearson == pytest.approx(R["pearson"], rel=1e-9)
    assert found.pearson / found.scale == pytest.approx(R["F"], rel=2e-3)
    assert found.effective * freedom == pytest.approx(R["ddf"], rel=2e-3)
    assert found.p_value == pytest.approx(R["p"], abs=1e-3)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_numbers_of_r_survey_are_those_of_its_script(tmp_path):
    here = subprocess.run(
        ["Rscript", "-e", 'cat(requireNamespace("survey"))'], capture_output=True, text=True, check=False
    )
    if "TRUE" not in here.stdout:
        pytest.skip("R survey is not installed")
    path = write_records(tmp_path / "records.csv")
    script = ["Rscript", str(ORACLES / "survey_tests.R"), str(path)]
    found = json.loads(subprocess.run(script, capture_output=True, text=True, check=True).stdout)
    assert found == pytest.approx(R, rel=1e-8)


def write_records(path):
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("unit", "a", "b"))
        for (unit, a, b), count in np.ndenumerate(clusters()):
            lines.writerows([(unit, a, b)] * int(count))
    return path


def test_records_drawn_one_by_one_have_no_effect_and_copies_have_the_size_of_their_cluster():
    rng = np.random.default_rng(5)
    alone = np.zeros((3_000, *SHAPE), dtype=int)
    alone[np.arange(3_000), rng.integers(0, 2, 3_000), rng.integers(0, 3, 3_000)] = 1
    assert measured(alone).effect == pytest.approx(1, abs=0.06)
    assert measured(alone * 7).effect == pytest.approx(7, rel=0.06)


def test_jackknife_replicates_have_the_effect_of_their_clusters():
    tables = clusters()
    count, cells = len(tables), tables[0].size
    design = sampling_design({"replicates": f"r1..r{count}", "method": "jackknife"})
    survey = survey_of(tables, design)
    sums = sums_of(tables)
    dropped = tuple(np.where(sums.unit == unit, 0.0, count / (count - 1)) for unit in range(count))
    replicated = CategorySums(
        sums.category, sums.stratum, sums.unit, sums.records, sums.exact, sums.weight, sums.form, dropped
    )
    places = sums.category // SHAPE[1], sums.category % SHAPE[1]
    found = measured_pair(
        replicated, *places, np.zeros_like(sums.category), survey, SampleDesign(survey, replicated)
    )
    assert cells == 6
    assert found.effect == pytest.approx(measured(tables).effect, rel=1e-9)
    assert found.variation == pytest.approx(measured(tables).variation, rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.3, 0.42])
def test_the_variation_is_a_tenth_larger_on_average_and_no_value_decides_its_step(value):
    chances = (np.arange(1_000) + 1) / 1_000
    steps = np.array([step_of_variation(value, chance) for chance in chances])
    assert steps.mean() == pytest.approx(value + 0.1, abs=1e-3)
    assert (steps > value - 1e-9).all()
    assert (steps <= value + 0.2 + 1e-9).all()
