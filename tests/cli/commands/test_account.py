"""Accounts on the command line: a key is printed once and alone, and a revoked one opens nothing."""

import json


def test_a_key_is_alone_on_standard_output_and_never_listed(run_here, town_folder, tmp_path):
    nowhere = run_here("account", "list", "-w", tmp_path / "elsewhere")
    assert (nowhere.returncode, "There is no folder" in nowhere.stderr) == (4, True)
    nobody = run_here("account", "list", "-w", town_folder)
    assert (nobody.stdout, "account create NAME" in nobody.stderr) == ("", True)
    made = run_here("account", "create", "ann", "--role", "analyst", "-w", town_folder)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert len(made.stdout.split()) == 1
    assert key not in made.stderr
    listed = run_here("account", "list", "--json", "-w", town_folder)
    assert [(each["account"], each["role"]) for each in json.loads(listed.stdout)] == [("ann", "analyst")]
    assert key not in listed.stdout


def test_a_revoked_key_gets_no_answer(run_here, town_folder):
    key = run_here("account", "create", "ann", "-w", town_folder).stdout.strip()
    asked = ("table", "town", "--rows", "sex", "--json", "-w", town_folder)
    assert run_here(*asked, DISCREET_KEY=key).returncode == 0
    assert "Revoked ann" in run_here("account", "revoke", "ann", "-w", town_folder).stderr
    assert run_here(*asked, DISCREET_KEY=key).returncode != 0
    assert "ann  reader  revoked" in run_here("account", "list", "-w", town_folder).stdout


def test_a_role_that_does_not_exist_is_refused(run_here, tmp_path):
    assert run_here("account", "create", "ann", "--role", "king", "-w", tmp_path).returncode == 2


def test_keys_have_scopes_and_an_end_and_are_revoked_one_by_one(run_here, town_folder):
    folder = ("-w", town_folder)
    run_here("account", "create", "ann", "--role", "analyst", *folder)
    made = run_here("account", "key", "ann", "--role", "reader", "--dataset", "town", "--days", "30", *folder)
    assert made.returncode == 0
    keys = json.loads(run_here("account", "list", "--json", *folder).stdout)[0]["keys"]
    assert [(each["role"], each["datasets"]) for each in keys] == [("analyst", None), ("reader", ["town"])]
    assert "key " + keys[1]["id"] in run_here("account", "list", *folder).stdout
    assert run_here("account", "revoke", "ann", "--key", keys[1]["id"], *folder).returncode == 0
    asked = ("table", "town", "--rows", "sex", "--json", *folder)
    assert run_here(*asked, DISCREET_KEY=made.stdout.strip()).returncode != 0
    assert run_here("account", "key", "ann", "--role", "custodian", *folder).returncode == 2
    assert run_here("account", "key", "ann", "--days", "0", *folder).returncode == 2
    assert "without a key" in run_here("account", "create", "olga@office", "--no-key", *folder).stderr
