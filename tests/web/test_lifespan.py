"""The state of a server: in its folder, or an error that says what to do.

Before it listens a server has counted a table of every dataset: the first reader waits for nothing new.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from discreet.errors import BadOption, WorkspaceUnusable
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.web.audit.chain import verify_log
from discreet.web.lifespan import open_state, warm_up
from discreet.workspace.folder_layout import standalone_log_key
from discreet.workspace.options import read_options

from .conftest import broken_workspace


def test_a_server_writes_into_its_folder_and_without_a_log_less(small_copy, tmp_path, monkeypatch):
    folder = small_copy
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "elsewhere"))
    with open_state(open_registry(folder), read_options(folder)) as state:
        assert state.folder == tmp_path / "elsewhere"
        assert state.log is not None
    with open_state(open_registry(folder), read_options(folder, log="off")) as state:
        assert state.log is None
    assert not (folder / "server").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"log": "perhaps"}, "perhaps"),
        ({"log_addresses": "some"}, "some"),
        ({"log_failure": "x"}, "x"),
        ({"state": "/dev/null/below"}, "cannot write"),
    ],
)
def test_options_that_cannot_be_meant_and_a_folder_that_cannot_be_written_are_refused(
    small_folder, option, said
):
    options = read_options(small_folder, **option)
    with pytest.raises(BadOption, match=said), open_state(open_registry(small_folder), options):
        pass


def test_a_server_of_a_publication_writes_nothing_unless_a_folder_is_named(
    small_folder, tmp_path, monkeypatch
):
    """To write beside what was signed is the wrong alternative; and there is no secret that could seal a log."""
    registry = open_registry(small_folder)
    monkeypatch.setattr(type(registry), "log_key", lambda _registry: None)
    with open_state(registry, read_options(small_folder)) as state:
        assert (state.folder, state.log) == (None, None)
    options = read_options(small_folder, state=str(tmp_path / "state"))
    for _ in range(2):
        with open_state(registry, options) as state:
            state.log.add({"n": 1})
    found = verify_log(tmp_path / "state" / "log", standalone_log_key(tmp_path / "state"))
    assert [each.faults for each in found] == [()]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_an_existing_folder_becomes_private_and_so_are_its_files(small_folder, tmp_path):
    """Wrong alternative: only a new folder is private."""
    place = tmp_path / "state"
    place.mkdir()
    place.chmod(0o755)
    before = os.umask(0o022)
    try:
        options = read_options(small_folder, state=str(place))
        with open_state(open_registry(small_folder), options) as state:
            state.log.add({"n": 1})
        assert os.umask(0o022) == 0o022, "it is as before"
    finally:
        os.umask(before)
    assert place.stat().st_mode & 0o777 == 0o700
    files = [path for path in place.rglob("*") if path.is_file()]
    assert ".jsonl" in {path.suffix for path in files}
    assert not [path for path in files if path.stat().st_mode & 0o077]


def test_every_dataset_is_opened_and_counted_and_one_that_is_damaged_does_not_stop_the_server(
    watched, small_folder, small_settings
):
    for workspace in (
        watched,
        broken_workspace(WorkspaceUnusable("It is damaged.", "Load it."), small_folder),
    ):
        registry = DatasetRegistry(workspace)
        asyncio.run(warm_up(create_app(registry, small_settings), registry))
    assert all(engine.calls for engine in watched.engines.values())
