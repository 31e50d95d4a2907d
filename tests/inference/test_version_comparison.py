"""Two versions compared: both numbers, and limits that hold whatever the noise of the two has in common."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.version_comparison import compare
from discreet.model.release import subset_release
from discreet.model.request import request_from_text
from discreet.model.shape import Dimension, Output
from discreet.noise import maxent
from discreet.noise.table_distribution import TableDistribution
from discreet.release.dataset_registry import open_registry

#: The counts of the examples are so large that one distribution of noise serves them all.
COUNT, OTHER = 500, 430
NOISE = maxent(D=4, V=2)
REQUEST = request_from_text("town", rows=["area"], columns=["sex"])


@pytest.fixture(scope="module")
def registry(town_versions):
    opened = open_registry(town_versions)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def versions(registry):
    return [registry.open("town", version=word).release(REQUEST) for word in ("2", "1")]


@pytest.mark.slow
def test_a_comparison_has_both_released_numbers_and_their_difference(versions):
    new, old = versions
    found = compare(new, old)
    assert (found.difference.estimate == new.values - old.values).all()
    assert np.allclose(found.ratio.estimate, new.values / old.values)
    document = found.document()
    assert [cell["value"] for cell in document["cells"]] == new.values.ravel().tolist()
    assert [cell["with"] for cell in document["cells"]] == old.values.ravel().tolist()
    assert document["note"][0] == new.notes[0]
    assert (document["version"], document["with"]) == (new.digest, old.digest)


def test_the_limits_are_the_ends_of_two_intervals_that_hold_together(versions):
    new, old = versions
    found = compare(new, old, 0.9)
    (low, high), (least, most) = every_interval(new, 0.95), every_interval(old, 0.95)
    assert (found.difference.low == low - most).all()
    assert (found.difference.high == high - least).all()
    assert np.allclose(found.ratio.low, low / most)


def test_other_questions_are_not_compared(registry, versions):
    other = registry.open("town", version="1").release(request_from_text("town", rows=["age"]))
    with pytest.raises(BadRequest, match="different questions"):
        compare(versions[0], other)


def test_a_category_that_one_version_lacks_is_left_out(versions):
    new, old = versions
    found = compare(new, subset_release(old, {"area": ["N1", "S2", "_T"]}))
    assert found.release.dimensions[0].codes == ("N1", "S2", "_T")
    assert found.difference.estimate[1, 0] == new.value("S2", "1") - old.value("S2", "1")


def test_there_is_no_ratio_over_a_number_that_may_be_noise(versions):
    new, old = versions
    small = np.array(old.values)
    small[0, 0] = 2
    found = compare(new, replace(old, values=small, noisy=small))
    assert np.isnan(found.ratio.estimate[0, 0])
    assert not np.isnan(found.ratio.estimate[1:]).any()
    assert found.difference.estimate[0, 0] == new.values[0, 0] - 2


@pytest.mark.parametrize("level", [0, 1, 1.5])
def test_a_level_is_a_chance(versions, level):
    with pytest.raises(BadRequest, match=f"level is {level}"):
        compare(*versions, level)


# How often limits hold is worked out exactly: a table has one cell for each outcome of the noise of both versions.


def outcomes(coupling):
    """The noise of both versions and its probability, for one way in which they depend on each other."""
    first, chances = NOISE.distributions[-1].distribution()
    noise = [(first + place, chance) for place, chance in enumerate(chances.tolist()) if chance]
    if coupling == "independent":
        return [(a, b, p * q) for (a, p), (b, q) in product(noise, noise)]
    return [(a, a if coupling == "the same" else -a, p) for a, p in noise]


def release_of(whole, counts):
    outputs = tuple(Output(str(place), str(place), (place,)) for place in range(len(counts)))
    dimension = Dimension("area", "Area", outputs, (), (), total=False)
    values = np.array(counts, dtype=np.int64)
    return replace(
        whole,
        dimensions=(dimension,),
        values=values,
        noisy=values,
        status=np.zeros(values.shape, dtype=np.uint8),
        distribution=TableDistribution(NOISE, values.shape),
    )


def covered(low, high, truth, chances):
    return float(chances[(low <= truth) & (truth <= high)].sum())


@pytest.mark.parametrize("coupling", ["the same", "opposite", "independent"])
def test_limits_hold_whatever_the_noise_of_two_versions_has_in_common(versions, coupling):
    one, two, chances = map(np.array, zip(*outcomes(coupling), strict=True))
    assert chances.sum() == pytest.approx(1)
    found = compare(release_of(versions[0], COUNT + one), release_of(versions[0], OTHER + two))
    for measured, truth in ((found.difference, COUNT - OTHER), (found.ratio, COUNT / OTHER)):
        assert covered(measured.low, measured.high, truth, chances) >= 0.95


def test_a_root_of_summed_squares_misses_too_often_where_the_noise_is_opposite(versions):
    """The wrong alternative: the reaches of two 95 % intervals, squared, added, and the root taken."""
    one, two, chances = map(np.array, zip(*outcomes("opposite"), strict=True))
    new, old = release_of(versions[0], COUNT + one), release_of(versions[0], OTHER + two)
    reach = np.hypot(*(every_interval(each, 0.95)[1] - each.values for each in (new, old)))
    difference = new.values - old.values
    wrong = covered(difference - reach, difference + reach, COUNT - OTHER, chances)
    assert wrong < 0.94
