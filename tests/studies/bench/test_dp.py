"""One dp table beside OpenDP: both are made and told; no time is asserted."""

import pytest

from discreet_studies.bench.dp import measure
from discreet_studies.bench.part import Wish


@pytest.mark.slow
def test_ours_and_theirs_are_told():
    pytest.importorskip("opendp")
    mine, theirs = measure(Wish((2_000,), 1, say=lambda _text: None))
    assert (mine["who"], theirs["who"]) == ("discreet", "OpenDP")
    assert mine["cells"] > theirs["cells"] > 0
    assert mine["expected_error"] > 0
    assert theirs["ratio"] > 0
