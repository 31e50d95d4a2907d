from __future__ import annotations

import pytest

from discreet.errors import BadRequest
from discreet.noise import families, maxent


def test_a_family_named_in_a_description_builds_the_same_table_as_the_function():
    built = families.build("maxent", {"D": 5, "V": 3, "js": 2}, 2**32)
    assert built == maxent(D=5, V=3, js=2)
    assert built.parameters["D"] == 5


def test_an_unknown_family_is_refused_with_the_nearest_name():
    with pytest.raises(BadRequest, match='Did you mean "maxent"'):
        families.build("maxentt", {}, 256)
