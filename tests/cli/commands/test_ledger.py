"""The ledger of a budget is shown and opened to accounts that may spend it."""

from __future__ import annotations

import pytest


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_statement_is_made_and_checked_without_a_workspace(say, tmp_path, run_here):
    assert say("load").returncode == 0
    made = run_here("ledger", "statement", "--out", tmp_path / "s.html", "-w", tmp_path / "w")
    assert made.returncode == 0, made.stderr
    assert run_here("public-key", "-o", tmp_path / "key.pem", "-w", tmp_path / "w").returncode == 0
    (tmp_path / "w").rename(tmp_path / "away")
    checked = run_here(
        "ledger", "verify", tmp_path / "s.html", "--public-key", tmp_path / "key.pem", "--json"
    )
    assert checked.returncode == 0, checked.stderr
    assert "add up to epsilon" in checked.stdout
    assert "need the secret" in checked.stdout
    page = (tmp_path / "s.html").read_text("utf-8")
    (tmp_path / "s.html").write_text(page.replace('"entries": 5', '"entries": 6'), "utf-8")
    forged = run_here("ledger", "verify", tmp_path / "s.html", "--public-key", tmp_path / "key.pem")
    assert forged.returncode != 0
    wrong = run_here("ledger", "statement", "--out", tmp_path / "s.pdf", "-w", tmp_path / "away")
    assert "neither HTML nor JSON" in wrong.stderr
