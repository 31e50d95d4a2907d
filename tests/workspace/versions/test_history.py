"""The history of a dataset: sealed, written before a version is served, and of no effect where it is not whole.

Which version a reader means by a word.
"""

import json
import shutil

import pytest

from discreet.errors import UnknownVersion, VersionClosed, WorkspaceUnusable
from discreet.release.load_cautions import load_with_cautions
from discreet.workspace.versions import load_version as load
from discreet.workspace.versions.history import HISTORY, VersionFacts, resolve_version
from discreet.workspace.versions.load_version import LoadJob
from discreet.workspace.workspace import Workspace


@pytest.fixture
def home(town, tmp_path):
    """A town with two versions, of which the first is closed."""
    for version, gone in (("1", 0), ("2", 5)):
        text = town.description.replace('version = "1"', f'version = "{version}"')
        load_with_cautions(LoadJob(tmp_path / "w", text, town.records.slice(gone)))
    return tmp_path / "w" / "datasets" / "town"


def ask(home, version):
    opened = Workspace(home.parents[1])
    try:
        return opened.stored("town", version).digest
    finally:
        opened.close()


def edit(home, change):
    document = json.loads((home / HISTORY).read_text())
    change(document)
    (home / HISTORY).write_text(json.dumps(document))


@pytest.mark.slow
def test_a_closed_version_cannot_be_opened_by_hand(home):
    edit(home, lambda document: document["versions"][0].update(closed=""))
    with pytest.raises(WorkspaceUnusable, match="is unreadable or was changed"):
        ask(home, "1")
    assert ask(home, ""), "the served version answers all the same"


@pytest.mark.slow
def test_the_history_of_another_dataset_is_not_taken(home, town):
    text = town.description.replace('id = "town"', 'id = "city"')
    load_with_cautions(LoadJob(home.parents[1], text, town.records))
    shutil.copy(home.parent / "city" / HISTORY, home / HISTORY)
    with pytest.raises(WorkspaceUnusable):
        ask(home, "1")


@pytest.mark.slow
def test_without_a_history_the_served_version_answers_alone(home):
    (home / HISTORY).unlink()
    assert ask(home, "2") == ask(home, "")
    assert len(Workspace(home.parents[1]).versions("town")) == 1


@pytest.mark.slow
def test_a_load_that_dies_before_its_version_is_served_opens_nothing(home, town, monkeypatch):
    """Wrong alternative: to trust the history alone would answer a version that was never served, beside a close one."""

    def die(_home, _digest):
        raise KeyboardInterrupt

    monkeypatch.setattr(load, "set_current", die)
    text = town.description.replace('version = "1"', 'version = "3"')
    with pytest.raises(KeyboardInterrupt):
        load_with_cautions(LoadJob(home.parents[1], text, town.records.slice(8)))
    with pytest.raises(VersionClosed, match="not compared"):
        ask(home, "3")
    assert ask(home, "2") == ask(home, "")


@pytest.mark.slow
def test_the_time_of_the_first_load_stays(home, town):
    def times():
        return {v.version: v.loaded for v in Workspace(home.parents[1]).versions("town")}

    once = times()
    assert all(time.endswith("Z") for time in once.values())
    load_with_cautions(LoadJob(home.parents[1], town.description, town.records))
    assert times() == once


ONE = VersionFacts("a" * 32, "2021", "", current=False, closed="")
TWO = VersionFacts("b" * 32, "aaaaaaaa", "", current=True, closed="")


def test_a_digest_wins_over_a_name_that_looks_like_one():
    assert resolve_version((ONE, TWO), "aaaaaaaa") == ONE.digest
    assert resolve_version((TWO,), "aaaaaaaa") == TWO.digest


def test_a_name_of_two_versions_and_one_of_none_are_refused_with_what_to_name():
    twin = VersionFacts("c" * 32, "2021", "", current=False, closed="")
    with pytest.raises(UnknownVersion, match="2 versions") as told:
        resolve_version((ONE, twin), "2021")
    assert "aaaaaaaa" in told.value.advice
    assert "cccccccc" in told.value.advice
    for word in ("7", ONE.digest[:7]):
        with pytest.raises(UnknownVersion, match=f'no version "{word}"'):
            resolve_version((ONE,), word)
