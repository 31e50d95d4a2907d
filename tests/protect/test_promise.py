"""Promises in words: the numbers of the exact audit, rounded up; exact counts are refused, and weak noise is told."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import parse_terms
from discreet.model.request import TableRequest
from discreet.model.universe import parse_universe
from discreet.model.variable import Category, Variable
from discreet.noise import laplace, maxent
from discreet.noise.table import NoiseRow, NoiseTable, keep_zero
from discreet.privacy.audit import delta
from discreet.protect import promise as promises
from discreet.protect.plan import make_plan
from discreet.release.load_cautions import load_with_cautions
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import LoadJob, noise_for
from discreet.workspace.workspace import Workspace

NOISE = NoiseTable(7, (NoiseRow((0,), (7,)), NoiseRow((-1, 0, 1), (2, 5, 7))), family="hand")
PEOPLE = Dataset("people", "People", (Variable("sex", "Sex", (Category("1", "Male"),)),), "id")


def test_a_stated_delta_is_never_below_the_audited_one():
    (stated,) = [
        sentence for sentence in promises.promise(NOISE, PEOPLE) if "differentially private" in sentence
    ]
    worst, above = (float(part.split(")")[0]) for part in stated.split("(1, ")[1:])
    exact = delta(NOISE, epsilon=1.0)
    assert Fraction(worst) >= exact > above
    assert worst == pytest.approx(float(exact), rel=0.01)
    assert float(f"{float(exact):.3g}") < exact  # 5/7: the nearest three figures would promise too much


def test_tables_of_equal_integers_keep_their_own_parameters():
    """Equality of noise tables is that of their integers: a sentence must not be remembered by it."""
    first, second = (
        NoiseTable(NOISE.modulus, NOISE.rows, family="hand", parameters={"V": V}) for V in (2, 3)
    )
    assert first == second
    assert "(V = 2)" in promises.promise(first, PEOPLE)[0]
    assert "(V = 3)" in promises.promise(second, PEOPLE)[0]


def test_the_same_number_in_every_table_is_promised_only_where_totals_keep_their_own_noise():
    same = "The same people show the same number in every table."
    assert same in promises.promise(NOISE, PEOPLE, "independent")[-1]
    assert same not in promises.promise(NOISE, PEOPLE, "fitted")[-1]


def test_under_dp_the_lifetime_cap_and_the_noise_of_every_margin_are_told(town):
    dataset = parse_dataset(town.description)
    terms = parse_terms({"name": "census", "epsilon": 1.0, "cap_epsilon": 3.0, "delta": 1e-9})
    plan = make_plan(
        dataset,
        parse_universe({"variables": ["sex", "age"], "up_to": 1}, dataset),
        terms,
        {"family": "laplace"},
    )
    told = " ".join(promises.dp_promise(plan))
    assert 'by this workspace under the budget "census"' in told
    assert "stay within epsilon 3 and delta 3e-09" in told
    assert f"Every cell of {plan.d} released tables, empty ones included" in told
    other = replace(plan, terms=replace(terms, neighbours="replace-one", invariants=("n",)))
    told = " ".join(promises.dp_promise(other))
    assert "delta 3e-09, for neighbours that agree on every number that one of these datasets" in told


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
        assert promises.largest_exact([table]) == slow
    kept = keep_zero(maxent(D=5, V=3, js=2, modulus=2**32))
    assert promises.largest_exact([kept]) < 1  # not the row of zero, which always stays zero


def test_exact_counts_under_the_name_of_noise_are_refused(private_town, tmp_path):
    """At epsilon 1,000 every count would be published as it is, under "randomly adjusted"."""
    with pytest.raises(
        BadDescription, match=r"exact with probability 99\.9999999 %, and max_exact of the budget is 0\.9"
    ):
        load_with_cautions(
            LoadJob(tmp_path / "w", at(private_town.description, 1000.0), private_town.records)
        )
    assert not (tmp_path / "w").exists()


def test_the_limit_is_declared_and_holds_at_its_edge(private_town):
    plan = noise_for(parse_dataset(at(private_town.description, 20.0)))
    found = max(float(promises.largest_exact([table.noise])) for table in plan.tables)
    assert 0.5 < found < 0.9
    noise_for(parse_dataset(at(private_town.description, 20.0, f"\nmax_exact = {found + 0.001:.3f}")))
    with pytest.raises(BadDescription, match="max_exact"):
        noise_for(parse_dataset(at(private_town.description, 20.0, f"\nmax_exact = {found - 0.001:.3f}")))


def test_a_custodian_is_warned_from_epsilon_5_on(private_town, tmp_path):
    plan = noise_for(parse_dataset(private_town.description))
    assert promises.noise_cautions(plan) == ()
    almost = replace(plan, terms=replace(plan.terms, epsilon=Fraction("4.999")))
    assert promises.noise_cautions(almost) == ()
    report = load_with_cautions(
        LoadJob(tmp_path / "w", at(private_town.description, 5.0), private_town.records)
    )
    assert "a factor of 148" in report.cautions[0]


def test_under_the_cell_key_method_little_noise_is_cautioned_and_loaded():
    def keeps(share):
        row = NoiseRow((-1, 0, 1), ((100 - share) // 2, (100 + share) // 2, 100))
        return keep_zero(NoiseTable(100, (row,)))

    assert promises.noise_cautions(keeps(86)) == ()  # what offices do
    assert "with probability 98 %" in promises.noise_cautions(keeps(98))[0]
    assert promises.change_sentence((keeps(86),)) == (
        "The noise changes a count above zero with a probability of at least 14 %."
    )


def test_empty_cells_that_mostly_stay_empty_are_no_exact_counts():
    """The wrong alternative takes the row of zero, and says that 99 % of counts are true."""
    perturbed = maxent(D=5, V=3, js=2, made_up=0.01, dropped=0.02, modulus=2**32)
    kept = keep_zero(maxent(D=5, V=3, js=2, modulus=2**32))
    assert promises.largest_exact([perturbed]) > Fraction(98, 100)
    assert promises.noise_cautions(perturbed) == ()
    assert promises.change_sentence((perturbed,)) == promises.change_sentence((kept,))


@pytest.mark.slow
def test_the_note_of_a_table_says_how_often_its_noise_changes_a_count(town_workspace, private_town):
    notes = []
    for workspace in (town_workspace, Workspace(private_town.folder)):
        stored = workspace.stored("town")
        changed = 1 - promises.largest_exact(stored.protector.tables)
        release = release_table(stored, TableRequest("town", ("sex",), ("age",)))
        notes += [note for note in release.notes if "The noise changes" in note]
        share = float(notes[-1].split("at least ")[1].split(" %")[0])
        assert share <= 100 * changed < share + 1
    assert len(set(notes)) == 2


def test_small_errors_of_margins_are_refused(private_town):
    terms = noise_for(parse_dataset(private_town.description)).terms
    promises.refuse_small_errors(terms, [0.1, 3.0])
    with pytest.raises(BadDescription, match="at least 95 % of counts would be exact"):
        promises.refuse_small_errors(terms, [3.0, 0.04999])
