"""`discreet publish` and `discreet serve --published`, as a custodian runs them."""

import json

import pytest

from discreet.model.request import TableRequest
from discreet.web import run as web_run

SECTION = '\n[publish]\nvariables = ["sex", "age"]\n'


@pytest.fixture(scope="module")
def published(town, tmp_path_factory):
    folder = tmp_path_factory.mktemp("publish") / "w"
    town.load(folder, town.description + SECTION).close()
    return folder


def test_a_dry_run_tells_how_much_and_writes_nothing(run_here, published, tmp_path):
    told = run_here("publish", "town", "--to", tmp_path / "tables", "--dry-run", "--json", "-w", published)
    found = json.loads(told.stdout)
    assert (len(found["tables"]), found["files"], found["refused"]) == (3, 7, [])
    assert not (tmp_path / "tables").exists()
    words = run_here("publish", "town", "--to", tmp_path / "tables", "--dry-run", "-w", published).stdout
    assert "3 tables would be published: 7 files" in words
    site = ("publish", "town", "--to", tmp_path / "site", "--site", "--dry-run", "--json", "-w", published)
    assert json.loads(run_here(*site).stdout)["files"] > 20


def test_too_much_is_refused(run_here, published, tmp_path):
    refused = run_here("publish", "town", "--to", tmp_path / "t", "--most-files", "2", "-w", published)
    assert refused.returncode == 3
    assert "7 files" in refused.stderr
    assert not (tmp_path / "t").exists()


def test_what_is_published_is_served_without_a_workspace(run_here, published, tmp_path, monkeypatch):
    tables, key = tmp_path / "tables", tmp_path / "key.pem"
    told = json.loads(run_here("publish", "town", "--to", tables, "--json", "-w", published).stdout)
    assert (told["tables"], told["written"], told["changed"]) == (3, 5, True)
    assert run_here("public-key", "--out", key, "-w", published).returncode == 0
    served = []
    monkeypatch.setattr(web_run, "serve", lambda *given: served.append(given))
    monkeypatch.setenv("DISCREET_WORKSPACE", str(tmp_path / "nowhere"))
    assert run_here("serve", "--published", tables, "--public-key", key, "--port", "8123").returncode == 0
    unchecked = run_here("serve", "--published", tables)
    assert "was not checked" in unchecked.stderr.replace("\n", " ")
    (doors, options), _ = served
    assert options.port == 8123
    assert doors.door("town").release(TableRequest("town", ("sex",))).value("_T") is not None


def test_wrong_options_of_serve_are_refused(run_here, published, tmp_path):
    tables = tmp_path / "tables"
    for given in (
        ("--public-key", tables),
        ("--published", tables, "-w", published),
    ):
        assert run_here("serve", *given).returncode == 2
    assert run_here("serve", "--published", tables).returncode == 70
