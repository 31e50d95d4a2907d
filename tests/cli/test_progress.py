"""Bars are shown from the first report on, on standard error, and end whatever happens."""

import pytest

from discreet.cli.progress import load_bars, simulation_bar


def test_a_load_that_reports_nothing_shows_nothing(capfd):
    with load_bars() as progress_for:
        progress_for("town", None)
    assert capfd.readouterr() == ("", "")


def test_each_step_of_a_load_has_its_bar(capfd):
    with load_bars() as progress_for:
        report = progress_for("town", 50)
        report("Reading", 50, None)
        report("Storing", 7, 7)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "town: reading" in shown.err
    assert shown.err.count("100%") == 2
    assert "100% 50" in shown.err


def fail(report):
    report(1, 2)
    raise RuntimeError("stop")


def test_a_bar_ends_with_the_computation_that_fails():
    with pytest.raises(RuntimeError, match="stop"), simulation_bar("Simulating") as report:
        fail(report)
