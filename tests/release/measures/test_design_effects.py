"""The printed errors of versions that 0.2.0 loaded: from the exact weights of each cell, on two scales."""

import numpy as np
import pytest
from tests.release.surveys import RECORDS, cells, load, released, survey_records

import discreet
from discreet.model.release import ERROR_STEPS, SHARE_STEPS
from discreet.release.load_cautions import LoadJob, load_with_cautions
from discreet.survey.variance import RATIO, SMALL
from discreet.workspace.operate.diagnosis import examine


@pytest.fixture(scope="module")
def frame():
    return survey_records()


@pytest.fixture(scope="module")
def averaged(frame, tmp_path_factory, errors_of_0_2_0):
    with errors_of_0_2_0():
        return load(tmp_path_factory.mktemp("averaged"), frame, "average-weight")


def up(value, ladder):
    return min(rung for rung in ladder if rung >= value * (1 - 1e-12))


def test_errors_follow_from_weights_of_the_cell_and_its_noisy_count(frame, averaged):
    """Without strata: n/(n-1) (Σw² - W²/n), and how far the average weight is off, by hand from the records.

    The design effect is shown by one of the two rungs above it; small cells of one noisy count show the same.
    """
    release = released(averaged, rows=["age"], columns=["sex"])
    variance = float(release.distribution.table.variance)
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
        low, high = (up(1000 * (effect * f / noisy + noise) ** 0.5, ERROR_STEPS) for f in (1, RATIO**2))
        assert low <= release.errors[place] <= high
        most, fewest = (up(1000 * noise / (effect * f / noisy + noise), SHARE_STEPS) for f in (1, RATIO**2))
        assert fewest <= release.noise_shares[place] <= most
    small = release.noisy < SMALL
    assert small.any(), "the rule of small cells is tried"
    for noisy in set(release.noisy[small].tolist()):
        assert len(set(release.errors[release.noisy == noisy].tolist())) == 1


def test_errors_of_public_strata_follow_from_their_noisy_counts_alone(frame, tmp_path, errors_of_0_2_0):
    with errors_of_0_2_0():
        catalogue = load(tmp_path, frame, "public-strata")
    together, apart = released(catalogue, rows=["sex"]), released(catalogue, rows=["sex"], columns=["state"])
    counts = catalogue.table("survey", rows=["sex"], columns=["state"]).release
    variance, declared = float(together.distribution.table.variance), together.dataset.survey
    weights = np.array([32.5, 12.6])
    for row in range(3):
        noisy, both = int(together.noisy[row]), counts.noisy[row, :2]
        total, squares = (both * weights).sum(), (both * weights**2).sum()
        kish = float(1 + declared.relative_variance) * (1 - RECORDS / float(declared.population_size))
        effect = max(kish * (1 - noisy / RECORDS), noisy * squares / total**2)
        value = int(together.values[row])
        exact = 1000 * (effect / noisy + variance * (weights**2).sum() / value**2) ** 0.5
        assert together.errors[row] == up(exact, ERROR_STEPS)
    assert apart.errors[:, 2].tolist() == together.errors.tolist()


def test_public_strata_with_clusters_use_them_and_say_so(frame, tmp_path, errors_of_0_2_0):
    """Three clusters: the error is far larger than that of 900 people drawn by themselves."""
    with errors_of_0_2_0():
        release = released(load(tmp_path, frame, "public-strata", 'clusters = "age"\n'), rows=["sex"])
    assert release.errors[0] > 300
    assert release.promise[-1] == (
        "Relative standard errors are made of noisy counts and of the design effect of the cell, which is computed from the "
        "weights of the people in it and rounded up, by chance, to a rung of a ladder; they are rounded up once more."
    )


def test_the_doctor_and_a_load_say_that_errors_of_people_single_them_out(frame, tmp_path, errors_of_0_2_0):
    """Wrong alternatives: forms whose errors were public, and versions of the new definition."""

    def warned():
        return [found for found in examine(tmp_path / "workspace") if "unusual weight" in found.said]

    with errors_of_0_2_0():
        load(tmp_path, frame, "public-strata").close()
    assert warned() == []
    with errors_of_0_2_0():
        load(tmp_path, frame, "public-strata", 'strata = "state"\n').close()
    (found,) = warned()
    assert (found.state, "Load the same" in found.advice) == ("caution", True)
    text = (tmp_path / "dataset.toml").read_text()
    report = load_with_cautions(LoadJob(tmp_path / "workspace", text, frame))
    assert [caution for caution in report.cautions if "unusual weight" in caution]
    assert warned() == [], "the version of 0.2.0 is closed"
    with discreet.open(tmp_path / "workspace") as catalogue:
        release = released(catalogue, rows=["sex"])
    assert "from no weight of the people in a cell" in release.promise[-1]
    again = load_with_cautions(LoadJob(tmp_path / "workspace", text, frame))
    assert not [caution for caution in again.cautions if "unusual weight" in caution]
