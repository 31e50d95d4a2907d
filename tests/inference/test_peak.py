import numpy as np
import pytest

from discreet.inference.peak import highest_point


def test_a_peak_inside_at_a_bound_and_the_higher_of_two():
    def functions(x):
        return np.array(
            [-((x[0] - 1.3) ** 2), -x[1], np.exp(-((x[2] - 2) ** 2)) + 2 * np.exp(-((x[2] - 8) ** 2))]
        )

    at, value = highest_point(functions, np.zeros(3), np.full(3, 10.0))
    np.testing.assert_allclose(at, [1.3, 0.0, 8.0], atol=1e-6)
    assert at[1] == 0.0
    assert value[2] == pytest.approx(2, abs=1e-9)


def test_a_single_point():
    at, value = highest_point(lambda x: x, np.array([4.0]), np.array([4.0]))
    assert (at[0], value[0]) == (4.0, 4.0)
