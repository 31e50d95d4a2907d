"""Risk and utility of a weighted table under every form equal a slow computation, and the studies' forms and measures."""

import json
from math import log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from typer.testing import CliRunner

import discreet
from discreet.assess.simulation import releases
from discreet.assess.subject import Subject
from discreet.assess.weighted_forms import WeightedSubject, assess_forms, assess_weighted, whole
from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.noise import laplace
from discreet.survey.weight_forms import SurveyDesign
from discreet_studies.average_weights import cell_average, overall_average
from discreet_studies.measures import entropy_risk, hellinger_distance

FORMS = ("average-weight", "public-strata", "largest-weight", "overall-average", "cell-average")
REPS = 6
WEIGHTS = np.array([10.0, 25.0])


@pytest.fixture(scope="module")
def subject():
    """Two strata, 3 x 4 cells; weights are constant within strata but for one respondent of 40."""
    rng = np.random.default_rng(2)
    split = rng.poisson(12, (2, 1, 3, 4))
    counts = split.sum(axis=0)
    people = np.tensordot(WEIGHTS, split, axes=(0, 0))
    people[0, 0, 0] += 15.0
    whole = Subject(counts, np.ones(counts.shape, dtype=bool))
    average = people.sum() / counts.sum()
    return WeightedSubject(whole, people, average, 40.0, split, WEIGHTS, np.ones(split.shape, dtype=bool))


@pytest.fixture(scope="module")
def noise():
    return laplace(epsilon=1.0)


def slow_values(subject, noise, form):
    """The numbers of each release, cell by cell; and the share of cells that noise changed."""
    counts, people = subject.subject.counts, subject.people
    n = counts.sum()
    mean = people.sum() / n

    def half_away(value):
        return int(value + 0.5) if value >= 0 else -int(-value + 0.5)

    def noisy(table):
        whole = Subject(table, np.ones(table.shape, dtype=bool))
        return np.maximum(releases(whole, noise, REPS, 5), 0)

    plain, steps = noisy(counts), np.array([[[half_away(w / 40) for w in row] for row in people[0]]])
    split = noisy(subject.by_stratum.reshape(2, 3, 4)).reshape(REPS, 2, 1, 3, 4)
    stepped = noisy(steps)
    tables, moved = [], []
    for r in range(REPS):
        table, cells = np.zeros((3, 4)), np.zeros((3, 4))
        for i in range(3):
            for j in range(4):
                w, k = people[0, i, j], int(counts[0, i, j])
                p = int(plain[r, 0, i, j]) - k
                if form == "average-weight":
                    value = half_away((k + p) * mean)
                elif form == "overall-average":
                    value = half_away(w + p * mean)
                elif form == "cell-average":
                    value = half_away(w + p * w / k)
                elif form == "largest-weight":
                    value, p = 40 * int(stepped[r, 0, i, j]), int(stepped[r, 0, i, j]) - int(steps[0, i, j])
                else:
                    value = half_away(sum(WEIGHTS[h] * int(split[r, h, 0, i, j]) for h in range(2)))
                    p = sum(
                        abs(int(split[r, h, 0, i, j]) - int(subject.by_stratum[h, 0, i, j])) for h in range(2)
                    )
                table[i, j], cells[i, j] = value, p != 0
        tables.append(table)
        moved.append(cells.mean())
    return tables, moved


def slow_risk(a, b):
    """RM of two tables, by formula 4 of Antal, Shlomo and Elliot."""
    total, shown = a.sum(), b.sum()
    whole = total * shown
    a, b = a.ravel() * shown, b.ravel() * total
    left = whole - sum(map(min, a, b))
    entropy = conditional = 0.0
    for x, y in zip(a, b, strict=True):
        m = min(x, y)
        entropy -= x / whole * log(x / whole) if x else 0
        conditional -= m / whole * log(m / y) if m else 0
        conditional -= (x - m) / whole * log((x - m) / left) if x > m else 0
        conditional -= (y - m) / whole * log((y - m) / y) if y > m else 0
    return 1 - conditional / entropy


@pytest.mark.parametrize("form", FORMS)
def test_measures_equal_a_slow_computation(subject, noise, form):
    truth, outcomes = assess_weighted(subject, noise, dict.fromkeys(FORMS, ""), reps=REPS, seed=5)
    (found,) = (each for each in outcomes if each.form == form)
    tables, moved = slow_values(subject, noise, form)
    a = subject.people[0]
    ratio = subject.subject.counts.sum() / a.sum()
    expected = {
        "perturbed": np.mean(moved),
        "changed": np.mean([(abs(b - a) > 0.5).mean() for b in tables]),
        "rm": np.mean([slow_risk(a, b) for b in tables]),
        "hellinger": np.mean([sqrt(0.5 * ((np.sqrt(b) - np.sqrt(a)) ** 2).sum()) for b in tables]),
        "relative_error": np.mean([np.median(abs(b - a) / a) for b in tables]),
        "largest_relative_error": np.mean([(abs(b - a) / a).max() for b in tables]),
        "total_error": np.mean([abs(b.sum() - a.sum()) / a.sum() for b in tables]),
        "chi_square": np.mean([chi2_contingency(b, correction=False)[0] for b in tables]),
        "p_value": np.mean([chi2_contingency(b, correction=False)[1] for b in tables]),
        "chi_square_of_sample": np.mean([chi2_contingency(b * ratio, correction=False)[0] for b in tables]),
        "p_value_of_sample": np.mean([chi2_contingency(b * ratio, correction=False)[1] for b in tables]),
    }
    assert set(found.simulated) == set(expected)
    for name, value in expected.items():
        assert found.simulated[name].mean == pytest.approx(value, rel=1e-9), name
    exact = chi2_contingency(a * ratio, correction=False)
    assert truth["chi_square_of_sample"] == pytest.approx(exact[0])
    assert truth["p_value_of_sample"] == pytest.approx(exact[1])
    verdicts = [
        (chi2_contingency(b * ratio, correction=False)[1] <= 0.05) == (exact[1] <= 0.05) for b in tables
    ]
    assert found.same_conclusion == np.mean(verdicts)


def test_forms_that_are_not_served_are_those_of_the_studies(subject, noise):
    """Wrong alternative: the noise times another average; RM and Hellinger are those of the paper's reproduction."""
    counts, people = subject.subject.flat, subject.people.ravel()
    drawn = np.maximum(releases(subject.subject, noise, REPS, 5), 0).reshape(REPS, -1)
    fixed = (people * 10**4).astype(np.int64)
    design = SurveyDesign(int(counts.sum()), int(fixed.sum()), 4, 40 * 10**4)
    _, outcomes = assess_weighted(subject, noise, dict.fromkeys(FORMS, ""), reps=REPS, seed=5)
    for form, function in (("overall-average", overall_average), ("cell-average", cell_average)):
        (found,) = (each for each in outcomes if each.form == form)
        values = whole(np.array([function(row, counts, fixed, design) for row in drawn]) / 10**4)
        true = np.broadcast_to(people, values.shape)
        assert found.simulated["rm"].mean == pytest.approx(entropy_risk(true, values).mean())
        assert found.simulated["hellinger"].mean == pytest.approx(hellinger_distance(true, values).mean())


def test_without_noise_the_forms_of_the_paper_are_exact_and_an_average_is_biased(subject):
    """An average weight loses what strata keep: here all but the one respondent of 40."""
    still = laplace(epsilon=50.0)
    _, outcomes = assess_weighted(subject, still, dict.fromkeys(FORMS, ""), reps=2, seed=1)
    error = {each.form: each.simulated["relative_error"].mean for each in outcomes}
    assert error["cell-average"] == error["overall-average"] == error["public-strata"] == 0
    assert error["average-weight"] > 0.03
    assert 0 < error["largest-weight"] < 0.1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"id": range(600), "area": rng.choice(["n", "s"], 600), "sex": rng.choice([1, 2], 600)}
    )
    frame["job"] = rng.choice(["a", "b", "c"], 600)
    frame["w"] = np.where(frame["area"] == "n", 10, 30)
    w = frame["w"]
    (folder / "dataset.toml").write_text(
        'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\n'
        + "".join(
            f'[[variable]]\nname = "{name}"\ncategories = {json.dumps(codes)}\n'
            for name, codes in (("area", ["n", "s"]), ("sex", ["1", "2"]), ("job", ["a", "b", "c"]))
        )
        + f'[survey]\nform = "public-strata"\nstratum = "area"\nstratum_weights = {{ n = 10, s = 30 }}\n'
        f"sample_size = 600\npopulation_size = {w.sum()}\nlargest_weight = 30\n"
        f"relative_variance = {600 * (w**2).sum() / w.sum() ** 2 - 1:.4f}\n"
    )
    discreet.load(folder / "w", folder / "dataset.toml", frame)
    return folder / "w"


@pytest.mark.parametrize(
    ("rows", "columns", "filters"),
    [(("sex",), ("job",), ()), (("sex",), ("area",), ()), (("sex",), ("job",), (("area", ("s",)),))],
)
def test_strata_are_counted_whether_or_not_the_table_has_them(folder, rows, columns, filters):
    """With weights that are constant in strata `public-strata` has no error but noise: no bias in any of these tables."""
    with discreet.open(folder) as opened:
        request = TableRequest("s", rows, columns, filters=filters, measure="weighted")
        found = assess_forms(opened._registry.open("s"), request, reps=60)
    simulated = {each.form: each.simulated for each in found.outcomes}
    assert set(simulated) == set(FORMS)
    assert simulated["public-strata"]["relative_error"].mean < 0.08
    if columns == ("area",):
        assert simulated["average-weight"]["relative_error"].mean > 0.25
    refused = {each.form: each.refused for each in found.outcomes}
    assert refused["average-weight"].startswith("biased by area")
    assert refused["public-strata"] == refused["largest-weight"] == ""
    assert refused["cell-average"].startswith("not served")
    assert (found.declared, found.proposed) == ("public-strata", "public-strata")


def test_the_same_seed_gives_the_same_assessment(folder):
    with discreet.open(folder) as opened:
        service = opened._registry.open("s")
        request = TableRequest("s", ("job",), measure="weighted")
        one, other = (assess_forms(service, request, reps=12, seed=seed).as_json() for seed in (3, 3))
        third = assess_forms(service, request, reps=12, seed=4).as_json()
    assert one == other != third
    assert one["truth"]["people"] > 0
    assert "chi_square" not in one["truth"]  # a table with one side has no test


def test_the_command_shows_all_forms_and_writes_json_and_a_map(folder, tmp_path):
    given = ["assess", "s", "--rows", "sex", "--columns", "job", "--measure", "weighted", "--forms"]
    given += ["--reps", "4", "--workspace", str(folder)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert all(form in done.output for form in FORMS)
    assert "CONFIDENTIAL" in done.output
    done = CliRunner().invoke(
        app, [*given, "--out", str(tmp_path / "f.json"), "--plot", str(tmp_path / "f.svg")]
    )
    assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "f.json").read_text())
    assert [each["form"] for each in document["forms"]] == [*FORMS[:3], "cell-average", "overall-average"]
    assert document["forms"][0]["shift"]["chi_square_of_sample"] is not None
    assert "overall-average" in (tmp_path / "f.svg").read_text()


@pytest.mark.parametrize("more", [["--measure", "count"], ["--measure", "weighted", "--out", "f.html"]])
def test_forms_are_of_weighted_tables_and_written_as_json(folder, more):
    given = ["assess", "s", "--rows", "sex", "--forms", "--workspace", str(folder), *more]
    done = CliRunner().invoke(app, given)
    assert isinstance(done.exception, BadRequest)
    assert "Forms are those of --measure weighted" in done.exception.advice


def test_a_dataset_without_a_survey_has_no_forms(town_workspace):
    from discreet.release.dataset_registry import DatasetService

    with pytest.raises(BadRequest, match=r"no \[survey\]"):
        assess_forms(
            DatasetService(town_workspace.stored("town")), TableRequest("town", ("sex",), measure="weighted")
        )
