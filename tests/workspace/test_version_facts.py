"""Which version a reader means by a word."""

import pytest

from discreet.errors import UnknownVersion
from discreet.workspace.version_facts import VersionFacts, open_version

ONE = VersionFacts("a" * 32, "2021", "", current=False, closed="")
TWO = VersionFacts("b" * 32, "aaaaaaaa", "", current=True, closed="")


def test_a_digest_wins_over_a_name_that_looks_like_one():
    assert open_version((ONE, TWO), "aaaaaaaa") == ONE.digest
    assert open_version((TWO,), "aaaaaaaa") == TWO.digest


def test_the_nearest_known_version_is_named():
    with pytest.raises(UnknownVersion) as told:
        open_version((ONE, TWO), "aaaaaaab")
    assert "aaaaaaaa" in told.value.advice
