"""The arithmetic of a new version is the newest that is known, and one that was given up is not known."""

from discreet.model import revision


def test_a_new_version_gets_the_newest_that_is_known(monkeypatch):
    monkeypatch.setattr(revision, "KNOWN", frozenset({2, 4}))
    assert revision.newest_arithmetic() == 4
    assert [revision.knows_arithmetic(n) for n in (1, 2, 3, 4)] == [False, True, False, True]
