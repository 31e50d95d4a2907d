import numpy as np

from discreet.inference.possible_rows import possible_rows
from discreet.noise import laplace, maxent

NOISE = maxent(D=5, V=3, js=2)


def test_every_possible_count_is_served_by_one_of_the_laws():
    (rows,) = possible_rows([4], NOISE)
    counts = [n for n in range(20) if 4 - n in NOISE.row(n).values]
    assert (rows.least.min(), rows.most.max()) == (min(counts), max(counts))
    for n in counts:
        chances = [float(NOISE.row(n).probabilities().get(z, 0)) for z in range(rows.first, rows.last + 1)]
        served = (rows.least <= n) & (n <= rows.most)
        np.testing.assert_allclose(rows.laws[served], [chances], atol=1e-12)


def test_one_law_for_every_count_is_known_noise():
    (rows,) = possible_rows([4, 4], laplace(epsilon=1.0, m=5))
    assert rows.known
    assert rows.times == 2
    assert (rows.law.first, rows.law.last) == (-5, 5)


def test_cells_that_are_taken_off_change_the_sign_of_noise_and_counts():
    (rows,) = possible_rows([4], NOISE)
    off, turned = rows.negative(), rows.noise_reflected()
    assert (off.first, off.last) == (-rows.last, -rows.first) == (turned.first, turned.last)
    assert (off.least == -rows.most).all()
    assert (turned.least == rows.least).all()
    np.testing.assert_allclose(off.moments()[0], -rows.moments()[0])
    np.testing.assert_allclose(off.moments()[1], rows.moments()[1])
