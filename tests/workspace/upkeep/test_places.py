"""Who keeps a workspace names versions by digest or by name, closed ones included."""

import pytest

from discreet.errors import NotFound, UnknownDataset, UnknownVersion
from discreet.workspace.upkeep.places import erase, find_version, home_of, homes, size_of


def test_a_closed_version_is_found_by_its_name_and_by_its_digest(folder):
    home = home_of(folder, "town")
    closed = find_version(home, "0")
    assert closed.closed
    assert find_version(home, closed.digest[:8]) == closed


def test_what_is_not_there_is_said(folder, tmp_path):
    with pytest.raises(NotFound, match="not a workspace"):
        homes(tmp_path)
    with pytest.raises(UnknownDataset, match="twon"):
        home_of(folder, "twon")
    for word in ("9", "abcdef", "00000000"):
        with pytest.raises(UnknownVersion, match=word):
            find_version(home_of(folder, "town"), word)


def test_erasing_leaves_nothing(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")
    assert size_of(tmp_path) == 3
    erase(tmp_path / "a")
    assert not list(tmp_path.iterdir())
