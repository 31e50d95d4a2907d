"""The section `[engine]` names a kind, or is refused by the error of the file that it stands in."""

import pytest

from discreet.errors import BadDescription, WorkspaceUnusable
from discreet.model.engine_section import engine_named


def test_a_section_without_a_kind_names_none():
    assert engine_named({}, BadDescription) == ""
    assert engine_named({"kind": "spark"}, BadDescription) == "spark"


@pytest.mark.parametrize("error", [BadDescription, WorkspaceUnusable])
@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("duckdb", "not a section"),
        ({"knid": "duckdb"}, "unknown key"),
        ({"kind": 1}, "`kind` of .engine. is 1"),
    ],
)
def test_what_cannot_be_read_is_refused_by_the_files_own_error(section, words, error):
    with pytest.raises(error, match=words):
        engine_named(section, error)
