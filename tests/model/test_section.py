"""A section with a wrong key names the nearest one; what is no section says so."""

import pytest

from discreet.errors import BadDescription, BadOption
from discreet.model.section import need, only, section_of


def test_what_is_no_section_or_has_an_unknown_key_is_refused():
    assert section_of({}, "about", []) == {}
    with pytest.raises(BadDescription, match="before its lines"):
        section_of("Office", "about", ["publisher"])
    with pytest.raises(BadOption, match='Did you mean "kind"'):
        section_of({"kinds": "duckdb"}, "engine", ["kind"], BadOption)
    with pytest.raises(BadDescription, match="Known: a, b"):
        only({"zzz": 1}, {"b", "a"}, "[x]")  # a set is told in order


def test_a_key_that_is_needed_must_be_there():
    need({"id": "town"}, ("id",), "dataset.toml")
    with pytest.raises(BadDescription, match="lacks `label`"):
        need({"id": "town"}, ("id", "label"), "dataset.toml")
