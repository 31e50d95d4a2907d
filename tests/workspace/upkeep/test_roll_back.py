"""Roll back: the version of before answers again with its own numbers, and no pair that is too close is open."""

import pytest

from discreet.errors import VersionClosed, WorkspaceUnusable
from discreet.workspace.upkeep.places import home_of, versions_of
from discreet.workspace.upkeep.roll_back import roll_back
from discreet.workspace.workspace import Workspace


def states(folder):
    return {
        v.version: "served" if v.current else bool(v.closed) for v in versions_of(home_of(folder, "town"))
    }


def test_an_open_version_is_served_and_the_others_stay_as_they_are(folder):
    assert states(folder) == {"0": True, "1": False, "2": "served"}
    assert roll_back(folder, "town", "1").version == "1"
    assert states(folder) == {"0": True, "1": "served", "2": False}
    assert Workspace(folder).stored("town").dataset.version == "1"


def test_a_closed_version_is_served_alone(folder):
    """Wrong alternative: "1" beside "0", which differ by one record."""
    roll_back(folder, "town", "0")
    assert states(folder) == {"0": "served", "1": True, "2": True}
    assert "not compared" in versions_of(home_of(folder, "town"))[1].closed
    with pytest.raises(VersionClosed):
        Workspace(folder).stored("town", "1")
    roll_back(folder, "town", "2")
    assert states(folder) == {"0": True, "1": True, "2": "served"}


def test_a_version_that_was_changed_is_not_served(folder):
    home = home_of(folder, "town")
    digest = next(v.digest for v in versions_of(home) if v.version == "1")
    data = home / digest / "data.duckdb"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    with pytest.raises(WorkspaceUnusable):
        roll_back(folder, "town", "1")
    assert states(folder)["2"] == "served"
