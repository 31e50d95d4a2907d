"""Workspaces of earlier programs: a version that was loaded never changes a number.

`workspace-0.1.tar.xz` was made by the program before versions had revisions, and its answers were written down by that
program: a census with a rule, a survey, and a dp dataset with an account and a paid answer.
"""

import json
import tarfile
from pathlib import Path

import pytest

from discreet.workspace.workspace import Workspace

TABLES = {
    "town sex x age": ("town", "--rows", "sex", "--columns", "age"),
    "town withheld areas": ("town", "--rows", "area", "--columns", "age", "--layers", "job"),
    "town levels": ("town", "--rows", "area", "--columns", "sex", "--levels", "area=region,area"),
    "town fitted": ("town", "--rows", "age", "--columns", "job", "--additivity", "fitted"),
    "town interior": ("town", "--rows", "age", "--columns", "job", "--additivity", "interior"),
    "town filtered": ("town", "--rows", "job", "--filter", "area=N1,S1", "--no-totals"),
    "town-dp declared": ("town-dp", "--rows", "area", "--columns", "age"),
    "town-dp sums": ("town-dp", "--rows", "region", "--group", "age=adult+old", "--columns", "age"),
    "town-dp paid": ("town-dp", "--rows", "sex", "--columns", "job", "--layers", "area"),
    "survey": ("spudlandia", "--rows", "state", "--columns", "likes"),
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(Path(__file__).with_name("workspace-0.1.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    (folder / "workspace-0.1").chmod(0o700)
    (folder / "workspace-0.1" / "secret").chmod(0o600)
    return folder / "workspace-0.1"


@pytest.mark.parametrize("name", TABLES)
def test_a_version_of_an_earlier_program_has_the_same_numbers_and_statuses(golden, earlier, run_here, name):
    done = run_here("table", *TABLES[name], "--format", "csv", "-w", earlier)
    assert done.returncode == 0, done.stderr
    golden.check(name, done.stdout.splitlines())


def test_what_an_earlier_program_has_spent_is_still_spent(golden, earlier, run_here):
    told = json.loads(run_here("ledger", "town-dp", "--json", "-w", earlier).stdout)
    golden.check("ledger", told)


def test_a_workspace_of_an_earlier_program_is_read_and_not_written_to(earlier):
    before = {path: path.read_bytes() for path in earlier.rglob("*") if path.is_file()}
    workspace = Workspace(earlier)
    for name in workspace.ids():
        workspace.stored(name)
    workspace.close()
    after = {path: path.read_bytes() for path in earlier.rglob("*") if path.is_file()}
    assert {path for path in after if not path.name.startswith("ledger.sqlite-")} == set(before)
    assert all(after[path] == raw for path, raw in before.items())
