"""What a custodian is told about money that cannot be spent twice: before a load, after it, and when it is refused."""

from __future__ import annotations

import pytest


def test_the_budget_of_a_draft_warns_that_its_load_would_leave_nothing(say, tmp_path):
    told = say("budget").stdout
    assert "Loading it costs epsilon 1, delta 3e-18 and leaves nothing" in told
    assert "cap_epsilon" in told
    assert not (tmp_path / "w").exists()
    told = say("budget", more="cap_epsilon = 3.0\ncap_delta = 1e-6").stdout
    assert "Loading it costs epsilon 1, delta 3e-18 and leaves epsilon 2," in told


def test_a_draft_without_a_cap_is_told_what_to_write(say):
    """A default would be a promise for the budget's whole life that nobody has made."""
    for command in ("budget", "load"):
        refused = say(command, more="")
        assert refused.returncode == 2
        assert "lacks `cap_epsilon`" in refused.stderr
        assert "Write cap_epsilon = 4.0" in refused.stderr


def test_the_budget_of_a_draft_knows_what_its_family_has_spent(say):
    assert say("load").returncode == 0
    told = say("budget", version="2").stdout
    assert "spent   epsilon 1," in told
    assert "a load of anything new would be refused" in told


def test_a_load_tells_what_is_left(say):
    assert "nothing of it is left" in say("load").stderr


@pytest.mark.slow
def test_a_load_that_is_not_covered_tells_a_custodian_price_and_rest(say):
    assert say("load", more="cap_epsilon = 1.5\ncap_delta = 1e-6").returncode == 0
    refused = say("load", version="2", more="cap_epsilon = 1.5\ncap_delta = 1e-6")
    assert refused.returncode == 5
    assert "costs epsilon 1," in refused.stderr
    assert "epsilon 0.5," in refused.stderr
    assert "coarser table" not in refused.stderr
    assert "cannot be raised" in refused.stderr
    again = say("load", more="cap_epsilon = 1.5\ncap_delta = 1e-6")
    assert "0.5 of it is left" in again.stderr


def test_a_draft_that_is_not_there_is_a_missing_file(tmp_path, run_here):
    done = run_here("budget", tmp_path / "nothing.toml")
    assert done.returncode == 4
    assert "discreet describe" in done.stderr
