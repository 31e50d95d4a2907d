"""The group of all commands: each in its panel, and a mistyped one gets the nearest."""

from discreet.cli.registry import PANELS, command_names


def test_help_shows_every_command_in_its_panel(run_here):
    told = run_here("--help").stdout
    places = [told.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    make_tables = told[places[0] : places[1]]
    assert all(f"│ {name} " in make_tables for name in ("describe", "load", "margins", "table"))
    assert all(f"│ {name} " in told for name in command_names())


def test_a_mistyped_command_is_told_the_nearest(run_here):
    assert "Did you mean 'table'" in run_here("tabel").stderr
