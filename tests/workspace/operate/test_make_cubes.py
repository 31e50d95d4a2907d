"""`build`: every table has the numbers that it had, from cubes and without records; what follows a version follows it."""

from itertools import combinations

import pytest
from pyarrow import feather
from tests.workspace.conftest import answers as answers_of
from tests.workspace.conftest import place_of

from discreet.model.request import TableRequest, request_from_text
from discreet.records import cubes
from discreet.workspace.operate import make_cubes as building
from discreet.workspace.operate.backup_restore import back_up, restore
from discreet.workspace.operate.make_cubes import cube_summary, make_cubes
from discreet.workspace.operate.manage_versions import move_engine, remove_dataset

pytestmark = pytest.mark.slow

NAMES = ("region", "area", "sex", "age", "job")
REQUESTS = [TableRequest("town", names) for size in (1, 2, 3) for names in combinations(NAMES, size)] + [
    request_from_text(
        "town", rows=["area"], columns=["job"], levels=["area=region,area"], filters=["age=adult,old"]
    ),
    request_from_text("town", rows=["sex"], groups=["job=1+2"], columns=["job"], filters=["area=N1,S2"]),
    request_from_text("town", rows=["age"], totals=False),
]


@pytest.fixture
def few(monkeypatch):
    """As if ten rows took milliseconds: the town has 3,000 records."""
    monkeypatch.setattr(cubes, "FEW", 10)


@pytest.fixture
def folder(town_folder):
    return town_folder


def answers(folder, requests=REQUESTS):
    return answers_of(folder, requests)


@pytest.mark.usefixtures("few")
def test_every_table_is_answered_without_the_records_by_the_same_numbers(folder):
    before = answers(folder)
    done = make_cubes(folder, "town", within=10**9)
    assert done.built
    assert [cube.variables for cube in done.built] == [cube.variables for cube in done.planned]
    assert answers(folder) == before
    (place_of(folder) / "data.duckdb").unlink()
    assert answers(folder) == before
    again = make_cubes(folder, "town", within=10**9, dry_run=True)
    assert (len(again.kept), again.planned) == (len(done.built) + 1, ())


def rows_of_cubes(folder):
    """The columns of every cube with its rows, in one order."""
    found = {}
    for path in place_of(folder).rglob("*.arrow"):
        table = feather.read_table(path)
        found[tuple(table.column_names)] = sorted(zip(*(c.to_pylist() for c in table.columns), strict=True))
    return found


@pytest.fixture(
    params=["parquet", "postgres", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def other_engine(request, monkeypatch):
    """An engine that answers, by its name."""
    if request.param == "spark":
        request.getfixturevalue("spark_home")
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        monkeypatch.setenv("DISCREET_POSTGRES", f"host={server} user=me dbname=postgres")
    return request.param


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_every_engine_builds_the_same_cubes(folder, other_engine):
    make_cubes(folder, "town", within=0)
    make_cubes(folder, "town", within=10**9)
    cubes = rows_of_cubes(folder)
    make_cubes(folder, "town", within=0)
    move_engine(folder, "town", other_engine)
    make_cubes(folder, "town", within=10**9)
    assert cubes
    assert rows_of_cubes(folder) == cubes


@pytest.mark.usefixtures("few")
def test_the_limit_holds_and_zero_removes_all(folder):
    dry = make_cubes(folder, "town", within=10**9, dry_run=True)
    assert not dry.built
    assert cube_summary(place_of(folder)).startswith("1, ")
    done = make_cubes(folder, "town", within=6_000)
    assert 0 < sum(cube.bytes for cube in (*done.kept, *done.built)) <= 6_000
    assert make_cubes(folder, "town", within=0).kept == ()
    assert cube_summary(place_of(folder)) == "none"
    assert not list(place_of(folder).rglob("*.arrow"))


@pytest.mark.usefixtures("few")
def test_a_damaged_cube_is_made_again(folder):
    place, before = place_of(folder), answers(folder)
    for path in place.rglob("*.arrow"):
        path.write_bytes(b"damaged")
    done = make_cubes(folder, "town", within=10**9)
    assert done.kept == ()
    (place / "data.duckdb").unlink()
    assert answers(folder) == before


@pytest.mark.usefixtures("few")
def test_cubes_go_where_their_version_goes(folder, town, tmp_path):
    make_cubes(folder, "town", within=10**9)
    told, before = cube_summary(place_of(folder)), answers(folder)
    back_up(folder, tmp_path / "copy")
    restore(tmp_path / "copy", tmp_path / "restored")
    (place_of(tmp_path / "restored") / "data.duckdb").unlink()
    assert answers(tmp_path / "restored") == before
    old = place_of(folder)
    town.load(folder, records=town.records.slice(200)).close()
    assert place_of(folder) != old
    assert cube_summary(place_of(folder)) != told, (
        "new records have a roll-up of their own, and no cube of the old ones"
    )
    remove_dataset(folder, "town")
    assert not list(folder.rglob("*.arrow"))


@pytest.mark.usefixtures("few")
def test_a_build_that_dies_leaves_what_was_there(folder, monkeypatch):
    """The wrong alternative: to list each cube as it is written, or to remove the old ones first."""
    before, told = answers(folder), cube_summary(place_of(folder))
    files = {path.name for path in place_of(folder).rglob("*.arrow")}
    with monkeypatch.context() as patch:
        patch.setattr(building, "write_cube_list", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_cubes(folder, "town", within=10**9)
    left = {path.name for path in place_of(folder).rglob("*.arrow")}
    assert files < left
    assert (answers(folder), cube_summary(place_of(folder))) == (before, told)
    make_cubes(folder, "town", within=10**9)
    assert not (left - files) & {path.name for path in place_of(folder).rglob("*.arrow")}, "it is swept"


def test_a_joint_universe_needs_none(joint_workspace):
    done = make_cubes(joint_workspace.folder, "town", within=10**9)
    assert not done.planned
    assert "residuals" in done.note


@pytest.mark.usefixtures("few")
def test_declared_tables_of_dp_are_built(private_town):
    request = TableRequest("town", ("area", "sex"))
    before = answers(private_town.folder, [request])
    assert make_cubes(private_town.folder, "town", within=10**9).built
    (place_of(private_town.folder) / "data.duckdb").unlink()
    assert answers(private_town.folder, [request]) == before
