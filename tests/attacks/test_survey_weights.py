"""Common weights, known totals and errors; a reading never excludes the truth."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import survey_weights
from discreet.attacks.message_passing import Unknown
from discreet.model.survey import Survey
from discreet.noise import maxent
from discreet.noise.table import keep_zero


def cell_of(counts, deviation, average):
    """A cell of the form overall-average: W = deviation + n w̄, to half a person."""
    counts = np.array(counts)
    middle = deviation + counts * average
    return Unknown(counts, np.ones(counts.size), middle - 0.5, middle + 0.5, lambda n, _low, _high: n)


def test_people_of_one_weight_give_it_away_by_what_divides_all_their_cells():
    # 13, 9 and 4 people of weight 641.25; the average weight is 600, and each count is known to 5 either side.
    cells = [cell_of(range(n - 5 if n > 5 else 1, n + 6), n * 41.25, 600.0) for n in (13, 9, 4)]
    found = survey_weights.common_weights(cells)
    assert any(low <= 641.25 <= high for low, high in found)
    assert len(found) < len(survey_weights.common_weights(cells[:1]))
    assert not any(low <= 630 <= high for low, high in found)


def test_a_weighting_class_needs_all_its_variables():
    outside = survey_weights.PublicFacts(
        {"state": {"A": "A"}, "age": {"y": "0", "o": "1"}}, {}, {}, {("A", "0"): 3.0, ("A", "1"): 5.0}
    )
    assert outside.class_of(frozenset({("state", "A"), ("age", "y"), ("likes", "1")})) == ("A", "0")
    assert outside.class_of(frozenset({("state", "A")})) is None
    assert outside.bounds(frozenset({("state", "A")}), 9.0) == pytest.approx((3.0, 5.0), abs=0.01)
    assert outside.bounds(frozenset({("state", "A"), ("age", "o")}), 9.0) == pytest.approx(
        (5.0, 5.0), abs=0.01
    )


DISTRIBUTION = keep_zero(maxent(D=5, V=3, js=2))
SURVEY = Survey("average-weight", 100, Fraction(60_000), Fraction(1000), Fraction(1, 10))
AVERAGE, STEP = 600, 1000


def released(form, count, weight, shown):
    if form == survey_weights.CELL_AVERAGE:
        return round(shown * weight / count)
    if form == survey_weights.OVERALL_AVERAGE:
        return round(weight + (shown - count) * AVERAGE)
    return (round(weight / STEP) + shown - count) * STEP


@pytest.mark.parametrize(
    "form", [survey_weights.CELL_AVERAGE, survey_weights.OVERALL_AVERAGE, survey_weights.SHARED_STEPS]
)
def test_the_true_weighted_count_lies_in_the_interval_of_the_true_count(form):
    rng = np.random.default_rng(3)
    reader = survey_weights.Reader(form, SURVEY, DISTRIBUTION)
    for _ in range(200):
        count = int(rng.integers(1, 60))
        weight = float(np.round(rng.uniform(100, 1000, count), 4).sum())
        shown = count + int(rng.integers(-min(5, count), 6))
        if shown in (1, 2) or shown <= 0 or released(form, count, weight, shown) <= 0:
            continue
        cell = reader.read(shown, released(form, count, weight, shown))
        at = int(np.flatnonzero(cell.counts == count)[0])
        assert cell.low[at] <= weight <= cell.high[at]
        assert cell.likelihood[at] > 0
        assert cell.fits(np.array([count]), np.array([weight]), np.array([weight])) == 1


def test_served_forms_of_noisy_counts_tell_nothing_of_weights():
    told, alone = (
        survey_weights.Reader("average-weight", SURVEY, DISTRIBUTION).read(7, 4200),
        survey_weights.Reader("x", SURVEY, DISTRIBUTION).by_counts(7),
    )
    assert told.fits is None
    assert told.likelihood.tolist() == alone.likelihood.tolist()
    assert (
        survey_weights.Reader(survey_weights.CELL_AVERAGE, SURVEY, DISTRIBUTION).read(7, 4200).fits
        is not None
    )  # the form that was open


def test_possible_counts_are_those_whose_noise_gives_the_number():
    counts, likelihood = survey_weights.possible_counts(DISTRIBUTION, 8)
    assert counts.tolist() == list(range(3, 14))
    for count, chance in zip(counts.tolist(), likelihood, strict=True):
        assert chance == pytest.approx(float(DISTRIBUTION.row(count).probabilities().get(8 - count, 0)))


def test_steps_allow_every_count_whose_weight_may_have_given_them():
    reader = survey_weights.Reader(survey_weights.STEPS, SURVEY, DISTRIBUTION)
    cell = reader.read_steps(8 * STEP, 500.0, 500.0)
    for count, chance in zip(cell.counts.tolist(), cell.likelihood, strict=True):
        steps = int(count * 500 / STEP + 0.5)
        assert chance == pytest.approx(float(DISTRIBUTION.row(steps).probabilities().get(8 - steps, 0)))
    assert cell.counts[0] <= 5
    assert cell.counts[-1] >= 27  # 13 steps are 27 people of half a step at most
