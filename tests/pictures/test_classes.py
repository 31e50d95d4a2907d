"""Classes: round, few, and never finer than the noise."""

import numpy as np
import pytest

from discreet.pictures.classes import Classes, classes_of, make_classes


@pytest.mark.parametrize("width", [0, 3, 40, 90, 400])
def test_no_class_is_narrower_than_the_noise(width):
    """Wrong alternative: always five classes."""
    values = np.random.default_rng(3).integers(0, 300, 200).astype(float)
    limits = make_classes(values, width).limits
    ends = [values.min(), *limits, values.max()]
    assert len(limits) < 5
    assert not limits or np.diff(ends).min() >= width
    five = np.quantile(values, [0.2, 0.4, 0.6, 0.8])
    assert width < 90 or np.diff([values.min(), *five, values.max()]).min() < width


def test_a_number_is_in_the_class_that_names_it():
    classes = Classes((10, 20), 1)
    assert [classes.labels[classes.of(number)] for number in (-1, 9, 10, 19, 20, 99)] == [
        "under 10", "under 10", "10 to 19", "10 to 19", "20 or more", "20 or more",
    ]  # fmt: skip
    assert Classes((49.5, 50.0), 0.1).labels == ("under 49.5", "49.5 to 49.9", "50.0 or more")
    assert Classes((), 1).labels == ("all",)
    assert len({*classes.colours}) == 3


def test_the_width_is_that_of_the_intervals(village, see):
    what = see(village(rows="age", columns="sex"))
    widths = [record["_high"] - record["_low"] for record in what.records]
    assert np.diff(classes_of(what).limits).min() >= np.median(widths)
    assert make_classes(np.array([]), 0).limits == make_classes(np.array([5.0, 5.0]), 0).limits == ()
