"""A command is added in one place: a module of ours, an entry point, or `register`.

The group of all commands: each in its panel, and a mistyped one gets the nearest.
"""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated

import pytest
import typer

from discreet.cli import commands, registry
from discreet.cli.registry import EXAMINE, PANELS, Command, command_names, find_command, register
from discreet.errors import BadOption


def greet(name: Annotated[str, typer.Option(help="Whom.")] = "you") -> None:
    """Say hello."""
    typer.echo(f"Hello {name}")


GREETING = Command(greet, EXAMINE)


@pytest.fixture
def brought(monkeypatch):
    """Pretend that installed packages bring these commands, and no others."""

    def bring(**values):
        points = {name: EntryPoint(name, value, registry.GROUP) for name, value in values.items()}
        monkeypatch.setattr(registry, "_entry_points", lambda: points)

    return bring


@pytest.fixture
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})


def test_every_module_of_the_folder_is_a_command_in_a_known_panel(brought):
    brought()
    files = Path(commands.__path__[0]).glob("*.py")
    modules = {path.stem.replace("_", "-") for path in files} - {"--init--"}
    assert set(command_names()) == modules | commands.SHARED.keys() | registry.STUDIES.keys()
    assert {find_command(name).panel for name in command_names()} == set(PANELS)


@pytest.mark.usefixtures("_nothing_stays")
def test_a_registered_command_is_listed_and_runs(run_here):
    register("greet", GREETING)
    assert "Say hello." in run_here("--help").stdout
    assert run_here("greet", "--name", "Ada").stdout == "Hello Ada\n"


@pytest.mark.usefixtures("_nothing_stays")
def test_a_name_is_given_once():
    with pytest.raises(BadOption, match="already"):
        register("table", GREETING)


def test_no_package_takes_the_place_of_our_command(brought, monkeypatch):
    monkeypatch.setitem(sys.modules, "toy", sys.modules[__name__])
    brought(table="toy:GREETING")
    assert find_command("table").run.__module__ == "discreet.cli.commands.table"


def test_a_broken_package_is_named_and_stops_nothing_else(brought, run_here):
    brought(greet="no_such_package:GREETING")
    assert run_here("--help").returncode == 0
    done = run_here("greet", "--anything")
    assert done.returncode == 2
    assert "no_such_package" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["attack", "bench", "reproduce"])
def test_without_the_studies_a_command_says_what_to_install(brought, run_here, name):
    brought()
    assert f"│ {name} " in run_here("--help").stdout
    done = run_here(name, "rinott2018", "--quick")
    assert done.returncode == 2
    assert 'pip install "discreet-studies"' in done.stderr
    assert "make setup" in done.stderr
    assert done.stdout == ""


def test_the_product_does_not_import_the_studies():
    program = (
        "import sys; sys.modules['discreet_studies'] = None\n"
        "from discreet.cli.registry import by_panel; list(by_panel())"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_help_shows_every_command_in_its_panel(run_here):
    told = run_here("--help").stdout
    places = [told.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    make_tables = told[places[0] : places[1]]
    assert all(f"│ {name} " in make_tables for name in ("describe", "load", "margins", "table"))
    assert all(f"│ {name} " in told for name in command_names())
