"""What a workspace holds, served or not."""

from discreet.workspace.upkeep.datasets import list_datasets
from discreet.workspace.upkeep.removal import remove_dataset


def test_a_line_a_dataset(folder):
    (found,) = list_datasets(folder)
    assert (found.id, found.label, found.method, found.kept) == ("town", "A town", "cellkey", 3)
    assert found.version.startswith("2 (")
    assert found.size > 0
    remove_dataset(folder, "town")
    (gone,) = list_datasets(folder)
    assert (gone.version, gone.kept) == ("", 0)


def test_trouble_is_told_and_hides_no_other(folder):
    (folder / "secret").chmod(0o644)
    (found,) = list_datasets(folder)
    assert "can be read by others" in found.trouble
