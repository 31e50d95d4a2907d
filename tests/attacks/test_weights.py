"""What the attack puts together: common weights, known totals, and what errors tell."""

import numpy as np
import pytest

from discreet.attacks.lines import Unknown
from discreet.attacks.weights import Experience, Outside, Seen, common_weights


def cell_of(counts, deviation, average):
    """A cell of the form overall-average: W = deviation + n w̄, to half a person."""
    counts = np.array(counts)
    middle = deviation + counts * average
    return Unknown(counts, np.ones(counts.size), middle - 0.5, middle + 0.5, lambda n, _low, _high: n)


def test_people_of_one_weight_give_it_away_by_what_divides_all_their_cells():
    # 13, 9 and 4 people of weight 641.25; the average weight is 600, and each count is known to 5 either side.
    cells = [cell_of(range(n - 5 if n > 5 else 1, n + 6), n * 41.25, 600.0) for n in (13, 9, 4)]
    found = common_weights(cells)
    assert any(low <= 641.25 <= high for low, high in found)
    assert len(found) < len(common_weights(cells[:1]))
    assert not any(low <= 630 <= high for low, high in found)


def test_errors_that_are_a_function_of_the_number_shown_teach_nothing():
    lessons = [(Seen(n + noise, 0, 100 + n + noise), n) for n in range(9) for noise in (0, 3)]
    factors = Experience(lessons).factors(Seen(5, 0, 105), np.arange(9))
    assert factors.tolist() == [1.0] * 9


def test_errors_made_from_true_counts_teach_them():
    lessons = [
        (Seen(n + noise, 0, round(1000 / n**0.5)), n) for n in range(1, 9) for noise in range(-3, 4)
    ] * 9
    factors = Experience(lessons).factors(Seen(5, 0, 500), np.arange(1, 9))
    assert np.argmax(factors) == 3  # four people: 1000 / 2
    assert factors[3] > 2


def test_a_weighting_class_needs_all_its_variables():
    outside = Outside(
        {"state": {"A": "A"}, "age": {"y": "0", "o": "1"}}, {}, {}, {("A", "0"): 3.0, ("A", "1"): 5.0}
    )
    assert outside.class_of(frozenset({("state", "A"), ("age", "y"), ("likes", "1")})) == ("A", "0")
    assert outside.class_of(frozenset({("state", "A")})) is None
    assert outside.bounds(frozenset({("state", "A")}), 9.0) == pytest.approx((3.0, 5.0), abs=0.01)
    assert outside.bounds(frozenset({("state", "A"), ("age", "o")}), 9.0) == pytest.approx(
        (5.0, 5.0), abs=0.01
    )
