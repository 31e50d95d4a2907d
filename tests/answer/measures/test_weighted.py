"""Weighted tables through the whole flow, each form against its definition worked out slowly."""

import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli.main import app
from discreet.errors import BadData, BadDescription, BadRequest
from discreet.model.error_ladder import ERROR_LADDER, SHARE_LADDER
from discreet.server.grid import Layout, grid
from discreet.survey.design_effect import RATIO, SMALL

RECORDS = 900


def survey_records():
    import pandas as pd

    rng = np.random.RandomState(4)
    state = rng.choice(["A", "B"], RECORDS, p=[0.6, 0.4])
    weight = np.where(state == "A", 30, 10) + rng.randint(0, 500, RECORDS) / 100
    return pd.DataFrame(
        {
            "id": range(RECORDS),
            "state": state,
            "sex": rng.choice(["1", "2"], RECORDS),
            "age": rng.choice(["y", "m", "o"], RECORDS, p=[0.02, 0.5, 0.48]),
            "w": weight.round(2),
        }
    )


def description(frame, form, **changes):
    weights = frame["w"]
    facts = {
        "sample_size": len(frame),
        "population_size": round(float(weights.sum()), 2),
        "largest_weight": float(weights.max()),
        "relative_variance": round(float(len(frame) * (weights**2).sum() / weights.sum() ** 2 - 1), 4),
    } | changes
    listed = "".join(f"{name} = {value}\n" for name, value in facts.items())
    variables = "".join(
        f'[[variable]]\nname = "{name}"\ncategories = {codes}\n'
        for name, codes in (("state", '["A", "B"]'), ("sex", '["1", "2"]'), ("age", '["y", "m", "o"]'))
    )
    return (
        'id = "survey"\nlabel = "Survey"\nunit = "persons"\nid_column = "id"\nweight_column = "w"\nweight_decimals = 2\n'
        f'{variables}[survey]\nform = "{form}"\n{listed}stratum = "state"\nstratum_weights = {{ A = 32.5, B = 12.5 }}\n'
    )


@pytest.fixture(scope="module")
def frame():
    return survey_records()


def load(folder, frame, form, **changes):
    (folder / "dataset.toml").write_text(description(frame, form, **changes))
    discreet.load(folder / "workspace", folder / "dataset.toml", frame)
    return discreet.open(folder / "workspace")


def half_away(value: Fraction) -> int:
    whole, rest = divmod(abs(value), 1)
    return (int(whole) + (rest >= Fraction(1, 2))) * (1 if value >= 0 else -1)


def cells(frame, release):
    """Each cell's records and place."""
    for place in np.ndindex(*release.values.shape):
        inside = np.ones(len(frame), dtype=bool)
        for dimension, at in zip(release.dimensions, place, strict=True):
            inside &= (
                frame[dimension.name].isin([dimension.base[m] for m in dimension.members()[at]]).to_numpy()
            )
        yield place, frame[inside]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["largest-weight", "average-weight"])
def test_each_form_is_what_its_formula_says(form, frame, tmp_path):
    release = (
        load(tmp_path, frame, form).table("survey", rows=["age"], columns=["sex"], measure="weighted").release
    )
    hundredths = {index: round(weight * 100) for index, weight in frame["w"].items()}
    total = round(float(frame["w"].sum()), 2)
    average = Fraction(round(total * 100), len(frame))
    largest = round(frame["w"].max() * 100)
    for place, inside in cells(frame, release):
        noisy = int(release.noisy[place])
        weight = sum(hundredths[index] for index in inside.index)
        counted = {
            "largest-weight": half_away(Fraction(weight, largest)),
            "average-weight": len(inside),
        }[form]
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
    weight = {"A": Fraction(65, 2), "B": Fraction(25, 2)}
    kept = parts.get("filters", {}).get("state", ["A", "B"])
    for place in np.ndindex(*weighted.values.shape):
        codes = {d.name: d.codes[at] for d, at in zip(weighted.dimensions, place, strict=True)}
        chosen = kept if codes.get("state", "_T") == "_T" else [codes["state"]]
        noisy = {s: strata.value(codes.get("age", "_T"), s) for s in chosen}
        assert int(weighted.values[place]) == half_away(sum(weight[s] * n for s, n in noisy.items()))


def test_counts_and_weights_of_one_dataset_share_their_noise(frame, tmp_path):
    catalogue = load(tmp_path, frame, "average-weight")
    counted = catalogue.table("survey", rows=["age"]).release
    weighted = catalogue.table("survey", rows=["age"], measure="weighted").release
    assert counted.noisy.tolist() == weighted.noisy.tolist()
    assert counted.errors is None


def test_a_weighted_table_tells_its_error_and_marks_what_is_unreliable(frame, tmp_path):
    table = load(tmp_path, frame, "average-weight").table(
        "survey", rows=["age"], columns=["sex"], measure="weighted"
    )
    data = table.to_pandas()
    assert set(10 * data["relative_standard_error"]) <= set(ERROR_LADDER.tolist())
    young = data[data["age"] == "y"]
    assert set(young["status"]) == {"u"}
    assert young["value"].notna().all()
    assert data[data["age"] == "m"]["status"].eq("").all()
    assert "Estimated persons by age and sex" in table.release.title
    header = table.to_csv().splitlines()[0]
    assert header.endswith("value,status,relative_standard_error,noise_share")
    assert all(len(line.split(",")) == len(header.split(",")) for line in table.to_csv().splitlines())
    assert "post-processing of noisy counts" in " ".join(table.release.promise)


def released(catalogue, **parts):
    """A weighted release, and in the shape of its cells what errors are made of."""
    return catalogue.table("survey", measure="weighted", **parts).release


def up(value, ladder):
    return min(rung for rung in ladder if rung >= value * (1 - 1e-12))


def test_errors_follow_from_weights_of_the_cell_and_its_noisy_count(frame, tmp_path):
    """Without strata: n/(n-1) (Σw² - W²/n), and how far the average weight is off, by hand from the records.

    The design effect is told by one of the two rungs above it.
    """
    release = released(load(tmp_path, frame, "average-weight"), rows=["age"], columns=["sex"])
    variance = float(release.law.table.variance)
    survey, effects = release.dataset.survey, {}
    average = float(survey.population_size) / survey.sample_size
    for place, inside in cells(frame, release):
        w, n, noisy = inside["w"].to_numpy(), len(frame), int(release.noisy[place])
        spread = n / (n - 1) * ((w**2).sum() - w.sum() ** 2 / n)
        missed = abs(average - w.mean()) if len(w) else 0.0
        error = (spread / max(len(w), 1)) ** 0.5 + max(noisy, 0) ** 0.5 * missed
        outside = max(survey.sample_size - noisy, SMALL) / survey.sample_size
        least = (1 - survey.sample_size / float(survey.population_size)) * min(outside, 1)
        effects[place] = max((error / average) ** 2 if len(w) else 0.0, least)
    largest = max(effects[place] for place in effects if release.noisy[place] >= SMALL)
    declared = 1 + float(survey.relative_variance)
    for place, own in effects.items():
        noisy = int(release.noisy[place])
        effect = own if noisy >= SMALL else max(largest, declared)
        noise = variance * average**2 / int(release.values[place]) ** 2
        low, high = (up(1000 * (effect * f / noisy + noise) ** 0.5, ERROR_LADDER) for f in (1, RATIO**2))
        assert low <= release.errors[place] <= high
        most, fewest = (up(1000 * noise / (effect * f / noisy + noise), SHARE_LADDER) for f in (1, RATIO**2))
        assert fewest <= release.noise_shares[place] <= most
    assert (release.noisy < SMALL).any(), "the rule of small cells is tried"


def test_small_cells_with_the_same_noisy_count_are_told_the_same(frame, tmp_path):
    release = released(load(tmp_path, frame, "average-weight"), rows=["age", "sex", "state"])
    seen = {}
    arrays = (release.noisy, release.errors, release.noise_shares)
    for noisy, *told in zip(*(array.ravel().tolist() for array in arrays), strict=True):
        if noisy < SMALL:
            assert seen.setdefault(noisy, told) == told
    assert seen


def test_a_declared_limit_decides_which_cells_are_unreliable(frame, tmp_path):
    strict = released(load(tmp_path, frame, "average-weight", error_limit=0.02), rows=["age"])
    assert {letter for letter in strict.status.tolist() if letter} == {3}
    assert ((strict.status == 3) == (strict.errors > 20)).all()


def test_the_noise_has_the_same_share_in_every_format(frame, tmp_path):
    table = load(tmp_path, frame, "average-weight").table(
        "survey", rows=["age"], columns=["sex"], measure="weighted"
    )
    data = table.to_pandas()
    document = json.loads(table.to_json_stat())["extension"]
    written = [line.split(",")[-1] for line in table.to_csv().splitlines()[1:]]
    assert document["noise_share"] == data["noise_share"].tolist() == [float(text) for text in written]
    assert document["relative_standard_error"] == data["relative_standard_error"].tolist()
    assert "design_effect" not in document, "a reader would multiply errors by it, which hold it already"


def test_a_form_that_ignores_weights_has_that_error_in_its_own(frame, tmp_path):
    """State B weighs 12.5 on average and is shown as if it weighed 24: no honest error is below that gap."""
    release = released(load(tmp_path, frame, "average-weight"), rows=["state"])
    for place, inside in cells(frame, release):
        gap = abs(float(release.values[place]) - inside["w"].sum()) / float(release.values[place])
        assert release.errors[place] / 1000 >= 0.9 * gap
    kish = 1000 * (float(1 + release.dataset.survey.relative_variance) / 360) ** 0.5
    assert release.errors[1] > 5 * kish, "the wrong alternative: one design effect for all cells"


def test_noise_in_steps_of_the_largest_weight_is_counted_as_large_as_it_is(frame, tmp_path):
    release = released(load(tmp_path, frame, "largest-weight"), rows=["age"], columns=["sex"])
    spread = (float(release.law.table.variance) + 1 / 12) * float(release.dataset.survey.largest_weight) ** 2
    for value, error in zip(release.values.ravel().tolist(), release.errors.ravel().tolist(), strict=True):
        assert error < 0 or error >= 1000 * spread**0.5 / value


def test_errors_of_public_strata_follow_from_their_noisy_counts_alone(frame, tmp_path):
    catalogue = load(tmp_path, frame, "public-strata")
    together, apart = released(catalogue, rows=["sex"]), released(catalogue, rows=["sex"], columns=["state"])
    counts = catalogue.table("survey", rows=["sex"], columns=["state"]).release
    variance, declared = float(together.law.table.variance), together.dataset.survey
    weights = np.array([32.5, 12.5])
    for row in range(3):
        noisy, both = int(together.noisy[row]), counts.noisy[row, :2]
        total, squares = (both * weights).sum(), (both * weights**2).sum()
        kish = float(1 + declared.relative_variance) * (1 - RECORDS / float(declared.population_size))
        effect = max(kish * (1 - noisy / RECORDS), noisy * squares / total**2)
        value = int(together.values[row])
        exact = 1000 * (effect / noisy + variance * (weights**2).sum() / value**2) ** 0.5
        assert together.errors[row] == up(exact, ERROR_LADDER)
    assert apart.errors[:, 2].tolist() == together.errors.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("design", ['strata = "state"', 'clusters = "age"'])
def test_public_strata_with_a_design_use_it(design, frame, tmp_path):
    """Three clusters: the error is far larger than that of 900 people drawn by themselves."""
    (tmp_path / "dataset.toml").write_text(description(frame, "public-strata") + design + "\n")
    discreet.load(tmp_path / "workspace", tmp_path / "dataset.toml", frame)
    release = released(discreet.open(tmp_path / "workspace"), rows=["sex"])
    assert (release.errors[0] > 300) == design.startswith("clusters")
    assert any("design effect of the cell" in sentence for sentence in release.promise)


def test_the_screen_tells_errors_in_a_note_and_beside_each_number_when_asked(frame, tmp_path):
    catalogue = load(tmp_path, frame, "average-weight")
    table = catalogue.table("survey", rows=["age"], columns=["sex"], measure="weighted")
    data = table.to_pandas()
    headers, lines = table.text_grid(errors=True)
    assert headers == ["age", "1", "RSE", "noise", "2", "RSE", "noise", "Total", "RSE", "noise"]
    first = data.iloc[0]
    assert lines[0][2:4] == [f"{first['relative_standard_error']:.1f} %", f"{first['noise_share']:.1f} %"]
    assert f"{data['noise_share'].max():.1f} % of their variance" in table.error_note()
    assert catalogue.table("survey", rows=["age"]).error_note() == ""


def test_the_command_line_shows_errors_when_asked_and_refuses_them_for_counts(frame, tmp_path, capsys):
    load(tmp_path, frame, "average-weight").close()
    asked = ["table", "survey", "--rows", "age", "-w", str(tmp_path / "workspace")]
    plain = CliRunner().invoke(app, [*asked, "--measure", "weighted"], terminal_width=200)
    assert "--errors shows each" in " ".join(plain.stdout.split())
    assert "RSE   noise" not in plain.stdout
    told = CliRunner().invoke(app, [*asked, "--measure", "weighted", "--errors"])
    assert told.stdout.split("noise")[0].split()[-2:] == ["persons", "RSE"]
    counted = CliRunner().invoke(app, [*asked, "--errors"])
    assert isinstance(counted.exception, BadRequest)
    assert "--measure weighted" in counted.exception.advice


def test_a_cell_of_the_page_tells_its_error_and_the_noises_share(frame, tmp_path):
    table = load(tmp_path, frame, "average-weight").table("survey", rows=["age"], measure="weighted")
    shown = grid(Layout(table.release))
    (text, _, notes, _) = shown.layers[0].groups[0].rows[1].cells[0]
    cell = table.to_pandas().iloc[1]
    assert text == f"{cell['value']:,}"
    assert notes == (
        f"RSE {cell['relative_standard_error']:.1f} %",
        f"noise {cell['noise_share'] + 1e-9:.0f} %",
    )
    assert {"RSE", "noise"} <= dict(shown.legend).keys()


def test_weights_that_vary_much_come_with_a_caution(frame, tmp_path):
    release = (
        load(tmp_path, frame, "average-weight").table("survey", rows=["age"], measure="weighted").release
    )
    assert any("above 10 %" in sentence for sentence in release.promise)


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
