"""Parameters of a family are checked by name and kind."""

from __future__ import annotations

import pytest

from discreet.errors import BadRequest
from discreet.noise import families


def test_an_unknown_parameter_is_refused_with_the_nearest_name():
    with pytest.raises(BadRequest, match=r'"pstays".*Did you mean "pstay"'):
        families.build("maxent", {"D": 5, "V": 3, "pstays": 0.5}, 256)


def test_a_missing_parameter_is_named_with_its_meaning():
    with pytest.raises(BadRequest, match=r"needs V \(variance"):
        families.build("maxent", {"D": 5}, 256)


@pytest.mark.parametrize("wrong", [{"D": 5.5, "V": 3}, {"D": True, "V": 3}, {"D": 5, "V": "3"}])
def test_a_parameter_of_the_wrong_kind_is_refused(wrong):
    with pytest.raises(BadRequest, match="must be a"):
        families.build("maxent", wrong, 256)


def test_a_list_serves_row_by_row():
    ideal = families.ideal("maxent", {"D": 2, "V": 1.05, "js": 1, "monotone": [True, True, False, True]})
    assert ideal.rows[3].probabilities[0] > ideal.rows[3].probabilities[1]
