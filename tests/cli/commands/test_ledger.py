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
