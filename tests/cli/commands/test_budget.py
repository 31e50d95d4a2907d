"""What a custodian is told about money that cannot be spent twice: before a load, after it, and when it is refused."""

from __future__ import annotations

import pytest

RECORDS = "person,sex\n" + "".join(f"p{n},{1 + n % 2}\n" for n in range(60))
TOWN = """
id = "hamlet"
label = "A hamlet"
version = "{version}"
id_column = "person"
[[variable]]
name = "sex"
categories = ["1", "2"]
[protection]
method = "dp"
[protection.noise]
family = "laplace"
[protection.universe]
variables = ["sex"]
[protection.budget]
family = "valley"
epsilon = 1.0
{more}
"""


@pytest.fixture
def say(tmp_path, run_here):
    """Write a description and run a command on it, in a workspace of this test."""
    (tmp_path / "people.csv").write_text(RECORDS)

    def run(command, version="1", more=""):
        path = tmp_path / "dataset.toml"
        path.write_text(TOWN.format(version=version, more=more))
        records = [tmp_path / "people.csv"] if command == "load" else []
        return run_here(command, path, *records, "-w", tmp_path / "w")

    return run


def test_the_budget_of_a_draft_warns_that_its_load_would_leave_nothing(say, tmp_path):
    told = say("budget").stdout
    assert "Loading it leaves nothing" in told
    assert "cap_epsilon" in told
    assert not (tmp_path / "w").exists()
    assert "Loading it leaves epsilon 2." in say("budget", more="cap_epsilon = 3.0\ncap_delta = 1e-6").stdout


def test_the_budget_of_a_draft_knows_what_its_family_has_spent(say):
    assert say("load").returncode == 0
    told = say("budget", version="2").stdout
    assert "spent   epsilon 1," in told
    assert "a load of anything new would be refused" in told


def test_a_load_tells_what_is_left(say):
    assert "nothing of it is left" in say("load").stderr


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


def test_a_share_is_for_accounts_that_may_spend_it(say, tmp_path, run_here):
    more = "cap_epsilon = 3.0\ncap_delta = 1e-6\nanswer_cost = 0.25"
    assert say("load", more=more).returncode == 0
    for name, role in (("rob", "reader"), ("ann", "analyst")):
        run_here("account", "create", name, "--role", role, "-w", tmp_path / "w")
    done = {
        name: run_here("ledger", "hamlet", "--allow", name, "--loss", "0.5", "-w", tmp_path / "w")
        for name in ("rob", "ann", "eve")
    }
    assert [each.returncode for each in done.values()] == [3, 0, 2]
    assert "needs the role analyst" in done["rob"].stderr
    told = run_here("ledger", "hamlet", "-w", tmp_path / "w").stdout
    assert told.startswith('Budget "')
    assert "(custodian)" in told
