"""A command imports what it uses: no time is asserted, but the work that is not done."""

import os
import subprocess
import sys

import pytest

RUN = "from discreet.cli.main import run; run()"
#: Each of these takes a good part of a tenth of a second, or more.
HEAVY = {"numpy", "scipy", "duckdb", "pandas", "pyarrow", "fastapi", "sqlalchemy", "altair", "cryptography"}


@pytest.fixture
def imported(tmp_path):
    """The modules that a program has imported when it ends."""

    def modules(program, *words):
        told = tmp_path / "modules"
        before = (
            "import atexit, pathlib, sys\n"
            "place = pathlib.Path(sys.argv.pop())\n"
            "atexit.register(lambda: place.write_text(' '.join(sys.modules)))\n"
        )
        command = [sys.executable, "-c", before + program, *map(str, words), str(told)]
        env = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
        subprocess.run(command, capture_output=True, check=False, env=env)
        return set(told.read_text().split())

    return modules


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["tabel"], ["table", "--nope"], ["table", "--help"], ["attack", "--help"]],
    ids=" ".join,
)
def test_help_and_errors_import_nothing_heavy(imported, words):
    found = imported(RUN, *words)
    assert "discreet.cli.main" in found
    assert not found & HEAVY


def test_a_command_imports_no_other_command(imported):
    found = imported(RUN, "table", "--nope")
    assert {name for name in found if name.startswith("discreet.cli.commands.")} == {
        "discreet.cli.commands.table"
    }


@pytest.mark.slow
def test_a_cell_key_table_imports_only_what_counts_and_protects_it(imported, folder):
    found = imported(RUN, "table", "town", "--rows", "sex", "--columns", "age", "-w", folder)
    assert {"duckdb", "discreet.protect.cell_keys"} <= found
    assert not found & {"scipy", "pandas", "fastapi", "sqlalchemy", "altair"}
    assert not {name for name in found if name.startswith(("discreet.workspace.demo", "discreet.web"))}
    assert not found & {"discreet.workspace.versions.load_version", "discreet.protect.dp_protector"}


def test_import_discreet_imports_nothing_else_of_ours(imported):
    found = imported("import discreet")
    assert not found & HEAVY
    assert {name for name in found if name.startswith("discreet")} == {"discreet"}
