"""Records must nest, avoid structural zeros and agree with the declared weights; all problems are reported at once."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadData, BadRecords
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.survey import SamplingDesign, Survey
from discreet.records.checks import Problem, Problems, WeightSums, move_from_zeros
from discreet.records.source import Source


def test_a_record_in_a_structural_zero_moves_as_declared_and_no_other_does(town):
    text = town.description.replace(
        'job = ["1", "2", "9"] }', 'job = ["1", "2", "9"] }\nmove_to = { job = "0" }'
    )
    dataset = parse_dataset(text)
    codes = {"age": np.array([0, 0, 1, 2], dtype=np.uint8), "job": np.array([2, 0, 2, 1], dtype=np.uint8)}
    move_from_zeros(dataset, codes)
    assert codes["job"].tolist() == [0, 0, 2, 1]
    assert codes["job"].dtype == np.uint8
    untouched = {name: np.array([0]) for name in ("age", "job")} | {"job": np.array([2])}
    move_from_zeros(
        parse_dataset(town.description), untouched
    )  # wrong alternative: moved though nothing says so
    assert untouched["job"].tolist() == [2]


def declared(**changes):
    facts = {"sample_size": 3, "population_size": Fraction(6), "largest_weight": Fraction(4)}
    return Survey(**{"form": "average-weight", "relative_variance": Fraction(1, 2)} | facts | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sample_size": 4}, "sample_size is 4; there are 3"),
        ({"population_size": Fraction(7)}, "the weights add up to 6"),
        ({"largest_weight": Fraction(3)}, "a weight of 4 occurs"),
        ({"relative_variance": Fraction(1, 4)}, "it is 0.5000"),
    ],
)
def test_weights_that_contradict_the_survey_are_refused(changes, words):
    sums = WeightSums()
    for chunk in ([10, 10], [40]):
        sums.add(np.array(chunk))
    assert sums.refuse_others(declared(), 1) is None
    with pytest.raises(BadData, match=words):
        sums.refuse_others(declared(**changes), 1)


def test_replicates_that_do_not_add_up_to_the_weights_are_refused_with_both_sums():
    design = SamplingDesign(replicates=("r1", "q2"), coefficients=(Fraction(1, 2),) * 2)
    sums = WeightSums()
    sums.add(np.array([10, 10]), [np.array([0, 20]), np.array([10, 5])])
    sums.join(1, 40, 1600, 40, 80.0, 20.0)
    assert sums.refuse_others(declared(design=design), 1) is None
    sums.join(0, 0, 0, 0, 0.0, 90.0)
    with pytest.raises(BadData, match=r"'q2' add up to 12\.5, and the weights to 6"):
        sums.refuse_others(declared(design=design), 1)
    assert sums.refuse_others(declared(design=design), 1, known_weights=False) is None


def test_what_is_not_public_is_not_compared_but_a_bound_always_is():
    sums = WeightSums()
    sums.add(np.array([1, 1, 4]))
    wrong = declared(sample_size=9, population_size=Fraction(99))
    assert sums.refuse_others(wrong, 0, known_size=False, known_weights=False) is None
    with pytest.raises(BadData, match="largest_weight"):
        sums.refuse_others(declared(largest_weight=Fraction(2)), 0, known_size=False, known_weights=False)


def test_squares_beyond_64_bits_are_added_exactly():
    sums = WeightSums()
    sums.add(np.array([2**40, 2**40]))
    assert sums.squares == 2**81


def test_the_first_ten_are_told_in_the_order_of_the_file_and_all_are_counted(town):
    problems = Problems(parse_dataset(town.description))
    assert not problems
    marks = [None] * 5 + [["u2:x", "m3:"]] * 1000
    problems.add_marks(pa.array(marks, pa.list_(pa.string())), 100)
    problems.add([Problem(50, "area", "wrong", "mend it")], "area", 1)
    problems.settle()
    with pytest.raises(BadRecords) as refused:
        problems.refuse(
            Source(None, None, "town.csv", unit="line", places=lambda n: [each + 1 for each in n])
        )
    error = refused.value
    assert error.counts == {"sex": 1000, "age": 1000, "area": 1}
    assert [problem["line"] for problem in error.problems] == [51, *np.repeat([107, 108, 109, 110], 2), 111]
    assert error.problems[1]["value"] == "x"
    assert error.message.startswith("Line 51: wrong There are 2,001 problems in all")
