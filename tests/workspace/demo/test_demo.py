import threading
import tomllib

import pytest

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.workspace import demo
from discreet.workspace.versions import load_version
from discreet.workspace.workspace import Workspace


@pytest.fixture
def small_demo(monkeypatch):
    """The demo with a census of 5,000 persons, and a note of every load."""
    from discreet.workspace.demo import Demo, census_batches, census_description
    from discreet.workspace.demo.geography import census_boundaries

    small = Demo(
        lambda: census_description(5000, mapped=True),
        lambda: census_batches(5000),
        5000,
        lambda: census_boundaries(5000, seed=1),
    )
    monkeypatch.setattr(demo, "DEMOS", {"census": small, "spudlandia": demo.DEMOS["spudlandia"]})
    loads = []
    original = load_version.load

    def counted(*arguments, **options):
        loads.append(threading.get_ident())
        return original(*arguments, **options)

    monkeypatch.setattr(load_version, "load", counted)
    return loads


def quiet(_name, _rows):
    return lambda _what, _done, _of: None


@pytest.mark.slow
def test_the_demo_is_built_on_first_use_and_found_afterwards(small_demo, tmp_path):
    assert demo.make_demo(tmp_path / "demo", quiet)
    assert not demo.make_demo(tmp_path / "demo", quiet)
    assert Workspace(tmp_path / "demo").ids() == ["census", "spudlandia"]
    shapes = Workspace(tmp_path / "demo").stored("census").dataset.boundaries
    assert [len(shapes[name].shapes) for name in ("region", "district", "area")] == [11, 110, 110]
    assert len(small_demo) == 2


@pytest.mark.slow
def test_two_who_find_it_missing_build_it_once(small_demo, tmp_path):
    threads = [threading.Thread(target=demo.make_demo, args=(tmp_path / "demo", quiet)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(small_demo) == 2


def test_a_demo_of_another_arithmetic_is_refused_with_what_to_do(small_demo, tmp_path):
    """Wrong alternative: "Found the demo workspace", and then no dataset is served."""
    folder = tmp_path / "demo"
    demo.make_demo(folder, quiet)
    for version in folder.glob("datasets/census/*/version.json"):
        version.write_text('{"arithmetic": 1, "defaults": 1}', "utf-8")
    with pytest.raises(WorkspaceUnusable) as refused:
        demo.make_demo(folder, quiet)
    assert str(folder) in refused.value.message
    assert "Delete that folder" in refused.value.advice
    assert len(small_demo) == 2


def test_records_of_real_people_never_come_beside_the_demo(small_demo, town, tmp_path, monkeypatch):
    """The wrong alternative said "loading into the demo workspace", and did."""
    from discreet.release.load_cautions import load_with_cautions
    from discreet.workspace.versions.load_version import LoadJob

    demo.make_demo(tmp_path / "demo", quiet)
    monkeypatch.setattr(demo, "default_folder", lambda: tmp_path / "default")
    for folder in (tmp_path / "demo", tmp_path / "default"):
        with pytest.raises(BadRequest, match="--workspace my-tables"):
            load_with_cautions(LoadJob(folder, town.description, town.records))
    assert Workspace(tmp_path / "demo").ids() == ["census", "spudlandia"]
    assert not (tmp_path / "default").exists()


@pytest.mark.parametrize("name", list(demo.DEMOS))
def test_a_demo_has_the_id_it_is_listed_under_and_the_rows_it_says(name):
    description, batches, rows, _ = demo.DEMOS[name]
    assert tomllib.loads(description())["id"] == name
    assert sum(batch.num_rows for batch in batches()) == rows
