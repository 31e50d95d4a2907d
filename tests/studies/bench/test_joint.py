"""Joint universes: the errors that docs quote are those of the plans that are made."""

from discreet_studies.bench import joint


def test_the_demo_has_the_errors_that_docs_quote():
    by_tables, by_cells = joint.census()
    assert round(by_tables["expected_error"], 1) == 10.5
    assert round(by_cells["expected_error"], 1) == 7.7


def test_a_description_of_many_margins_is_planned():
    """Wrong alternative: shares of their own, which a plan without delta has."""
    (gaussian, pure) = joint.planning(1)
    assert gaussian["what"].startswith("plan of 40 margins")
    assert pure["what"].endswith("delta 0")
