"""The roll-up of a load: there where it is much smaller than the records, and nowhere else."""

from discreet.records.secret import read_secret
from discreet.workspace.cube_files import read_list


def cubes(workspace):
    digest = workspace.stored("town").digest
    place = workspace.folder / "datasets" / "town" / digest
    return read_list(place, read_secret(workspace.folder / "secret"), digest)


def test_a_load_rolls_up_all_but_the_finer_areas(town_workspace):
    (cube,) = cubes(town_workspace)
    assert cube.variables == ("region", "sex", "age", "job")
    assert cube.rows * 4 <= 3000


def test_few_records_are_not_rolled_up(town, tmp_path):
    few = town.load(tmp_path / "few", records=town.records.slice(0, 40))
    assert cubes(few) == ()
    assert list((tmp_path / "few").rglob("*.arrow")) == []
    few.close()
