"""The surveys that are attacked: true, loaded, and the forms that are no longer served as they were."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.knowledge import QueryCache
from discreet.attacks.survey_weights import ReleasedCell, query_tables
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.model.survey import DESIGN_EFFECTS
from discreet_studies.attacks.surveys import (
    AVERAGE,
    CELL_AVERAGE,
    OVERALL_AVERAGE,
    SHARED_STEPS,
    STRATA,
    ErrorRule,
    Experience,
    OpenForm,
    TrueNumbers,
    cell_at,
    reader_of,
    sample,
    served,
)
from discreet_studies.attacks.weights_trial import errors_of_new_loads

COUNTS = TableRequest("spudlandia", ("state",), ("likes",))
WEIGHTED = TableRequest("spudlandia", ("state",), ("likes",), measure="weighted")


def test_open_forms_are_what_their_formulas_say_over_served_noise():
    people = sample(7)
    with served(people, "average-weight") as service:
        noisy = service.ask(COUNTS).values
        average, largest = Fraction(1_000_000, 1500), service.service.dataset.survey.largest_weight
        for form in (CELL_AVERAGE, OVERALL_AVERAGE, SHARED_STEPS):
            answer = OpenForm(service, people, form).ask(WEIGHTED)
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
        truth = TrueNumbers(service.service.dataset, people).ask(COUNTS)
        assert truth.values[-1, -1] == 1500
        assert 0 < np.abs(truth.values - noisy).max() <= 5


@pytest.mark.slow
def test_steps_have_noise_of_their_own_and_no_counts_beside_them():
    people = sample(7)
    with served(people, "average-weight") as service:
        noise = service.ask(COUNTS).values - TrueNumbers(service.service.dataset, people).ask(COUNTS).values
    with served(people, "largest-weight") as service:
        with pytest.raises(BadRequest, match="not numbers of records"):
            service.ask(COUNTS)
        answer = service.ask(WEIGHTED)
        step = int(service.service.dataset.survey.largest_weight)
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


TABLE = TableRequest("spudlandia", ("state",), ("age", "gender"))


def chances_of_the_truth(people, form):
    """What the rule of 0.2.0 says of the true count of every cell that it reads."""
    with errors_of_new_loads(DESIGN_EFFECTS), served(people, form) as service:
        reader, outside = reader_of(service, form), people.outside(weights=True)
        rule = ErrorRule(
            form, reader.survey, outside, service.service.dataset.weight_decimals, reader.distribution
        )
        seen, _ = query_tables(QueryCache(service), [TABLE], ("count", "weighted"))
        found = [rule(cell, each, np.array([people.count(cell)])) for cell, each in seen.items()]
    return np.array([chance[0] for chance in found if chance is not None])


@pytest.mark.slow
@pytest.mark.parametrize("form", [AVERAGE, STRATA, f"{AVERAGE}+no-design"])
def test_the_rule_never_excludes_the_truth(form):
    found = chances_of_the_truth(sample(7), form)
    assert found.size > 30
    assert (found > 0).all()


def test_the_rule_says_nothing_where_nothing_of_a_cell_is_told():
    assert chances_of_the_truth(sample(7), f"{STRATA}+no-design").size == 0


def test_errors_made_from_true_counts_teach_them():
    lessons = [
        (ReleasedCell(n + noise, 0, round(1000 / n**0.5)), n) for n in range(1, 9) for noise in range(-3, 4)
    ] * 9
    factors = Experience(lessons).factors(ReleasedCell(5, 0, 500), np.arange(1, 9))
    assert np.argmax(factors) == 3  # four people: 1000 / 2
    assert factors[3] > 2


def test_weights_are_of_the_kind_that_the_form_admits():
    people, scale = sample(7), 10_000
    states = people.codes["state"]
    for form, constant in ((STRATA, True), (AVERAGE, False), ("largest-weight", False)):
        weights = people.weights_under(f"{form}+clusters") / scale
        assert weights.sum() == pytest.approx(1_000_000)
        assert all((np.ptp(weights[states == state]) < 0.001) == constant for state in set(states)), form
    assert len(set(people.weights_under(AVERAGE).tolist())) > 1000
