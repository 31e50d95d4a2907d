"""The picture of a budget: every table with its epsilon and error; of too many the dearest."""

from discreet.pictures.budget import MOST_LINES, budget_over_tables


def found(tables):
    entries = [
        {"variables": [f"v{n}"] if n else [], "epsilon": 0.01 * n + 0.01, "expected_abs_error": 5.0}
        for n in range(tables)
    ]
    cap, spent = {"epsilon": 2.0, "delta": 1e-9}, {"epsilon": 0.5, "delta": 0.0}
    return {"tables": entries, "cap": cap, "spent": spent, "family": "census", "neighbours": "add-remove"}


def drawn(part):
    """The names of the tables in a picture, wherever its data stand."""
    if isinstance(part, dict):
        own = {part["table"]} if "epsilon" in part and "table" in part else set()
        return own.union(*map(drawn, part.values()))
    return set().union(*map(drawn, part)) if isinstance(part, list) else set()


def test_the_grand_total_has_a_name_and_the_cap_is_told():
    picture = budget_over_tables(found(3)).to_dict()
    assert drawn(picture) == {"(grand total)", "v1", "v2"}
    assert "3 tables" in picture["title"]["text"]
    assert "lifetime epsilon 2, spent 0.5" in picture["title"]["subtitle"]


def test_of_many_tables_the_dearest_are_shown_and_that_is_said():
    picture = budget_over_tables(found(MOST_LINES + 5)).to_dict()
    assert len(drawn(picture)) == MOST_LINES
    assert "v1" not in drawn(picture)
    assert f"the {MOST_LINES} dearest are shown" in picture["title"]["text"]
