from itertools import product

import numpy as np

from discreet.inference.compositions import compositions, number_of_compositions
from discreet.inference.possible_rows import possible_rows
from discreet.noise import maxent

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
    """A transform would leave rounding of 1e-17 where the chance is 1e-24."""
    found = compositions([*possible_rows([0] * 3, maxent(D=8, V=3, js=0))])
    positive = found.laws[found.laws > 0]
    assert positive.min() < 1e-12
    exact = min(float(NOISE.row(0).probabilities()[0]) ** 3, 1.0)
    assert np.isclose(found.laws.sum(axis=1), 1.0).all()
    assert exact == 1.0
