"""Weighted tables, each form against its definition worked out slowly; design-based errors against R survey.

The second survey is in the manner of EU-SILC: households in strata, two primary sampling units in each, skewed weights that
are raked to sex and age. R's numbers are in `tests/oracles/r_survey.json`; where R is here, its script is run again.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.release.surveys import cells, load, released, survey_records
from typer.testing import CliRunner

import discreet
from discreet.assess.survey_errors import survey_errors
from discreet.cli.main import app
from discreet.errors import BadData, BadDescription, BadRequest
from discreet.model.request import TableRequest, request_from_text
from discreet.model.shape import table_shape
from discreet.records.storage import sum_columns
from discreet.records.tabulate import tabulate
from discreet.release.dataset_registry import unlock_service
from discreet.release.measures.weighted import design_variances


@pytest.fixture(scope="module")
def frame():
    return survey_records()


@pytest.fixture(scope="module")
def even():
    """The same people, with weights that say nothing of them."""
    return survey_records(related=False)


@pytest.fixture(scope="module")
def averaged(even, tmp_path_factory):
    """The survey in the form `average-weight`."""
    return load(tmp_path_factory.mktemp("averaged"), even, "average-weight")


def half_away(value: Fraction) -> int:
    whole, rest = divmod(abs(value), 1)
    return (int(whole) + (rest >= Fraction(1, 2))) * (1 if value >= 0 else -1)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["largest-weight", "average-weight"])
def test_each_form_is_what_its_formula_says(form, even, tmp_path):
    frame = even
    release = released(load(tmp_path, frame, form), rows=["age"], columns=["sex"])
    hundredths = (frame["w"] * 100).round().astype(int)
    average, largest = Fraction(int(hundredths.sum()), len(frame)), int(hundredths.max())
    for place, inside in cells(frame, release):
        noisy, weight = int(release.noisy[place]), int(hundredths[inside.index].sum())
        counted = half_away(Fraction(weight, largest)) if form == "largest-weight" else len(inside)
        assert abs(noisy - counted) <= 5, (form, place)  # D of the default noise
        exact = {"largest-weight": noisy * largest, "average-weight": half_away(noisy * average)}[form]
        assert int(release.values[place]) == max(0, half_away(Fraction(exact, 100))), (form, place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        {"rows": ["age"]},
        {"rows": ["age"], "columns": ["state"]},
        {"rows": ["age"], "filters": {"state": ["B"]}},
        {"rows": ["state"], "filters": {"state": ["A"]}},
    ],
)
def test_public_strata_are_noisy_counts_of_strata_times_public_weights(parts, frame, tmp_path):
    catalogue = load(tmp_path, frame, "public-strata")
    weighted = catalogue.table("survey", measure="weighted", **parts).release
    strata = catalogue.table("survey", rows=["age"], columns=["state"]).release
    weight = {"A": Fraction(65, 2), "B": Fraction(63, 5)}
    kept = parts.get("filters", {}).get("state", ["A", "B"])
    for place in np.ndindex(*weighted.values.shape):
        codes = {d.name: d.codes[at] for d, at in zip(weighted.dimensions, place, strict=True)}
        chosen = kept if codes.get("state", "_T") == "_T" else [codes["state"]]
        noisy = {s: strata.value(codes.get("age", "_T"), s) for s in chosen}
        assert int(weighted.values[place]) == half_away(sum(weight[s] * n for s, n in noisy.items()))


def test_a_weighted_table_tells_its_error_in_every_format_and_marks_what_is_unreliable(averaged):
    table = averaged.table("survey", rows=["age"], columns=["sex"], measure="weighted")
    data = table.to_pandas()
    told = data["relative_standard_error"].tolist()
    assert all(float(f"{error:.2g}") == error > 0 for error in told), "two digits"
    young = data[data["age"] == "y"]
    assert set(young["status"]) == {"u"}
    assert young["value"].notna().all()
    assert data[data["age"] == "m"]["status"].eq("").all()
    header, *lines = (line.split(",") for line in table.to_csv().splitlines())
    assert header[-4:] == ["value", "status", "relative_standard_error", "noise_share"]
    document = json.loads(table.to_json_stat())["extension"]
    assert document["noise_share"] == data["noise_share"].tolist() == [float(line[-1]) for line in lines]
    assert document["relative_standard_error"] == data["relative_standard_error"].tolist()
    assert "design_effect" not in document, "a reader would multiply errors by it, which hold it already"
    promise = " ".join(table.release.promise)
    assert "post-processing of noisy counts" in promise
    assert "above 10 %" in promise  # weights that vary much come with a caution
    counted = averaged.table("survey", rows=["age"], columns=["sex"]).release
    assert counted.noisy.tolist() == table.release.noisy.tolist()
    assert counted.errors is None


def test_a_declared_limit_decides_which_cells_are_unreliable(even, tmp_path):
    strict = released(load(tmp_path, even, "average-weight", error_limit=0.044), rows=["age", "sex"])
    assert set(strict.status.ravel().tolist()) == {0, 3}
    assert ((strict.status == 3) == (strict.errors > 44)).all()


def test_noise_in_steps_of_the_largest_weight_is_counted_as_large_as_it_is(frame, tmp_path):
    release = released(load(tmp_path, frame, "largest-weight"), rows=["age"], columns=["sex"])
    spread = (float(release.distribution.table.variance) + 1 / 12) * float(
        release.dataset.survey.largest_weight
    ) ** 2
    for value, error in zip(release.values.ravel().tolist(), release.errors.ravel().tolist(), strict=True):
        assert error < 0 or error >= 1000 * spread**0.5 / value


def test_the_command_line_shows_errors_when_asked_and_refuses_them_for_counts(even, tmp_path):
    load(tmp_path, even, "average-weight").close()
    asked = ["table", "survey", "--rows", "age", "-w", str(tmp_path / "workspace")]
    plain = CliRunner().invoke(app, [*asked, "--measure", "weighted"], terminal_width=200)
    assert "See each with --errors" in " ".join(plain.stdout.split())
    assert "RSE   noise" not in plain.stdout
    told = CliRunner().invoke(app, [*asked, "--measure", "weighted", "--errors"])
    assert told.stdout.split("noise")[0].split()[-2:] == ["persons", "RSE"]
    counted = CliRunner().invoke(app, [*asked, "--errors"])
    assert isinstance(counted.exception, BadRequest)
    assert "--measure weighted" in counted.exception.advice


@pytest.mark.parametrize(
    "changes",
    [{"sample_size": 901}, {"population_size": 30_000}, {"largest_weight": 20}, {"relative_variance": 0.9}],
)
def test_records_that_contradict_the_declared_survey_are_refused(changes, frame, tmp_path):
    with pytest.raises((BadData, BadDescription), match=r"survey"):
        load(tmp_path, frame, "average-weight", **changes)


def test_a_dataset_without_weights_has_no_weighted_table(town_workspace):
    with pytest.raises(BadRequest, match="no survey weights"):
        discreet.open(town_workspace.folder).table("town", rows=["sex"], measure="weighted")
    with pytest.raises(BadRequest, match='Did you mean "weighted"'):
        discreet.open(town_workspace.folder).table("town", rows=["sex"], measure="weigthed")


ORACLES = Path(__file__).parents[2] / "oracles"
R_NUMBERS = (
    json.loads((ORACLES / "r_survey.json").read_text()) if (ORACLES / "r_survey.json").exists() else {}
)
#: How far a standard error may lie from R's. Ours are those of weights with four decimals.
WITHIN = 0.01
STRATA, HOUSEHOLDS = 12, 480

DESIGNS = {
    "none": "",
    "fpc": "fpc = 0.05",
    "strata": 'strata = "stratum"',
    "clusters": 'clusters = "household"',
    "households": 'strata = "stratum"\nclusters = "household"',
    "psus": 'strata = "stratum"\nclusters = "psu"',
    "regions": 'strata = "region"\nclusters = "household"\nfpc = { R1 = 0.2, R2 = 0.05, R3 = 0.05, R4 = 0.05 }',
    "lonely": 'strata = "lonely"\nclusters = "psu"',
    "jk1": 'replicates = "jk1..jk20"\nmethod = "jackknife"',
    "jkn": f'replicates = "jn1..jn24"\nmethod = "jackknife"\ncoefficients = {[0.5] * 24}',
    "brr": 'replicates = "br1..br16"\nmethod = "brr"',
    "fay": 'replicates = "fa1..fa16"\nmethod = "fay"\nfay = 0.3',
    "bootstrap": 'replicates = "bo1..bo40"\nmethod = "bootstrap"',
}
#: Both the linearised and the replicated kind; the others are slow.
FAST = ("households", "brr")


def raked(weights, groups, targets):
    """Weights that add up to the target of each group, on either side."""
    for _ in range(30):
        for group, target in zip(groups, targets, strict=True):
            sums = np.bincount(group, weights, minlength=target.size)
            weights = weights * (target / np.where(sums > 0, sums, 1))[group]
    return weights


def hadamard(size):
    """Sylvester's matrix of ones and minus ones."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def silc():
    """The columns of the survey: 480 households of one to five persons, with five kinds of replicate weights."""
    rng = np.random.RandomState(2021)
    stratum = np.repeat(np.arange(STRATA), HOUSEHOLDS // STRATA)
    psu = stratum * 2 + np.tile(np.repeat([0, 1], HOUSEHOLDS // STRATA // 2), STRATA)
    base = np.exp(0.9 * np.sin(stratum)) * 200 * np.exp(rng.normal(0, 0.5, HOUSEHOLDS))
    area = rng.normal(0, 0.6, STRATA * 2)
    poor = rng.random_sample(HOUSEHOLDS) < 1 / (1 + np.exp(1.2 - area[psu] - 0.001 * base))
    home = np.repeat(
        np.arange(HOUSEHOLDS), rng.choice([1, 2, 3, 4, 5], HOUSEHOLDS, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    )
    people = home.size
    sex, age = rng.randint(0, 2, people), rng.randint(0, 3, people)
    start = base[home]
    groups = (sex, age)
    targets = [np.bincount(g, start) * (1 + 0.1 * rng.random_sample(int(g.max()) + 1)) for g in groups]
    targets[1] *= targets[0].sum() / targets[1].sum()

    def calibrated(factor):
        return raked(start * factor, groups, targets).round(4)

    units, of = psu[home], stratum[home]
    columns = {
        "id": np.arange(people),
        "region": np.char.add("R", (of // 3 + 1).astype(str)),
        "sex": (sex + 1).astype(str),
        "poor": poor[home].astype(int).astype(str),
        "stratum": of,
        "psu": units,
        "household": home,
        # One unit stands alone in a stratum of its own.
        "lonely": np.where(units == 5, 99, of // 2),
        "w": calibrated(np.ones(people)),
    }
    group = rng.randint(0, 20, HOUSEHOLDS)[home]
    for r in range(20):
        columns[f"jk{r + 1}"] = calibrated(np.where(group == r, 0, 20 / 19))
    for r in range(STRATA * 2):
        columns[f"jn{r + 1}"] = calibrated(np.where(units == r, 0, np.where(of == r // 2, 2, 1)))
    half = hadamard(16)[:, 1 : STRATA + 1][:, of] * np.where(units % 2, 1, -1)
    for r in range(16):
        columns[f"br{r + 1}"] = calibrated(1 + half[r])
        columns[f"fa{r + 1}"] = calibrated(1 + 0.7 * half[r])
    for r in range(40):
        drawn = rng.randint(0, 2, STRATA)
        columns[f"bo{r + 1}"] = calibrated(2.0 * (units % 2 == drawn[of]))
    return columns


def description_design_errors(columns, design):
    weights = columns["w"]
    variance = len(weights) * (weights**2).sum() / weights.sum() ** 2 - 1
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {sorted(set(columns[name].tolist()))}\n'
        for name in ("region", "sex", "poor")
    )
    return (
        f'id = "silc"\nlabel = "S"\nunit = "persons"\nid_column = "id"\nweight_column = "w"\n{variables}'
        f'[survey]\nform = "largest-weight"\nsample_size = {len(weights)}\n'
        f"population_size = {weights.sum():.4f}\n"
        f"largest_weight = {weights.max():.4f}\nrelative_variance = {variance:.4f}\n{design}\n"
    )


def loaded(folder, columns, design, **changes):
    import pyarrow as pa

    (folder / "dataset.toml").write_text(description_design_errors(columns, design))
    discreet.load(folder / "w", folder / "dataset.toml", pa.table(columns), **changes)
    return discreet.open(folder / "w")


@pytest.fixture(scope="module")
def columns():
    return silc()


def service_of(catalogue, dataset="silc"):
    return catalogue._registry.open(dataset)


def exact_numbers(catalogue, asked):
    """Our value and standard error of each estimate that R made."""
    two_way = TableRequest("silc", ("region",), ("sex",))
    by_poor = TableRequest("silc", ("region",), ("poor",))
    named = {"poor R1": "R1,1 / R1,_T", "poor R1 - R2": "R1,1 / R1,_T - R2,1 / R2,_T"}
    plain = [name for name in asked if name not in named]
    service = service_of(catalogue)
    found = (
        survey_errors(service, two_way, plain).estimates
        + survey_errors(service, by_poor, list(named.values())).estimates
    )
    return {
        name: (each.value, each.standard_error) for name, each in zip([*plain, *named], found, strict=True)
    }


@pytest.mark.parametrize(
    "design", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in DESIGNS]
)
def test_exact_errors_are_those_of_r_survey(design, columns, tmp_path):
    expected = R_NUMBERS[design]
    catalogue = loaded(tmp_path, columns, DESIGNS[design])
    found = exact_numbers(catalogue, expected)
    catalogue.close()
    for name, (value, error) in expected.items():
        assert found[name][0] == pytest.approx(value, rel=1e-6, abs=1e-8), name
        assert found[name][1] == pytest.approx(error, rel=WITHIN, abs=1e-6 * abs(value)), name


@pytest.mark.slow
@pytest.mark.parametrize("design", list(DESIGNS))
def test_whole_tables_have_the_errors_of_their_cells(design, columns, tmp_path):
    """The fast way, all cells at once, against the slow one, a cell at a time; totals, filters and groups included."""
    catalogue = loaded(tmp_path, columns, DESIGNS[design])
    service = service_of(catalogue)
    stored = unlock_service(service)
    asked = request_from_text("silc", rows=["region", "poor"], columns=["sex"], filters=["region=R1,R2,R4"])
    report = survey_errors(service, asked)
    from discreet.survey.variance import Sample, sample_rows

    shape = table_shape(asked, stored.dataset)
    sample = Sample(sample_rows(stored.engine, shape, stored.dataset), stored.dataset.survey.design)
    for place, cell in zip(np.ndindex(*shape.lengths), report.cells, strict=True):
        assert cell.standard_error == pytest.approx(
            sample.standard_error(sample.total(*place)), rel=1e-9, abs=1e-6
        )
    catalogue.close()


def r_survey_is_here():
    program = shutil.which("Rscript")
    asked = "quit(status = !requireNamespace('survey', quietly = TRUE))"
    return (
        program and subprocess.run([program, "-e", asked], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
def test_the_numbers_kept_are_those_that_r_gives(columns, tmp_path):
    if not r_survey_is_here():
        pytest.skip("R with its package survey is not here (apt-get install r-cran-survey)")
    write(tmp_path / "silc.csv", columns)
    script = ["Rscript", str(ORACLES / "r_survey.R"), str(tmp_path / "silc.csv")]
    made = json.loads(subprocess.run(script, capture_output=True, check=True, text=True).stdout)
    for design in DESIGNS:
        for name, pair in R_NUMBERS[design].items():
            assert made[design][name] == pytest.approx(pair, rel=1e-5, abs=1e-9), (design, name)


def two_strata():
    """1,000 people of weight 1, 300 of them in the cell `1`, and 1,000 of weight 100, only 6 of them in it."""
    heavy, number = np.arange(2000) >= 1000, np.arange(2000) % 1000
    return {
        "id": np.arange(2000),
        "region": np.where(heavy, "B", "A"),
        "sex": np.full(2000, "1"),
        "poor": np.where(number < np.where(heavy, 6, 300), "1", "0"),
        "w": np.where(heavy, 100.0, 1.0),
    }


def test_where_weights_relate_to_cells_one_overall_design_effect_is_wrong(tmp_path):
    """Kish's error from the whole sample is 7.4 %, and the true one 27 %; ours is that of the drawing."""
    columns = two_strata()
    catalogue = loaded(tmp_path, columns, 'strata = "region"')
    cell = next(
        each
        for each in survey_errors(service_of(catalogue), TableRequest("silc", ("poor",))).cells
        if each.cell == ("1",)
    )
    told = catalogue.table("silc", rows=["poor"], measure="weighted").to_pandas().set_index("poor")
    catalogue.close()
    # The truth, by drawing 1,000 people of either stratum, who are `1` with chances .3 and .006.
    rng = np.random.RandomState(7)
    drawn = rng.binomial(1000, 0.3, 200_000) + 100 * rng.binomial(1000, 0.006, 200_000)
    true = drawn.std() / drawn.mean()
    weights = columns["w"]
    overall = len(weights) * (weights**2).sum() / weights.sum() ** 2
    kish = np.sqrt(overall * (1 - cell.people / 2000) / cell.people)
    assert kish == pytest.approx(0.074, abs=0.001), "the wrong alternative: one design effect for all cells"
    assert true == pytest.approx(0.27, abs=0.01)
    assert cell.relative_standard_error == pytest.approx(true, rel=0.03)
    assert told.loc["1", "relative_standard_error"] >= 100 * true


def test_errors_of_a_request_that_counts_nothing_twice_read_the_records_once(columns, tmp_path):
    """Replicate weights are added up in the pass that counts; strata and clusters need another."""
    catalogue = loaded(tmp_path, columns, DESIGNS["brr"])
    stored = unlock_service(service_of(catalogue))
    shape = table_shape(TableRequest("silc", ("region",)), stored.dataset)

    class Counting:
        calls = 0

        def aggregate(self, query):
            self.calls += 1
            return stored.engine.aggregate(query)

    engine = Counting()
    exact = tabulate(engine, shape, weights=True, sums=sum_columns(stored.dataset))
    assert (design_variances(exact, engine, stored.dataset) > 0).all()
    assert engine.calls == 1
    catalogue.close()


def write(path, columns):
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


if __name__ == "__main__":
    write(sys.argv[1], silc())
