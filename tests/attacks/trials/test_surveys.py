"""The surveys that are attacked: true, loaded, and the forms that are no longer served as they were."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet_studies.attacks.surveys import (
    CELL_AVERAGE,
    OVERALL_AVERAGE,
    SHARED_STEPS,
    OpenForm,
    TrueNumbers,
    cell_at,
    sample,
    served,
)

COUNTS = TableRequest("spudlandia", ("state",), ("likes",))
WEIGHTED = TableRequest("spudlandia", ("state",), ("likes",), measure="weighted")


def test_open_forms_are_what_their_formulas_say_over_served_noise():
    people = sample(7)
    with served(people, "average-weight") as door:
        noisy = door.ask(COUNTS).values
        average, largest = Fraction(1_000_000, 1500), door.door.dataset.survey.largest_weight
        for form in (CELL_AVERAGE, OVERALL_AVERAGE, SHARED_STEPS):
            answer = OpenForm(door, people, form).ask(WEIGHTED)
            for place in np.ndindex(*noisy.shape):
                inside = people.inside(cell_at(COUNTS, answer.codes, place))
                n, weight = int(inside.sum()), Fraction(int(people.weights[inside].sum()), 10_000)
                shown = int(noisy[place])
                wanted = {
                    CELL_AVERAGE: shown * weight / n,
                    OVERALL_AVERAGE: weight + (shown - n) * average,
                    SHARED_STEPS: (int(weight / largest + Fraction(1, 2)) + shown - n) * largest,
                }[form]
                assert abs(int(answer.values[place]) - wanted) <= Fraction(501, 1000), (form, place)
        truth = TrueNumbers(door.door.dataset, people).ask(COUNTS)
        assert truth.values[-1, -1] == 1500
        assert 0 < np.abs(truth.values - noisy).max() <= 5


@pytest.mark.slow
def test_steps_have_noise_of_their_own_and_no_counts_beside_them():
    people = sample(7)
    with served(people, "average-weight") as door:
        noise = door.ask(COUNTS).values - TrueNumbers(door.door.dataset, people).ask(COUNTS).values
    with served(people, "largest-weight") as door:
        with pytest.raises(BadRequest, match="not records counted"):
            door.ask(COUNTS)
        answer = door.ask(WEIGHTED)
        step = int(door.door.dataset.survey.largest_weight)
        sums = np.array(
            [
                people.weights[people.inside(cell_at(COUNTS, answer.codes, p))].sum()
                for p in np.ndindex(*noise.shape)
            ]
        )
        steps = np.floor(sums / (step * 10_000) + 0.5).astype(int).reshape(noise.shape)
        own = answer.values // step - steps
    assert np.abs(own).max() <= 5
    assert (own != noise).any()  # the same noise would tell n - t exactly
