"""What a ledger holds at one moment."""

from fractions import Fraction

import pytest

from discreet.errors import BadRequest
from discreet.ledger.entries import Budget, Charge, LineageEntry
from discreet.ledger.ledger import Ledger

KEY = bytes(range(32))


def test_the_whole_ledger_is_all_budgets_with_lineages_versions_and_the_chain(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    for name in ("b", "a"):
        charge = Charge(name, f"universe {name}", Fraction(1, 4), Fraction(0))
        ledger.charge_version(
            charge, f"town {name}", "1", "f", Budget(name, (Fraction(1), Fraction(1, 10**6)))
        )
    ledger.enter_lineage(LineageEntry("open", "open", "cellkey"))
    whole = ledger.whole()
    assert [(state.name, state.spent[0], neighbours) for state, neighbours in whole.budgets] == [
        ("a", Fraction(1, 4), "add-remove"),
        ("b", Fraction(1, 4), "add-remove"),
    ]
    assert whole.lineages == (
        ("open", "open", "cellkey", ""),
        ("town a", "town a", "dp", "a"),
        ("town b", "town b", "dp", "b"),
    )
    assert whole.versions == (("town a", "1", "a"), ("town b", "1", "b"))
    assert (whole.begun[2], whole.head.position) == (0, 10)
    with pytest.raises(BadRequest, match='knows no budget "c"'):
        ledger.state("c")
