"""What a budget has promised and has left, before a load and after it."""

from fractions import Fraction

import pytest

from discreet.answer.budgets import budget_before, budget_left, budget_of, ledger_of, open_share
from discreet.errors import BadRequest, NotAllowed
from discreet.model import defaults, terms
from discreet.model.dataset_toml import parse_dataset
from discreet.workspace.ledger_place import accounts_of
from discreet.workspace.lineage import lineage_defaults
from discreet.workspace.workspace import Workspace


@pytest.mark.slow
def test_a_budget_is_told_before_a_load_by_the_lineage_s_own_defaults(private_town, monkeypatch):
    text = private_town.description.replace("delta = 1e-9\n", "")
    private_town.load(private_town.folder / "other", text).close()
    monkeypatch.setitem(
        defaults.FORMER, 3, lambda document: document["protection"]["budget"].setdefault("delta", 1e-9)
    )
    told = budget_before(private_town.folder / "other", text)
    assert lineage_defaults(private_town.folder / "other", text) == 2
    assert told["family"] == "town"
    assert terms.parse_terms(parse_dataset(text, 1).protection.budget).delta == pytest.approx(1e-9)


def test_a_budget_tells_what_the_load_has_spent_and_a_share_is_opened_to_analysts_only(private_town):
    accounts = accounts_of(private_town.folder)
    for name, role in (("ann", "analyst"), ("bob", "reader")):
        accounts.create(name, role)
    stored = Workspace(private_town.folder).stored("town")
    assert budget_of(stored)["spent"]["epsilon"] == pytest.approx(4, abs=0.01)
    assert "town" in budget_left(stored)
    share = (Fraction(1), Fraction(1, 10**9))
    open_share(stored, "ann", share)
    assert [each["account"] for each in ledger_of(stored)["accounts"]] == ["ann"]
    with pytest.raises(NotAllowed, match="analyst"):
        open_share(stored, "bob", share)
    with pytest.raises(BadRequest, match='no account "anne"'):
        open_share(stored, "anne", share)


def test_a_dataset_of_cell_keys_has_no_budget(town_workspace):
    stored = town_workspace.stored("town")
    assert budget_left(stored) is None
    with pytest.raises(BadRequest, match="no privacy budget"):
        budget_of(stored)
