"""A release never says what its noise does not do: exact counts are refused, weak noise is told, the note follows."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.load import load_dataset
from discreet.answer.pipeline import release_table
from discreet.errors import BadDescription
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent
from discreet.noise.kept_zero import with_kept_zero
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect.exactness import changed_sentence, largest_exact, noise_cautions, refuse_small_errors
from discreet.workspace.load import noise_of
from discreet.workspace.workspace import Workspace


def at(description, epsilon, more=""):
    return description.replace("epsilon = 4.0", f"epsilon = {epsilon}{more}", 1).replace(
        "cap_epsilon = 9.0", "cap_epsilon = 2000.0"
    )


def test_the_probability_is_that_of_the_integers_beside_the_slow_way():
    for table in (
        laplace(epsilon=0.3, modulus=2**64),
        maxent(D=5, V=3, js=2, modulus=2**32),
        NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),)),
    ):
        slow = max(row.probabilities().get(0, Fraction(0)) for row in table.rows[table.keeps_zero :])
        assert largest_exact([table]) == slow
    kept = with_kept_zero(maxent(D=5, V=3, js=2, modulus=2**32))
    assert largest_exact([kept]) < 1  # not the row of zero, which always stays zero


def test_exact_counts_under_the_name_of_noise_are_refused(private_town, tmp_path):
    """At epsilon 1,000 every count would be published as it is, under "randomly adjusted"."""
    with pytest.raises(
        BadDescription, match=r"exact with probability 99\.9999999 %, and max_exact of the budget is 0\.9"
    ):
        load_dataset(tmp_path / "w", at(private_town.description, 1000.0), private_town.records)
    assert not (tmp_path / "w").exists()


def test_the_limit_is_declared_and_holds_at_its_edge(private_town):
    plan = noise_of(parse_dataset(at(private_town.description, 20.0)))
    found = max(float(largest_exact([table.noise])) for table in plan.tables)
    assert 0.5 < found < 0.9
    noise_of(parse_dataset(at(private_town.description, 20.0, f"\nmax_exact = {found + 0.001:.3f}")))
    with pytest.raises(BadDescription, match="max_exact"):
        noise_of(parse_dataset(at(private_town.description, 20.0, f"\nmax_exact = {found - 0.001:.3f}")))


def test_a_custodian_is_warned_from_epsilon_5_on(private_town, tmp_path):
    plan = noise_of(parse_dataset(private_town.description))
    assert noise_cautions(plan) == ()
    almost = replace(plan, terms=replace(plan.terms, epsilon=Fraction("4.999")))
    assert noise_cautions(almost) == ()
    said = []
    load_dataset(tmp_path / "w", at(private_town.description, 5.0), private_town.records, caution=said.append)
    assert "a factor of 148" in said[0]


def test_under_the_cell_key_method_little_noise_is_cautioned_and_loaded():
    def keeps(share):
        row = NoiseRow((-1, 0, 1), ((100 - share) // 2, (100 + share) // 2, 100))
        return with_kept_zero(NoiseTable(100, (row,)))

    assert noise_cautions(keeps(86)) == ()  # what offices do
    assert "with probability 98 %" in noise_cautions(keeps(98))[0]
    assert changed_sentence([keeps(86)]) == (
        "The noise changes a count above zero with a probability of at least 14 %."
    )


def test_empty_cells_that_mostly_stay_empty_are_no_exact_counts():
    """The wrong alternative takes the row of zero, and says that 99 % of counts are true."""
    perturbed = maxent(D=5, V=3, js=2, made_up=0.01, dropped=0.02, modulus=2**32)
    kept = with_kept_zero(maxent(D=5, V=3, js=2, modulus=2**32))
    assert largest_exact([perturbed]) > Fraction(98, 100)
    assert noise_cautions(perturbed) == ()
    assert changed_sentence([perturbed]) == changed_sentence([kept])


@pytest.mark.slow
def test_the_note_of_a_table_says_how_often_its_noise_changes_a_count(town_workspace, private_town):
    request = TableRequest("town", ("sex",), ("age",))
    by_keys = release_table(town_workspace.stored("town"), request)
    by_budget = release_table(Workspace(private_town.folder).stored("town"), request)
    stored = (town_workspace.stored("town"), Workspace(private_town.folder).stored("town"))
    release_tables = [each.protector.tables for each in stored]
    for release in (by_keys, by_budget):
        changed = 1 - largest_exact(release_tables[release is by_budget])
        (told,) = [note for note in release.notes if "The noise changes" in note]
        share = float(told.split("at least ")[1].split(" %")[0])
        assert share <= 100 * changed < share + 1
    assert by_keys.notes[0] != by_budget.notes[0]


def test_small_errors_of_margins_are_refused(private_town):
    terms = noise_of(parse_dataset(private_town.description)).terms
    refuse_small_errors(terms, [0.1, 3.0])
    with pytest.raises(BadDescription, match="at least 95 % of counts would be exact"):
        refuse_small_errors(terms, [3.0, 0.04999])
