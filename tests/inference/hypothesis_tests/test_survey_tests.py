"""Tests of weighted tables: each figure worked out slowly, refusals, and the same answer on every interface."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from scipy.stats import chi2, f
from typer.testing import CliRunner

import discreet
from discreet.cli.main import app
from discreet.errors import BadDescription, BadRequest
from discreet.inference import cramers_v, distribution_test, independence_test, log_linear_test
from discreet.inference.hypothesis_tests.likelihood_ratio import read_likelihood_ratio
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.survey_tests import SurveyTable, rao_scott
from discreet.model.survey import PairEffect, parse_survey, read_constants
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace

CLUSTERS, TAKE, WEIGHT = 40, 30, 50
VARIABLES = "".join(
    f'[[variable]]\nname = "{name}"\ncategories = {[str(code) for code in range(count)]}\n'
    for name, count in (("sex", 2), ("job", 3), ("region", 2))
)
DESCRIPTION = """id = "survey"
label = "Survey"
unit = "persons"
id_column = "id"
weight_column = "w"
{variables}
[survey]
sample_size = {records}
population_size = {people}
largest_weight = {weight}
{more}
"""


def records():
    rng = np.random.default_rng(3)
    place = np.repeat(np.arange(CLUSTERS), TAKE)
    women, jobs = rng.dirichlet([1, 1], CLUSTERS), rng.dirichlet([1, 1, 1], CLUSTERS)
    sex = [rng.choice(2, p=women[each]) for each in place]
    job = [rng.choice(3, p=jobs[each]) for each in place]
    columns = {"psu": place, "sex": sex, "job": job, "region": place % 2}
    frame = pd.DataFrame({name: np.array(each).astype(str) for name, each in columns.items()})
    return frame.assign(id=range(len(frame)), w=WEIGHT)


def load(folder, more):
    frame = records()
    text = DESCRIPTION.format(
        variables=VARIABLES, records=len(frame), people=len(frame) * WEIGHT, weight=WEIGHT, more=more
    )
    (folder / "dataset.toml").write_text(text)
    discreet.load(folder / "workspace", folder / "dataset.toml", frame)
    return discreet.open(folder / "workspace")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clustered")


@pytest.fixture(scope="module")
def clustered(folder):
    return load(folder, 'clusters = "psu"\ntests = [["job", "sex"]]\n')


@pytest.fixture(scope="module")
def simple(tmp_path_factory):
    return load(tmp_path_factory.mktemp("simple"), "")


def weighted(catalogue, *variables, **parts):
    rows, columns = variables[:1], variables[1:2]
    more = {"layers": variables[2:]} if variables[2:] else {}
    return catalogue.table("survey", rows=rows, columns=columns, measure="weighted", **more, **parts).release


def slow_test(counts, noise, effect, variation, freedom):
    """X² and its p-value under independence, cell by cell; `noise` is the variance in records."""
    n = counts.sum()
    p, q = counts.sum(axis=1) / n, counts.sum(axis=0) / n
    cells = [(i, j) for i in range(len(p)) for j in range(len(q))]
    drawn, noisy = np.zeros((len(cells), len(cells))), np.zeros((len(cells), len(cells)))

    def coefficient(cell, other):
        return ((cell[0] == other[0]) - p[cell[0]]) * ((cell[1] == other[1]) - q[cell[1]])

    for a, one in enumerate(cells):
        for b, two in enumerate(cells):
            scale = n * np.sqrt(p[one[0]] * q[one[1]] * p[two[0]] * q[two[1]])
            for k in cells:
                both = coefficient(one, k) * coefficient(two, k) / scale
                drawn[a, b] += both * n * p[k[0]] * q[k[1]] * (1 - 1 / WEIGHT)
                noisy[a, b] += both * noise
    mean = n * np.outer(p, q)
    pearson = ((counts - mean) ** 2 / mean).sum()
    scale = effect * np.trace(drawn) + np.trace(noisy)
    squares = effect**2 * (1 + variation) * np.trace(drawn @ drawn)
    squares += 2 * effect * np.trace(drawn @ noisy) + np.trace(noisy @ noisy)
    df = scale**2 / squares
    p_value = (
        chi2.sf(df * pearson / scale, df) if freedom is None else f.sf(pearson / scale, df, df * freedom)
    )
    return pearson, p_value, np.trace(noisy)


def test_a_clustered_survey_is_tested_by_its_published_constants(clustered):
    release = weighted(clustered, "sex", "job")
    constants = release.dataset.survey.constants
    pair = constants.pair("sex", "job")
    assert pair == constants.pair("job", "sex")
    assert pair.effect > 1.25
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    found = independence_test(release)
    pearson, p_value, noise = slow_test(
        release.noisy[inner].astype(float),
        3.0,
        pair.effect / 1.25,
        max(pair.variation - 0.1, 0),
        CLUSTERS - 1,
    )
    assert found.naive.statistic == pytest.approx(pearson, rel=1e-6)
    assert found.p_value == pytest.approx(p_value, rel=1e-5)
    assert found.cramers_v.noise_part == pytest.approx(noise, rel=1e-5)
    assert found.p_value > found.naive.p_value
    assert log_linear_test(release, [["sex"], ["job"]]).p_value == found.p_value


def test_a_simple_survey_needs_no_constant(simple):
    release = weighted(simple, "sex", "job")
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    pearson, p_value, _ = slow_test(release.noisy[inner].astype(float), 3.0, 1.0, 0.0, None)
    found = independence_test(release)
    assert (found.naive.statistic, found.p_value) == pytest.approx((pearson, p_value), rel=1e-5)
    three = log_linear_test(weighted(simple, "sex", "job", "region"), [["sex", "job"], ["region"]])
    assert three.df == 5
    assert independence_test(weighted(simple, "sex", "job", filters={"region": ["0"]})).df == 2


def test_given_chances_are_tested_by_the_constant_of_the_variable(clustered):
    release = weighted(clustered, "job")
    found = distribution_test(release, [1, 1, 1])
    effect = release.dataset.survey.constants.effect("job").cluster / 1.25
    counts = release.noisy[release.dimensions[0].leaves].astype(float)
    pearson = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert found.naive.statistic == pytest.approx(pearson)
    assert found.statistic == pytest.approx(
        pearson / (effect * (1 - 1 / WEIGHT) + 3.0 / counts.mean()), rel=1e-4
    )


def test_the_bias_of_the_form_widens_a_test_of_given_chances_alone():
    counts = np.array([[400.0, 300.0, 300.0]]).T
    table = SurveyTable(counts, np.zeros(3), np.array([200.0]), np.array([1000.0]))
    model = HierarchicalModel.of([()], np.ones(3))
    without, biased = (rao_scott(table, model, PairEffect(), bias) for bias in (0.0, 0.25 * 2))
    assert without.scale == pytest.approx(2 * (1 - 1 / 200))
    assert biased.scale == pytest.approx(without.scale + 0.5 * 2 / 3, rel=1e-6)
    assert biased.p_value > without.p_value


def test_strata_of_unequal_weight_are_drawn_each_by_itself():
    """X² of weighted counts against samples: its mean is the scale, and that of one stratum is not."""
    rng = np.random.default_rng(12)
    weights, sizes = np.array([30.0, 300.0]), np.array([400.0, 400.0])
    shares = [np.outer(rows, [0.3, 0.7]).ravel() for rows in ([0.7, 0.3], [0.4, 0.6])]
    model = HierarchicalModel.of([(0,), (1,)], np.ones((2, 2)))
    found = []
    for _ in range(600):
        drawn = np.stack([rng.multinomial(400, each).reshape(2, 2) for each in shares], axis=-1)
        found.append(
            rao_scott(SurveyTable(drawn * 1.0, np.zeros((2, 2)), weights, sizes), model, PairEffect())
        )
    pearson, scale = (np.array([getattr(each, name) for each in found]) for name in ("pearson", "scale"))
    error = pearson.std() / np.sqrt(len(found))
    assert pearson.mean() == pytest.approx(scale.mean(), abs=4 * error)
    assert pearson.mean() > 1 + 4 * error


@pytest.mark.parametrize(
    ("variables", "parts", "says"),
    [
        (("sex", "region"), {}, 'tests = \\[\\["sex", "region"\\]\\]'),
        (("sex", "job"), {"filters": {"region": ["0"]}}, "without filters"),
        (("sex", "job", "region"), {}, "two variables"),
    ],
)
def test_what_has_no_constant_is_refused(variables, parts, says, clustered):
    release = weighted(clustered, *variables, **parts)
    with pytest.raises(BadRequest, match=says):
        log_linear_test(release, [[name] for name in variables])


def test_counts_of_a_clustered_survey_lead_to_the_weighted_test(clustered, simple):
    counts = clustered.table("survey", rows=["sex"], columns=["job"]).release
    for test in (independence_test, cramers_v):
        with pytest.raises(BadRequest, match="measure weighted"):
            test(counts)
    with pytest.raises(BadRequest, match="Test the weighted table"):
        cramers_v(weighted(clustered, "sex", "job"))
    assert independence_test(simple.table("survey", rows=["sex"], columns=["job"]).release).df == 2


def test_a_version_without_published_constants_says_so(clustered):
    old = replace(weighted(clustered, "sex", "job"), sampling=None)
    with pytest.raises(BadRequest, match="newer version"):
        independence_test(old)


def test_options_of_the_test_of_counts_are_refused(clustered):
    with pytest.raises(BadRequest, match="one method"):
        independence_test(weighted(clustered, "sex", "job"), method="bootstrap")


def test_every_interface_answers_alike(clustered, folder):
    found = clustered.table("survey", rows=["sex"], columns=["job"], measure="weighted").test_independence()
    document = found.document()
    words = [
        "--workspace",
        str(folder / "workspace"),
        "--dataset",
        "survey",
        "--rows",
        "sex",
        "--columns",
        "job",
    ]
    answered = CliRunner().invoke(app, ["test", "independence", *words, "--measure", "weighted", "--json"])
    assert json.loads(answered.stdout) == json.loads(json.dumps(document))
    shown = CliRunner().invoke(app, ["test", "independence", *words, "--measure", "weighted"]).stdout
    assert "naive X2" in shown
    workspace = Workspace(folder / "workspace")
    client = TestClient(create_app(DatasetRegistry(workspace), read_options(folder / "workspace")))
    query = "rows=sex&columns=job&measure=weighted"
    given = client.get(f"/api/datasets/survey/test/independence?{query}").json()
    assert given == json.loads(json.dumps(document))
    assert read_likelihood_ratio(given).why == found.why
    page = client.get(f"/datasets/survey/test/independence?{query}").text
    assert "Rao-Scott" in page
    assert "--measure weighted" in page
    assert "test/independence" in client.get(f"/datasets/survey?{query}").text
    refused = client.get("/api/datasets/survey/test/independence?rows=sex&columns=job")
    assert refused.status_code == 400
    assert "weighted" in refused.text


DECLARED = """relative_variance = 0
degrees_of_freedom = 39
cluster_effects = { sex = 2, job = 2 }
tests = [{ variables = ["job", "sex"], effect = 1.6, variation = 0.3 }]
[protection]
method = "dp"
[protection.universe]
margins = "own"
variables = ["sex", "job"]
up_to = 2
[protection.budget]
name = "people"
epsilon = 4.0
delta = 1e-9
cap_epsilon = 9.0
cap_delta = 1e-6
"""


def test_under_dp_declared_constants_are_taken_as_they_are(tmp_path):
    release = weighted(load(tmp_path, DECLARED), "sex", "job")
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    (variance,) = np.unique(release.distribution.variance()[inner])
    pearson, p_value, _ = slow_test(release.noisy[inner].astype(float), variance, 1.6, 0.3, 39)
    found = independence_test(release)
    assert (found.naive.statistic, found.p_value) == pytest.approx((pearson, p_value), rel=1e-5)


SECTION = {"sample_size": 100, "population_size": 1000, "largest_weight": 10}


def test_constants_are_declared_where_nothing_is_measured():
    survey = parse_survey(
        SECTION | {"tests": [["a", "b"], {"variables": ["a", "c"], "effect": 1.6, "variation": 0.3}]}
    )
    assert survey.tests == (("a", "b"), ("a", "c"))
    assert survey.constants.pair("c", "a") == PairEffect(1.6, 0.3)
    assert survey.constants.pair("a", "b") is None
    assert read_constants(survey.constants.as_json()) == survey.constants


@pytest.mark.parametrize(
    "tests",
    [
        [["a"]],
        [["a", "b", "c"]],
        "a",
        [["a", "b"], ["b", "a"]],
        [{"variables": ["a", "b"], "effect": 0.5}],
        [{"variables": ["a", "b"], "size": 2}],
        [["a", str(at)] for at in range(11)],
    ],
)
def test_other_declarations_of_tests_are_refused(tests):
    with pytest.raises(BadDescription, match="tests"):
        parse_survey(SECTION | {"tests": tests})


@pytest.mark.parametrize("pair", ['["sex", "jobs"]', '["sex", "sex"]'])
def test_a_load_refuses_pairs_that_are_no_table(pair, tmp_path):
    with pytest.raises(BadDescription, match="tests"):
        load(tmp_path, f'clusters = "psu"\ntests = [{pair}]\n')
