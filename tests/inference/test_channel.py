import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.inference.channel import Channel, channel_of, whole_numbers, with_sure_zeros
from discreet.noise import NoiseRow, NoiseTable, families, laplace, maxent
from discreet.noise.sum_law import SumLaw


def slow_evidence(released, noise):
    """P(x | n) for every n, straight from the rows."""
    found = {}
    for n in range(max(0, released - 3000), released + 3000):
        chance = noise.row(n).probabilities().get(released - n)
        if chance:
            found[n] = float(chance)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 1, 3, 7, 40, 1000])
def test_evidence_is_what_the_rows_say(any_noise, released):
    expected = slow_evidence(released, any_noise)
    if not expected:
        with pytest.raises(BadRequest, match="cannot be released"):
            channel_of(any_noise).evidence([released])
        return
    found = channel_of(any_noise).evidence([released])
    inside = found.chance[0] > 0
    assert found.counts[0][inside].tolist() == sorted(expected)
    np.testing.assert_allclose(found.chance[0][inside], [expected[n] for n in sorted(expected)], rtol=1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 400), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_what_was_released_always_allows_the_truth(counts, key):
    noise = families.build("pram", {})
    true = np.array(counts)
    released = true + noise.noise(true, np.full(len(true), key, dtype=np.uint64))
    found = channel_of(noise).evidence(released)
    at = (true - found.first).astype(int)
    assert (found.chance[np.arange(len(true)), at] > 0).all()


def test_a_released_zero_may_be_a_small_count_that_went_down():
    found = channel_of(maxent(D=5, V=3, js=2)).evidence([0])
    assert found.allows_zero()[0]
    assert not found.sure_zero()[0]


def test_equal_rows_have_one_law():
    row = NoiseRow((-1, 0, 1), (1, 3, 4))
    assert Channel(NoiseTable(4, (row, row, row), repeats=2)).laws.shape == (1, 3)


def test_cells_that_cannot_occur_are_surely_empty():
    evidence = channel_of(laplace(epsilon=1.0, m=3)).evidence([4, 5])
    changed = with_sure_zeros(evidence, np.array([True, False]))
    assert changed.sure_zero().tolist() == [True, False]
    assert changed.chance[1].tolist() == evidence.chance[1].tolist()


def test_an_impossible_count_is_refused_with_advice():
    with pytest.raises(BadRequest, match="count 1 cannot be released"):
        channel_of(maxent(D=5, V=3, js=2)).evidence([[7, 1]])


def test_noise_too_wide_is_refused():
    wide = NoiseRow((-9000, 9000), (1, 2))
    with pytest.raises(BadRequest, match="spans at most 5,000"):
        Channel(NoiseTable(2, (wide, NoiseRow((0, 1), (1, 2)))))
    assert Channel(NoiseTable(2, (wide,))).highest == 9000
    with pytest.raises(BadRequest, match="spans at most 200,000"):
        Channel(NoiseTable(2, (NoiseRow((-900_000, 900_000), (1, 2)),)))


def test_a_sum_of_noise_is_a_channel_of_one_law():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    found = Channel(SumLaw(row, 3))
    exact = SumLaw(row, 3).exact_law()
    assert found.laws[0].sum() == pytest.approx(1, abs=2e-12)
    assert found.laws[0][-found.lowest] == pytest.approx(float(exact[0]), rel=1e-12)
    assert found.law_index(np.array([-2, 0, 9])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [[1.5], ["a"], [np.nan], []])
def test_what_is_no_whole_number_is_refused(values):
    with pytest.raises(BadRequest):
        whole_numbers(values)


def test_whole_floats_are_taken():
    assert whole_numbers([1.0, -2.0]).tolist() == [1, -2]
