"""Intervals of weighted tables cover over designs and forms, their constants are right, and wrong alternatives are found."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.inference.confidence_intervals.survey_intervals import survey_limits
from discreet.model.survey import DESIGN_EFFECTS, GENERALISED
from discreet.records.engine import AggregateQuery
from discreet.release.pipeline import release_table
from discreet_studies.bench import survey_errors
from discreet_studies.bench.part import Wish
from discreet_studies.bench.survey_errors import (
    FORMS,
    PART,
    SIZES,
    SMALL,
    TABLES,
    ArrayEngine,
    changed_by_exchange,
    chosen,
    document,
    load_sample,
    measure,
    shares_below,
    without_bias,
    without_clusters,
)
from discreet_studies.bench.survey_samples import DECIMALS, DESIGNS, Population, replicate_factors
from discreet_studies.commands.bench import markdown_lines

#: Of each comparison of the mean coverage of a table's cells with .95: one-sided, 3.1 standard errors.
FALSE_ALARM = 1e-3
MOST_ERRORS = 3.1
SAMPLES = 30


def coverages(name, form, errors_of, samples=SAMPLES, seed=5):
    """The share of larger cells whose interval covers, by sample, and how many samples are refused."""
    (design,) = chosen((name,))
    population, rng = Population(design, seed), np.random.default_rng(seed)
    (truth, _), found, refused = survey_errors._truths(population), [], 0
    larger = truth >= SMALL * population.size / 1_500
    for _ in range(samples):
        loaded = load_sample(population, population.draw(1_500, rng), form, rng)
        refused += loaded.refused
        release = release_table(loaded.stored, TABLES[0])
        low, high = survey_limits(replace(release, sampling=errors_of(release.sampling)), 0.95)
        found.append(((low <= truth) & (truth <= high))[larger].mean())
    return np.array(found), refused


def falls_short(found):
    """Whether the mean is below .95 by more than chance explains."""
    return found.mean() < 0.95 - MOST_ERRORS * found.std(ddof=1) / len(found) ** 0.5


def same(errors):
    return errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("simple", "average-weight"),
        ("clusters-150-icc-.15", "average-weight"),
        ("strata-jkn-weights", "public-strata"),
        ("heavy-tail", "largest-weight"),
    ],
)
def test_intervals_cover_in_a_sample_of_the_grid(name, form):
    found, refused = coverages(name, form, same)
    assert not falls_short(found)
    assert refused == 0


@pytest.mark.slow
def test_clusters_that_are_left_out_are_found():
    assert falls_short(coverages("clusters-150-icc-.15", "average-weight", without_clusters)[0])


@pytest.mark.slow
def test_a_form_whose_weights_are_related_is_refused_and_falls_short_without_gate_and_bias_term():
    found, refused = coverages("related", "average-weight", without_bias)
    assert falls_short(found)
    assert refused == SAMPLES


@pytest.mark.slow
def test_exact_design_effects_show_an_exchange_of_weights_and_published_constants_do_not():
    assert changed_by_exchange("average-weight", GENERALISED, 12) == 0
    assert changed_by_exchange("average-weight", DESIGN_EFFECTS, 12) > 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["jkn", "fay", "strata-clusters-weights", "raked"])
def test_a_table_of_three_variables_has_errors_under_every_form_and_design(name, form):
    (design,) = chosen((name,))
    population, rng = (
        Population(replace(design, adjust="raked") if name == "fay" else design, 1),
        np.random.default_rng(1),
    )
    release = release_table(load_sample(population, population.draw(1_500, rng), form, rng).stored, TABLES[0])
    assert (release.errors > 0).sum() > 100


def slow_variance(inside, sample, coefficients):
    """The variance of n times a share by the design: replicates, or clusters within strata, one by one."""
    values = inside - inside.mean()  # the residual: the sizes of clusters are no error of a share
    if sample.replicates.size:
        total = sum(inside)
        changed = [sum(inside * each) / sum(each) * inside.size for each in sample.replicates]
        return sum(c * (each - total) ** 2 for c, each in zip(coefficients, changed, strict=True))
    of_cluster, stratum_of = defaultdict(float), {}
    for value, cluster, stratum in zip(values, sample.cluster.tolist(), sample.stratum.tolist(), strict=True):
        of_cluster[cluster] += value
        stratum_of[cluster] = stratum
    variance = 0.0
    for own in set(stratum_of.values()):
        z = [total for cluster, total in of_cluster.items() if stratum_of[cluster] == own]
        variance += len(z) / (len(z) - 1) * sum((each - sum(z) / len(z)) ** 2 for each in z)
    return variance


@pytest.mark.parametrize(
    "name",
    ["clusters-related", "strata-clusters-weights", "jk1", "strata-jkn-weights", "brr", "fay", "bootstrap"],
)
def test_the_constants_of_a_load_are_those_of_a_slow_computation(name):
    (design,) = chosen((name,))
    population, rng = Population(design, 4), np.random.default_rng(4)
    sample = population.draw(900, rng)
    loaded = load_sample(population, sample, "largest-weight", rng)
    survey, weights = loaded.stored.dataset.survey, sample.weights / 10**DECIMALS
    coefficients, n = [float(c) for c in survey.design.coefficients], len(weights)
    assert weights.max() <= 3 * weights.mean()  # or they would be cut
    b = sum(weights**2) / sum(weights)
    for figures in loaded.figures:
        codes = population.columns[figures.level][sample.people]
        counts = simple = 0.0
        sizes, squares = [], []
        for code in sorted(set(codes.tolist())):
            inside = codes == code
            p, own = inside.mean(), weights * inside
            counts += slow_variance(inside.astype(float), sample, coefficients)
            simple += n * p * (1 - p)
            sizes.append(int(inside.sum()))
            squares.append(sum(own**2) / sum(own))
        mean = sum(size * each for size, each in zip(sizes, squares, strict=True)) / n
        spread = sum(
            size / n * ((each - mean) ** 2 - each**2 / size)
            for size, each in zip(sizes, squares, strict=True)
        )
        assert figures.cluster == pytest.approx(counts / simple, rel=1e-6, abs=1e-9)
        assert figures.spread == pytest.approx(1 + max(spread, 0) ** 0.5 / mean, rel=1e-6)
        published = survey.constants.effect(figures.level)
        assert 1 <= published.spread / figures.spread <= 1.25**2 + 1e-9
        assert published.cluster / max(figures.cluster, 1.0) >= 1
        if not (sample.replicates.size and published.constant):
            assert published.cluster / max(figures.cluster, 1.0) <= 1.25**2 + 1e-9
        assert not published.constant or figures.level == "region"
        if name in {"jk1", "brr", "fay"}:  # with smaller clusters it can hardly be seen, and hardly matters
            assert published.constant == (figures.level == "region")
    assert b <= survey.constants.mean_square <= 1.1 * b


@pytest.mark.parametrize("method", ["jk1", "jkn", "brr", "fay"])
def test_replicates_have_the_linearised_variance_of_a_total(method):
    rng = np.random.default_rng(2)
    stratum = np.repeat(np.arange(4), 2) if method in {"brr", "fay"} else np.repeat([0, 1], [3, 5])
    stratum = np.zeros(8, int) if method == "jk1" else stratum
    values = rng.normal(10, 3, 8)
    factors, coefficients = replicate_factors(method, stratum, rng)
    scale = {"jk1": 7 / 8, "jkn": 0, "brr": 1 / 32, "fay": 4 / 32}[method]
    c = coefficients or (scale,) * len(factors)
    found = sum(own * (values @ each - values.sum()) ** 2 for own, each in zip(c, factors, strict=True))
    exact = sum(
        part.size / (part.size - 1) * ((part - part.mean()) ** 2).sum()
        for part in (values[stratum == own] for own in set(stratum.tolist()))
    )
    assert found == pytest.approx(exact)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_weights_estimate_the_population_without_bias(design):
    """Wrong alternative: weights of one, scaled to the population, where they are related to b."""
    population, rng = Population(design, 3), np.random.default_rng(3)
    truth = np.bincount(population.columns["b"])[0]
    found = []
    for _ in range(60):
        sample = population.draw(1_500, rng)
        inside = population.columns["b"][sample.people] == 0
        found.append((sample.weights[inside].sum() / 10**DECIMALS, inside.mean() * population.size))
    own, plain = np.array(found).T
    error = own.std(ddof=1) / len(own) ** 0.5
    assert abs(own.mean() - truth) < 4 * error
    if design.related > 0.1:
        assert abs(plain.mean() - truth) > 4 * error


def test_an_engine_of_arrays_counts_as_a_slow_one_does():
    rng = np.random.default_rng(6)
    columns = {name: rng.integers(0, 4, 300) for name in ("a", "b", "weight")}
    keys = rng.integers(1, 2**32, 300, dtype=np.uint64)
    found = ArrayEngine(columns, keys).aggregate(
        AggregateQuery(("a", "b"), (("b", (1, 3)),), weights=True, sums=("weight",))
    )
    counts, sums, key_sums = Counter(), Counter(), Counter()
    for a, b, w, key in zip(
        *(columns[name].tolist() for name in ("a", "b", "weight")), keys.tolist(), strict=True
    ):
        if b in {1, 3}:
            counts[a, b] += 1
            sums[a, b] += w
            key_sums[a, b] += key
    cells = list(zip(*(each.tolist() for each in found.codes), strict=True))
    assert dict(zip(cells, found.counts.tolist(), strict=True)) == counts
    assert dict(zip(cells, found.weight_sums.tolist(), strict=True)) == sums
    assert dict(zip(cells, found.sums[0].tolist(), strict=True)) == sums
    assert dict(zip(cells, found.key_sums.tolist(), strict=True)) == key_sums


def test_the_monte_carlo_error_is_taken_off_the_shares_of_cells_that_fall_short():
    """Wrong alternative: the raw share, of cells that all have a coverage of .95."""
    rng = np.random.default_rng(8)
    alike = rng.binomial(100, 0.95, 5_000) / 100
    assert (alike < 0.93).mean() > 0.1
    assert shares_below([0.93], alike, np.full(5_000, 100.0))[0] < 0.01
    true = rng.beta(40, 3, 20_000)
    samples = rng.choice([40, 100], true.size)
    found = shares_below([0.93, 0.9], rng.binomial(samples, true) / samples, samples)
    assert found == pytest.approx([(true < limit).mean() for limit in (0.93, 0.9)], abs=0.02)


@pytest.mark.slow
def test_a_quick_run_has_a_line_for_each_point_and_each_form(monkeypatch):
    monkeypatch.setattr(survey_errors, "EXCHANGES", 1)
    lines = list(measure(Wish(points=("simple",), quick=True, repeats=2, say=lambda _text: None)))
    assert [(line["design"], line["form"]) for line in lines] == [
        (design, form) for design in ("simple", "all designs") for form in FORMS
    ]
    assert "| simple | 100 | 100 | 100 |" in document(markdown_lines(PART, lines), lines)


PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "survey-errors.md"


@pytest.fixture(scope="module")
def record():
    return json.loads(
        Path(__file__).parents[3].joinpath("docs/evidence/survey-errors.json").read_text("utf-8")
    )


def test_the_page_has_the_tables_that_the_command_made(record):
    points = {
        (each["design"], each["form"], each["respondents"])
        for each in record
        if each["design"] != "all designs"
    }
    assert points == {(design.name, form, size) for design in DESIGNS for form in FORMS for size in SIZES}
    assert document(markdown_lines(PART, record), record) in PAGE.read_text("utf-8")


def test_the_record_finds_the_wrong_alternatives(record):
    together = [each for each in record if each["design"] == "all designs"]
    for each in together:
        assert each["c93_true"] > 0.95
        if each["form"] != "invariant":
            assert each["no_clusters_c93_true"] < 0.85
        if each["form"] == "average-weight":
            assert each["no_bias_c93_true"] < 0.8
            assert each["shown_by_errors"] == 0
            assert each["shown_by_exact_effects"] > 0.3
