from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.survey import dp_weights as private_weights
from discreet.survey.dp_weights import average_weight, invariant, public_strata
from discreet.survey.weight_forms import SurveyDesign

BAILIE = json.loads((Path(__file__).parents[1] / "oracles" / "bailie2020.json").read_text())
SPUDLANDIA = SurveyDesign(BAILIE["sample_size"], BAILIE["population"] * 10_000, 4, 30_000_000)


def test_no_form_can_be_given_an_exact_count_or_weight():
    seen = {
        name: set(inspect.signature(function).parameters)
        for name, function in vars(private_weights).items()
        if inspect.isfunction(function) and function.__module__ == private_weights.__name__
    }
    allowed = {"noisy", "noisy_by_stratum", "stratum_weights", "design"}
    assert seen.keys() >= {"public_strata", "average_weight", "invariant"}
    assert all(parameters <= allowed for parameters in seen.values())


def test_public_strata_by_hand():
    # 2 respondents at 600 and 1 at 700
    assert public_strata(np.array([2, 1]), np.array([6_000_000, 7_000_000])) == 19_000_000


def test_the_average_weight_by_hand_and_the_invariant_form_gives_the_same_numbers():
    noisy = np.array([5, 0, -1])
    assert average_weight(noisy, SPUDLANDIA).tolist() == [33_333_333, 0, -6_666_667]
    assert invariant(noisy, SPUDLANDIA).tolist() == [33_333_333, 0, -6_666_667]


def test_replacing_one_person_moves_a_table_by_two_average_weights():
    before, after = np.array([500, 1000]), np.array([501, 999])
    moved = np.abs(invariant(after, SPUDLANDIA) - invariant(before, SPUDLANDIA)).sum()
    assert moved == pytest.approx(2 * float(SPUDLANDIA.average_weight) * SPUDLANDIA.scale, abs=2)
