"""Every parameter of every family is an option of the command."""

from __future__ import annotations

from discreet.cli.commands.design import make_design
from discreet.noise.families import families


def test_an_epsilon_that_maxent_does_not_have_says_where_to_audit():
    found = make_design("maxent", {"D": 5, "V": 3, "symmetric": True, "epsilon": 0.25}, 2**32, None).document
    assert found["privacy"]["epsilon"] == 0.25
    assert "epsilon" not in found["parameters"]


def test_every_parameter_has_one_option_with_its_meaning_and_its_families(run_here):
    shown = " ".join(run_here("design", "--help", COLUMNS="200").stdout.split())
    for family in families():
        for parameter in family.parameters:
            assert f"--{parameter.name.replace('_', '-')}" in shown
    assert run_here("design", "laplace", "--no-such", "1").returncode == 2
