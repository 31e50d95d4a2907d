"""Accounts on the command line: a key is printed once and alone, and a revoked one opens nothing."""

import json


def test_a_key_is_alone_on_standard_output_and_never_listed(run_here, town, tmp_path):
    town.load(tmp_path / "w").close()
    made = run_here("account", "create", "ann", "--role", "analyst", "-w", tmp_path / "w")
    key = made.stdout.strip()
    assert made.returncode == 0
    assert len(made.stdout.split()) == 1
    assert key not in made.stderr
    listed = run_here("account", "list", "--json", "-w", tmp_path / "w")
    assert [(each["account"], each["role"]) for each in json.loads(listed.stdout)] == [("ann", "analyst")]
    assert key not in listed.stdout


def test_a_revoked_key_gets_no_answer(run_here, town, tmp_path):
    town.load(tmp_path / "w").close()
    key = run_here("account", "create", "ann", "-w", tmp_path / "w").stdout.strip()
    asked = ("table", "town", "--rows", "sex", "--json", "-w", tmp_path / "w")
    assert run_here(*asked, DISCREET_KEY=key).returncode == 0
    assert "Revoked ann" in run_here("account", "revoke", "ann", "-w", tmp_path / "w").stderr
    assert run_here(*asked, DISCREET_KEY=key).returncode != 0
    assert "ann  reader  revoked" in run_here("account", "list", "-w", tmp_path / "w").stdout


def test_a_role_that_does_not_exist_is_refused(run_here, tmp_path):
    assert run_here("account", "create", "ann", "--role", "king", "-w", tmp_path).returncode == 2
