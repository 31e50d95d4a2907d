"""Design-based standard errors against R survey, on an invented survey in the manner of EU-SILC, without noise.

Households in strata, two primary sampling units in each, skewed weights that are raked to sex and age. The numbers of R
stand in `tests/oracles/r_survey.json`; where R and its package survey are here, its script is run again.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.answer.design_errors import design_variances
from discreet.answer.door import unlock_door
from discreet.assess.survey_errors import survey_errors
from discreet.model.request import TableRequest, request_from_text
from discreet.model.shape import table_shape
from discreet.records.design_columns import stored_sums
from discreet.records.tabulate import tabulate

ORACLES = Path(__file__).parents[1] / "oracles"
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


def description(columns, design):
    weights = columns["w"]
    variance = len(weights) * (weights**2).sum() / weights.sum() ** 2 - 1
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {sorted(set(columns[name].tolist()))}\n'
        for name in ("region", "sex", "poor")
    )
    return (
        f'id = "silc"\nlabel = "S"\nunit = "persons"\nid_column = "id"\nweight_column = "w"\n{variables}'
        f"[survey]\nsample_size = {len(weights)}\npopulation_size = {weights.sum():.4f}\n"
        f"largest_weight = {weights.max():.4f}\nrelative_variance = {variance:.4f}\n{design}\n"
    )


def loaded(folder, columns, design, **changes):
    import pyarrow as pa

    (folder / "dataset.toml").write_text(description(columns, design))
    discreet.load(folder / "w", folder / "dataset.toml", pa.table(columns), **changes)
    return discreet.open(folder / "w")


@pytest.fixture(scope="module")
def columns():
    return silc()


def door_of(catalogue, dataset="silc"):
    return catalogue._doors.door(dataset)


def exact_numbers(catalogue, asked):
    """Our value and standard error of each estimate that R made."""
    two_way = TableRequest("silc", ("region",), ("sex",))
    by_poor = TableRequest("silc", ("region",), ("poor",))
    named = {"poor R1": "R1,1 / R1,_T", "poor R1 - R2": "R1,1 / R1,_T - R2,1 / R2,_T"}
    plain = [name for name in asked if name not in named]
    door = door_of(catalogue)
    found = (
        survey_errors(door, two_way, plain).estimates
        + survey_errors(door, by_poor, list(named.values())).estimates
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
    door = door_of(catalogue)
    stored = unlock_door(door)
    asked = request_from_text("silc", rows=["region", "poor"], columns=["sex"], filters=["region=R1,R2,R4"])
    report = survey_errors(door, asked)
    from discreet.records.sampled_rows import sampled_rows
    from discreet.survey.estimates import Sample

    shape = table_shape(asked, stored.dataset)
    sample = Sample(sampled_rows(stored.engine, shape, stored.dataset), stored.dataset.survey.design)
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
        for each in survey_errors(door_of(catalogue), TableRequest("silc", ("poor",))).cells
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
    stored = unlock_door(door_of(catalogue))
    shape = table_shape(TableRequest("silc", ("region",)), stored.dataset)

    class Counting:
        calls = 0

        def aggregate(self, query):
            self.calls += 1
            return stored.engine.aggregate(query)

    engine = Counting()
    exact = tabulate(engine, shape, weights=True, sums=stored_sums(stored.dataset))
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
