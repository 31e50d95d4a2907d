"""The gate names the form that fits a survey's weights, and a custodian sees the errors to expect under each."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.errors import BadData, BadDescription
from discreet.model.description.dataset_toml import parse_dataset
from discreet.release import load_cautions
from discreet.release.dataset_registry import open_registry
from discreet.release.load_cautions import load_with_cautions
from discreet.survey.form_choice import find_strata, typical_tables, weight_report
from discreet.web.app import create_app
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import LoadJob, cell_key_noise, inspect_records

RECORDS = 1200
#: The weight of a record of each region.
BY_REGION = {"n": 10.0, "m": 20.0, "s": 40.0}
CODES = {"region": ["n", "m", "s"], "sex": ["1", "2"], "job": ["a", "b", "c", "d"]}


def sample(weights="by region", clusters=0):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"id": range(RECORDS)})
    for name, codes in CODES.items():
        frame[name] = rng.choice(codes, RECORDS)
    if clusters:
        frame["village"] = np.arange(RECORDS) % clusters
    frame["w"] = {
        "by region": frame["region"].map(BY_REGION),
        "equal": pd.Series(np.full(RECORDS, 20.0)),
        "unrelated": pd.Series(rng.permutation(np.linspace(16, 24, RECORDS)).round(2)),
        "few": pd.Series(np.where(np.arange(RECORDS) < 3, 200.0, 20.0)),
        # Larger for one sex in each job, so that no variable alone has weights that are alike.
        "crossed": pd.Series(np.where((frame["sex"] == "1") == frame["job"].isin(["a", "b"]), 30.0, 10.0))
        + 8.0 * (frame["sex"] == "1")
        + 6.0 * frame["job"].isin(["a", "c"]),
    }[weights]
    return frame


def description(frame, more="", protection=""):
    w = frame["w"]
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {json.dumps(codes)}\n' for name, codes in CODES.items()
    )
    spread = len(w) * (w**2).sum() / w.sum() ** 2 - 1
    return (
        'id = "s"\nlabel = "S"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        f"{variables}[survey]\nsample_size = {len(w)}\npopulation_size = {w.sum():.2f}\n"
        f"largest_weight = {w.max():.2f}\nrelative_variance = {spread:.5f}\n{more}\n{protection}"
    )


def examine(frame, look, more=""):
    """What a function finds in a dataset and its engine."""
    found = []

    def inspect(dataset, engine):
        found.append(look(dataset, engine))
        return ()

    inspect_records(LoadJob(None, description(frame, more), frame, inspect=inspect))
    return found[0]


def report_of(frame, more=""):
    def look(dataset, engine):
        return weight_report(dataset, engine, cell_key_noise(dataset.protection))

    return examine(frame, look, more)


def load(folder, frame, more="", protection=""):
    (folder / "dataset.toml").write_text(description(frame, more, protection))
    discreet.load(folder / "w", folder / "dataset.toml", frame)
    return discreet.open(folder / "w")


STRATA = 'form = "public-strata"\nstratum = "region"\nstratum_weights = { n = 10, m = 20, s = 40 }'


def test_a_refused_form_is_named_with_its_variables_and_lines_that_load(tmp_path):
    with pytest.raises(BadData, match=r'"average-weight" is biased.* region \(\d') as refused:
        load(tmp_path, sample())
    advised = refused.value.advice
    lines = 'form = "public-strata", stratum = "region", stratum_weights = { "n" = 10, "m" = 20, "s" = 40 }'
    assert f"Use {lines} in [survey]" in advised
    with load(tmp_path, sample(), lines.replace(", stratum", "\nstratum")) as opened:
        assert opened.table("s", rows=["sex"], measure="weighted").release.errors is not None


def test_where_no_variable_fits_the_largest_weight_does(tmp_path):
    with pytest.raises(BadData) as refused:
        load(tmp_path, sample("crossed"))
    assert "No variable has weights that are alike within it" in refused.value.advice
    assert report_of(sample("crossed")).proposed.survey.form == "largest-weight"


@pytest.mark.parametrize(
    ("weights", "form"),
    [("by region", "public-strata"), ("equal", "average-weight"), ("unrelated", "average-weight")],
)
def test_the_form_that_fits_the_weights_is_proposed(weights, form):
    report = report_of(sample(weights))
    assert report.proposed.survey.form == form
    refused = {each.survey.form: each.refused for each in report.forms}
    assert bool(refused["average-weight"]) == (weights == "by region")
    assert refused[form] == refused["largest-weight"] == ""


def test_strata_are_the_variable_within_which_weights_vary_least():
    frame = sample()
    first, *_ = examine(frame, find_strata)
    assert (first.variable, first.within) == ("region", pytest.approx(0, abs=1e-12))
    assert {code: float(weight) for code, weight in first.weights} == BY_REGION
    found = {each.variable: each.within for each in examine(frame, find_strata)}
    mean = frame["w"].mean()
    for name, within in found.items():  # by hand
        rest = frame["w"] - frame.groupby(name)["w"].transform("mean")
        assert within == pytest.approx((rest**2).mean() / mean**2, abs=1e-12)


def test_the_largest_weights_are_proposed_for_trimming():
    frame = sample("few")
    report = report_of(frame)
    mean = frame["w"].mean()
    assert (report.above, report.trim, report.largest) == (
        3,
        pytest.approx(5 * mean),
        pytest.approx(200 / mean),
    )
    assert any(
        line.startswith("3 records have a weight above 5 times the mean: trim at") for line in report.lines()
    )
    assert {each.survey.form for each in report.forms if not each.refused} == {"largest-weight"}


@pytest.mark.parametrize("declared", ["{ n = 10, m = 20.3, s = 40 }", "{ n = 10, m = 20, s = 41 }"])
def test_stratum_weights_that_are_not_those_of_the_records_are_refused_with_figures(tmp_path, declared):
    more = f'form = "public-strata"\nstratum = "region"\nstratum_weights = {declared}'
    with pytest.raises(
        BadData, match=r"not those of the records: \w: [\d.]+ declared, [\d.]+ by the records"
    ):
        load(tmp_path, sample(), more)


def test_rounded_stratum_weights_are_those_of_the_records(tmp_path):
    frame = sample()
    frame.loc[frame["region"] == "m", "w"] += 0.08  # declared as 20.2, which is wrong, then as 20
    wrong = STRATA.replace("m = 20,", "m = 20.2,")
    with pytest.raises(BadData, match=r"m: 20.2 declared, 20.08 by"):
        load(tmp_path, frame, wrong)
    with load(tmp_path, frame, STRATA) as opened:
        assert opened.table("s", rows=["sex"], measure="weighted").release.errors is not None


DP = """
[protection]
method = "dp"
[protection.noise]
family = "laplace"
[protection.universe]
variables = ["region", "sex", "job"]
[protection.budget]
name = "s"
epsilon = 8.0
cap_epsilon = 8.0
"""


def test_under_dp_no_weight_is_compared(tmp_path):
    """A refusal would be public: it would show something of the records."""
    with load(tmp_path, sample(), STRATA.replace("m = 20", "m = 25"), DP) as opened:
        assert opened.table("s", rows=["sex"], measure="weighted").release.errors is not None


@pytest.mark.parametrize("form", ["average-weight", "public-strata", "largest-weight"])
def test_expected_errors_are_those_that_are_printed(tmp_path, form):
    """Wrong alternative: errors without noise, or with another form's weights, differ by more than a tenth."""
    frame = sample("by region" if form == "public-strata" else "equal")
    more = STRATA if form == "public-strata" else f'form = "{form}"'
    report = report_of(frame, more)
    (own,) = (each for each in report.forms if each.survey.form == form)
    with load(tmp_path, frame, more) as opened:
        for table, expected in zip(report.tables, own.errors, strict=True):
            released = opened.table("s", rows=list(table), measure="weighted", totals=False).release
            printed = released.errors[released.errors > 0] / 1000
            assert np.median(printed) == pytest.approx(expected, rel=0.15), table


def test_an_expected_error_is_that_of_the_formula():
    frame = sample("equal")
    report = report_of(frame)
    (own,) = (each for each in report.forms if each.survey.form == "average-weight")
    at = report.tables.index(("sex",))
    noise = parse_dataset(description(frame)).protection
    errors = []
    for count in frame["sex"].value_counts():
        v = float(cell_key_noise(noise).row(int(count)).variance())
        f, n = 1 / 20, RECORDS
        errors.append(sqrt((1 - f) * count * (1 - count / n) + 0.25 * 1 / n * count**2 + v) / count)
    assert own.errors[at] == pytest.approx(np.median(errors))


def test_five_typical_tables_are_short_and_long_ones():
    dataset = parse_dataset(description(sample()))
    assert typical_tables(dataset) == (("sex",), ("region",), ("job",), ("sex", "region"), ("region", "job"))


def test_a_category_in_few_clusters_is_shown_to_the_custodian():
    frame = sample("equal", clusters=60)
    frame["job"] = np.where(
        frame["village"] < 4, "a", np.random.default_rng(3).choice(["b", "c", "d"], RECORDS)
    )
    report = report_of(frame, 'clusters = "village"')
    assert ("job", "a") in {(name, code) for name, code, _ in report.concentrated}
    assert any(line.startswith("job 'a' is in few clusters") for line in report.lines())
    assert not report_of(sample("equal", clusters=60), 'clusters = "village"').concentrated


@pytest.mark.parametrize("bound", ["0.03", "0", "1"])
def test_a_bound_of_the_bias_is_one_of_few_round_figures(bound):
    with pytest.raises(BadDescription, match="bias_bound"):
        parse_dataset(description(sample(), f"bias_bound = {bound}"))


def test_the_form_without_bias_takes_no_bound():
    with pytest.raises(BadDescription, match="has no bias"):
        parse_dataset(description(sample(), 'form = "largest-weight"\nbias_bound = 0.02'))


def lightly_related():
    """Weights that differ by 24 % between sexes: more than the gate lets through, less than a tenth either way."""
    frame = sample("equal")
    frame["w"] = np.where(frame["sex"] == "1", 22.0, 18.0)
    return frame


def test_a_declared_bound_admits_a_form_only_if_the_measured_bias_is_within_it(tmp_path):
    frame = lightly_related()
    with pytest.raises(BadData, match=r"for sex \(\d.\d\d > 0.50\)"):
        load(tmp_path, frame)
    with pytest.raises(BadData, match=r"the relative bias is above `bias_bound` = 0.05 for sex \(0.1"):
        load(tmp_path, frame, "bias_bound = 0.05")
    with load(tmp_path, frame, "bias_bound = 0.2") as opened:
        assert opened.table("s", rows=["sex"], measure="weighted").release.errors is not None
    app = create_app(open_registry(tmp_path / "w"), read_options(tmp_path / "w"))
    with TestClient(app, base_url="http://localhost") as client:
        page = client.get("/datasets/s/methodology").text
        assert client.get("/api/datasets/s/methodology").json()["survey"]["bias_bound"] == 0.2
    assert "<dt>Declared bound of the bias</dt><dd>20.0%</dd>" in page


def test_a_declared_bound_takes_the_place_of_the_bias_that_a_load_lets_through(tmp_path):
    found = {}
    for bound in (None, 0.02, 0.2):  # in one workspace, with the same keys
        with load(tmp_path, sample("equal"), "" if bound is None else f"bias_bound = {bound}") as opened:
            found[bound] = opened.table(
                "s", rows=["job"], columns=["sex"], measure="weighted"
            ).release.sampling
    plain = found.pop(None)
    n, values = RECORDS, plain.values
    for bound, errors in found.items():
        assert (errors.values == values).all()
        partial = np.array([[(row < 4) * (4 - 1) for _ in range(3)] for row in range(5)], float)
        partial += np.array([[(column < 2) * (2 - 1) for column in range(3)] for _ in range(5)], float)
        axes = np.array([[(row < 4) + (column < 2) for column in range(3)] for row in range(5)], float)
        change = (axes * bound**2 - 0.25 * partial / n) * values**2
        assert errors.cells().standard ** 2 - plain.cells().standard ** 2 == pytest.approx(change, abs=1e-3)


def test_a_dry_run_and_check_refuse_what_a_load_refuses_and_write_nothing(run_here, tmp_path):
    sample().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "dataset.toml").write_text(description(sample()))
    before = sorted(tmp_path.rglob("*"))
    for given in (
        ("load", tmp_path / "dataset.toml", tmp_path / "people.csv", "-w", tmp_path / "w", "--dry-run"),
        ("check", tmp_path / "people.csv", tmp_path / "dataset.toml"),
    ):
        done = run_here(*given)
        assert done.returncode != 0
        assert 'stratum = "region"' in done.stderr
        assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "dataset.toml").write_text(description(sample(), STRATA))
    done = run_here(*given, "--json")
    assert done.returncode == 0
    (caution,) = (each for each in json.loads(done.stdout)["cautions"] if each.startswith("CONFIDENTIAL"))
    assert 'Proposed: form = "public-strata".' in caution


def test_a_draft_has_the_form_that_fits_and_loads(run_here, tmp_path):
    frame = sample()
    frame["weight"] = frame.pop("w") + 0.25  # with fractions, as weights have
    frame.to_csv(tmp_path / "people.csv", index=False)
    text = tmp_path / "dataset.toml"
    assert run_here("describe", tmp_path / "people.csv", "--out", text).returncode == 0
    draft = text.read_text()
    assert '\nform = "public-strata"\n' in draft
    assert "# CONFIDENTIAL, from the weights of the records:" in draft
    assert "refused: biased by region" in draft
    done = run_here("load", text, tmp_path / "people.csv", "-w", tmp_path / "w")
    assert done.returncode == 0
    assert "CONFIDENTIAL, from the weights of the records:" in done.stderr


def cautions_of(tmp_path, frame, more="", protection=""):
    text = description(frame, more, protection)
    return load_with_cautions(LoadJob(tmp_path / "w", text, frame)).cautions


def test_a_load_shows_the_custodian_the_errors_of_each_form(tmp_path):
    (shown,) = (each for each in cautions_of(tmp_path, sample(), STRATA) if each.startswith("CONFIDENTIAL"))
    assert "refused: biased by region" in shown
    assert 'Proposed: form = "public-strata".' in shown


def test_under_dp_a_load_shows_nothing_of_the_weights(tmp_path):
    assert not any("CONFIDENTIAL" in each for each in cautions_of(tmp_path, sample(), STRATA, DP))


def test_a_survey_that_takes_minutes_is_not_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(load_cautions, "MOST_COMPARED", RECORDS * len(CODES) - 1)
    cautions = cautions_of(tmp_path, sample(), STRATA)
    assert load_cautions.TOO_LARGE in cautions
    assert not any(each.startswith("CONFIDENTIAL") for each in cautions)


def test_of_nested_variables_the_finer_makes_the_strata():
    """Wrong alternative: the coarser one, which has fewer strata and explains most of the spread."""
    frame = sample()
    frame["sex"] = np.where(frame["region"] == "s", "2", "1")  # coarser than region, and explains most
    frame["w"] = frame["region"].map({"n": 10.0, "m": 14.0, "s": 40.0})
    tried = examine(frame, find_strata)
    assert [each.variable for each in tried] == ["region", "sex"]
    report = report_of(frame)
    assert report.strata.variable == "region"
    assert report.proposed.survey.stratum == "region"
