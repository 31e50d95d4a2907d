from itertools import product

import numpy as np

from discreet.inference.compositions import compositions, number_of_compositions
from discreet.inference.possible_rows import possible_rows
from discreet.noise import laplace, maxent
from discreet.noise.kept_zero import with_kept_zero

NOISE = maxent(D=5, V=3, js=2)


def test_every_vector_of_possible_counts_has_its_law_among_the_compositions():
    cells = [*possible_rows([0, 0, 4], NOISE)]
    found = compositions(cells)
    known = {
        law.round(10).tobytes(): (low, high)
        for law, low, high in zip(found.laws, found.least, found.most, strict=True)
    }
    assert len(known) == len(found.laws) <= number_of_compositions(cells)
    values = range(cells[0].first, cells[0].last + 1)
    for counts in product((0, 1, 3), (0, 2), (1, 5, 8)):
        law = np.ones(1)
        for n in counts:
            law = np.convolve(law, [float(NOISE.row(n).probabilities().get(z, 0)) for z in values])
        close = [r for r, other in enumerate(found.laws) if np.allclose(law, other, atol=1e-12)]
        assert len(close) == 1
        assert found.least[close[0]] <= sum(counts) <= found.most[close[0]]


def test_small_chances_are_right_in_themselves():
    """The least chance, of all cells at the rarest noise, is a product; a transform leaves rounding of 1e-17 there."""
    noise, cells = maxent(D=8, V=3, js=0), 8
    found = compositions([*possible_rows([8] * cells, noise)])
    row = noise.row(16).probabilities()
    one = np.array([float(row.get(z, 0)) for z in range(-8, 9)])
    exact = float(row[-8]) ** cells
    assert exact < 1e-20
    same = min(range(len(found.laws)), key=lambda at: abs(found.laws[at, 0] / exact - 1))
    assert np.isclose(found.laws[same, 0], exact, rtol=1e-12, atol=0)
    transformed = np.fft.irfft(np.fft.rfft(one, 256) ** cells, 256)
    assert not np.isclose(transformed[0], exact, rtol=1e-2, atol=0)


def test_zeros_that_may_be_kept_have_one_composition_for_each_number_of_others():
    """A law of a single value moves the others and does not widen them."""
    noise = with_kept_zero(laplace(epsilon=0.5, m=3))
    found = compositions([*possible_rows([0] * 5, noise)])
    row = [float(noise.row(1).probabilities()[z]) for z in range(-3, 4)]
    assert sorted(zip(found.least.tolist(), found.most.tolist(), strict=True)) == [
        (k, 3 * k) for k in range(6)
    ]
    for law, k in zip(found.laws, found.least.tolist(), strict=True):
        slow = np.ones(1)
        for _ in range(k):
            slow = np.convolve(slow, row)
        np.testing.assert_allclose(law[15 - 3 * k : 16 + 3 * k], slow, atol=1e-15)
        assert np.isclose(law.sum(), 1.0)
