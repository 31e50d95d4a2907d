"""The program as a user meets it: the installed command, a small file, a table, the server.

Nothing here imports Discreet: every test starts a program of the environment under test. That environment is the
one that runs pytest, or the one whose Python `SMOKE_PYTHON` names (`make wheel-test`: the built wheel and what
requirements/serve.txt lists, and nothing else).
"""

import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = [pytest.mark.smoke, pytest.mark.slow]

WHEEL = "SMOKE_PYTHON" in os.environ
PYTHON = Path(os.environ.get("SMOKE_PYTHON", sys.executable))
DISCREET = shutil.which("discreet", path=str(PYTHON.parent)) or "discreet"
COUNT = "value"


def run(*command, cwd):
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=cwd, capture_output=True, encoding="utf-8", timeout=300, check=False)


def answer(*command, cwd):
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder outside the checkout with 400 invented people, described and loaded by the command."""
    folder = tmp_path_factory.mktemp("smoke")
    lines = [f"{person},{'mf'[person % 2]},{('young', 'middle', 'old')[person % 3]}" for person in range(400)]
    (folder / "people.csv").write_text("\n".join(["person,sex,age", *lines]) + "\n", "utf-8")
    answer(DISCREET, "describe", "people.csv", "--out", "dataset.toml", cwd=folder)
    answer(DISCREET, "load", "dataset.toml", "people.csv", "--workspace", "workspace", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def as_csv(folder):
    return table(folder, "csv")


def table(folder, form):
    asked = ("people", "--rows", "sex", "--columns", "age", "--format", form, "--workspace", "workspace")
    return answer(DISCREET, "table", *asked, cwd=folder)


@contextmanager
def served(folder):
    """The port of a running `discreet serve`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [DISCREET, "serve", "--workspace", "workspace", "--port", str(port)]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, encoding="utf-8")
    try:
        assert f"http://127.0.0.1:{port}" in server.stderr.readline()
        yield port
    finally:
        server.kill()
        server.communicate()


def fetched(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as response:
        return response.read().decode("utf-8")


def test_the_program_tells_its_version_and_its_commands_and_the_wheel_is_what_runs(tmp_path):
    asked = "import discreet; print(discreet.__version__, discreet.__file__)"
    told, place = answer(PYTHON, "-c", asked, cwd=tmp_path).strip().split(" ", 1)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", told)
    if WHEEL:
        assert "site-packages" in Path(place).parts
        assert Path(place).is_relative_to(PYTHON.parents[1])
    else:
        assert told == version("discreet")
    told = answer(DISCREET, "--help", cwd=tmp_path)
    assert all(command in told for command in ("describe", "load", "table", "serve", "audit"))


def test_csv_and_json_hold_the_same_protected_numbers(folder, as_csv):
    rows = list(csv.DictReader(io.StringIO(as_csv)))
    document = json.loads(table(folder, "json"))
    assert (document["class"], len(rows)) == ("dataset", 3 * 4)
    assert [int(row[COUNT]) for row in rows] == document[COUNT]


def test_the_server_answers_pages_and_programs(folder, as_csv):
    with served(folder) as port:
        page = fetched(port, "/")
        assert "people" in page
        assert "{" in fetched(port, re.search(r'href="([^"]+\.css[^"]*)"', page).group(1))
        assert json.loads(fetched(port, "/openapi.json"))["paths"]
        again = fetched(port, "/api/datasets/people/table?rows=sex&columns=age&format=csv")
        assert again.splitlines() == as_csv.splitlines()


@pytest.mark.parametrize(("wrong", "advice"), [(("--rows", "sexx"), '"sex"'), (("--no-such-option",), "")])
def test_a_wrong_variable_or_option_is_named_with_what_to_do(folder, wrong, advice):
    done = run(DISCREET, "table", "people", *wrong, "--workspace", "workspace", cwd=folder)
    assert done.returncode == 2
    assert wrong[-1] in done.stderr
    assert advice in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not WHEEL, reason="the checkout has the studies: make wheel-test")
def test_without_the_studies_their_commands_say_what_to_install(tmp_path):
    done = run(DISCREET, "reproduce", "rinott2018", cwd=tmp_path)
    assert done.returncode == 2
    assert "discreet-studies" in done.stderr
