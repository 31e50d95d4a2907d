"""Two versions' descriptions: what differs is named, and nothing else."""

from discreet.workspace.upkeep.descriptions import compared_descriptions
from discreet.workspace.upkeep.removal import remove_version


def test_what_differs_is_named_even_of_a_removed_version(folder):
    (change,) = compared_descriptions(folder, "town", "", "1")
    assert (change.place, change.before, change.after) == ("version", "2", "1")
    remove_version(folder, "town", "1")
    assert [each.after for each in compared_descriptions(folder, "town", "2", "1")] == ["1"]
    assert not list(compared_descriptions(folder, "town", "2", "2"))
