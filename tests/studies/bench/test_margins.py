"""Many margins: a method that is measured has the error that it expects."""

import pytest

from discreet_studies.bench import margins


@pytest.mark.slow
def test_the_measured_error_is_near_the_expected_one():
    exact = margins.count(margins.records())
    found = margins.ours("optimum", margins.DELTA, exact, 3)
    assert found["measured_error"] == pytest.approx(found["expected_error"], rel=0.1)
