"""The arithmetic of a new version is the newest that is known, and one that was given up is not known.

A lineage keeps the defaults of its first load: what has changed since is stated, what is stated wins.
"""

import pytest

from discreet.model import revision
from discreet.model import revision as defaults
from discreet.model.revision import add_former_defaults, newest_defaults


def test_a_new_version_gets_the_newest_that_is_known(monkeypatch):
    monkeypatch.setattr(revision, "KNOWN", frozenset({2, 4}))
    assert revision.newest_arithmetic() == 4
    assert [revision.knows_arithmetic(n) for n in (1, 2, 3, 4)] == [False, True, False, True]


@pytest.fixture
def two_changes(monkeypatch):
    """The default of `a` was 1 before revision 2, and that of `b` was 2 before revision 3."""
    changes = {
        2: lambda document: document.setdefault("a", 1),
        3: lambda document: document.setdefault("b", 2),
    }
    monkeypatch.setattr(defaults, "FORMER", changes)


@pytest.mark.usefixtures("two_changes")
def test_only_what_changed_after_the_revision_is_filled_in():
    assert newest_defaults() == 3
    assert add_former_defaults({}, 1) == {"a": 1, "b": 2}
    assert add_former_defaults({}, 2) == {"b": 2}
    assert add_former_defaults({}, 3) == {}


@pytest.mark.usefixtures("two_changes")
def test_what_is_stated_wins_and_the_description_is_not_changed():
    document = {"a": 7}
    assert add_former_defaults(document, 1) == {"a": 7, "b": 2}
    assert document == {"a": 7}


def test_before_revision_2_tables_had_noise_of_their_own():
    """A lineage of revision 1 keeps `own` and shares that add up, whatever is the default now; what it states wins."""
    text = {"protection": {"method": "dp", "universe": {"variables": ["sex"]}, "budget": {"name": "b"}}}
    filled = add_former_defaults(text, 1)["protection"]
    assert filled["universe"]["margins"] == "own"
    assert filled["budget"]["calibrate"] is False
    assert add_former_defaults(text, 2) == text
    text["protection"]["universe"]["margins"] = "sums"
    assert add_former_defaults(text, 1)["protection"]["universe"]["margins"] == "sums"
    assert add_former_defaults({"protection": {"keys": "hashed"}}, 1) == {"protection": {"keys": "hashed"}}
