"""Many margins of a dataset at once: charged before a record is read, keyed, repeatable, and true to their plan."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadDescription, BadRequest, BudgetSpent, Refused, TooManyCells, UnknownVariable
from discreet.ledger.ledger import Ledger
from discreet.margins import optimum
from discreet.release.joint_margins import JointMargins, dataset_margins
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

METHODS = ("efron-stein", "independent", "independent-consistent", "optimum")


def wish(folder, text="sex*age,age*job", method="optimum", epsilon=1.0, delta=0.0, weights="cells"):
    stored = Workspace(folder).stored("town")
    return JointMargins.of(stored, dataset_margins(stored.dataset, text), method, epsilon, delta, weights)


def released(folder, *margins, **wanted):
    return wish(folder, *margins, **wanted).release().document()


def margin_of(document, name):
    return np.array(document["runs"][0]["margins"][name])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_margins_are_released_charged_and_free_when_asked_again(private_town, method, spent):
    before = spent(private_town.folder)
    first = released(private_town.folder, method=method)
    assert spent(private_town.folder) - before == pytest.approx(1.0, abs=1e-9)
    again = released(private_town.folder, "job*age, age*sex", method=method)
    assert again["runs"] == first["runs"]
    assert (first["charged"]["repeat"], again["charged"]["repeat"]) == (False, True)
    assert again["charged"]["epsilon"] == 0
    assert spent(private_town.folder) - before == pytest.approx(1.0, abs=1e-9)
    (run,) = first["runs"]
    assert run["max_l1"] is None
    assert set(run["margins"]) == {"sex*age", "age*job"}
    assert np.shape(run["margins"]["sex*age"]) == (2, 3)


def test_the_noise_is_that_of_the_plan_and_other_budgets_have_other_noise(private_town, town):
    true = Counter(zip(town.records["sex"].to_pylist(), town.records["age"].to_pylist(), strict=True))
    exact = np.array([[true[s, a] for a in ("child", "adult", "old")] for s in ("1", "2")])
    one, other = (
        margin_of(released(private_town.folder, method="independent", epsilon=epsilon), "sex*age")
        for epsilon in (1.0, 1.5)
    )
    assert (one != exact).any()
    assert np.abs(one - exact).max() < 60  # scale 2: P(beyond) < 1e-12
    assert (one - exact != other - exact).any()


def test_a_dry_run_advises_and_charges_nothing(private_town, monkeypatch, spent):
    before = spent(private_town.folder)
    asked = wish(private_town.folder, epsilon=2.0, delta=1e-6)
    monkeypatch.setattr(type(asked.stored.engine), "aggregate", lambda *_: pytest.fail("a record was read"))
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    found = asked.advice_document()
    assert found["recommended"] in found["expected_error"]
    assert found["charged"]["epsilon"] == 2.0
    assert found["runs"] == []
    monkeypatch.undo()
    assert spent(private_town.folder) == before


def test_what_the_budget_does_not_cover_is_not_read(private_town, monkeypatch):
    asked = wish(private_town.folder, epsilon=5.5)
    monkeypatch.setattr(type(asked.stored.engine), "aggregate", lambda *_: pytest.fail("a record was read"))
    with pytest.raises(BudgetSpent, match='The budget "town"'):
        asked.release()


def test_what_cannot_be_answered_is_not_charged(private_town, monkeypatch, spent):
    before = spent(private_town.folder)
    monkeypatch.setattr("discreet.margins.holistic.MOST_CELLS", 5)
    with pytest.raises(TooManyCells):
        released(private_town.folder, method="efron-stein")
    assert spent(private_town.folder) == before


def test_a_plan_that_comes_out_differently_is_charged_again(private_town, monkeypatch, spent):
    """A newer solver that finds slightly other scales must not give fresh noise for free."""
    before = spent(private_town.folder)
    released(private_town.folder)
    real = optimum.laplace_optimum

    def other(wanted, epsilon, **options):
        return real(wanted, epsilon * (1 - 1e-9), **options)

    monkeypatch.setattr(optimum, "laplace_optimum", other)
    again = released(private_town.folder)
    assert not again["charged"]["repeat"]
    assert spent(private_town.folder) - before == pytest.approx(2.0, abs=1e-6)


def test_an_account_pays_from_its_share(private_town, share):
    folder = private_town.folder
    share(folder, "ann", "0.5")
    with pytest.raises(BudgetSpent, match='"ann"'):
        wish(folder, epsilon=0.7).release("ann")
    wish(folder, epsilon=0.4).release("ann")


def test_a_dataset_without_budget_and_an_unknown_variable_are_refused(town_workspace, private_town):
    stored = town_workspace.stored("town")
    with pytest.raises(BadRequest, match="no privacy budget"):
        JointMargins.of(stored, dataset_margins(stored.dataset, "sex*age"), "optimum", 1.0).release()
    with pytest.raises(UnknownVariable, match="sax"):
        wish(private_town.folder, "sax*age")


def test_the_last_tenth_of_a_budget_can_be_spent(private_town, tmp_path):
    """The float 0.1 is more than 0.1: as a float it would be refused with 0.1 left."""
    folder = tmp_path / "w"
    text = private_town.description.replace("cap_epsilon = 9.0", "cap_epsilon = 4.1")
    load_dataset(folder, text, private_town.records)
    assert Fraction(0.1) > Fraction(1, 10)
    assert released(folder, "sex*age", epsilon="0.1")["charged"]["epsilon"] == 0.1
    with pytest.raises(BudgetSpent):
        wish(folder, "sex*age", epsilon="0.2").release()


def test_an_excluded_margin_is_never_released_for_money(private_town, tmp_path, spent):
    folder = tmp_path / "w"
    text = private_town.description.replace("up_to = 1\n", 'up_to = 1\nexclude = [["area", "job"]]\n')
    load_dataset(folder, text, private_town.records)
    before = spent(folder)
    with pytest.raises(Refused, match="area x job are excluded: they are never answered"):
        wish(folder, "sex*age,area*job").release()
    assert spent(folder) == before


def test_margins_that_would_be_nearly_exact_are_refused(private_town):
    with pytest.raises(BadDescription, match="of counts would be exact"):
        wish(private_town.folder, "sex*age", "independent", epsilon=4.9).release()


def ruled(private_town, tmp_path, rule):
    """The town under one more rule, in a workspace of its own."""
    description = private_town.description.replace("[protection]", f"[[rule]]\n{rule}\n\n[protection]", 1)
    load_dataset(tmp_path / "ruled", description, private_town.records)
    return tmp_path / "ruled"


def test_a_margin_that_a_rule_of_shape_refuses_is_neither_charged_nor_read(
    private_town, tmp_path, monkeypatch, spent
):
    folder = ruled(private_town, tmp_path, 'kind = "forbidden-combination"\nvariables = ["sex", "age"]')
    before = spent(folder)
    asked = wish(folder, "sex*age,age*job")
    monkeypatch.setattr(type(asked.stored.engine), "aggregate", lambda *_: pytest.fail("a record was read"))
    with pytest.raises(Refused):
        asked.release()
    assert spent(folder) == before


def test_what_a_rule_on_counts_withholds_is_null_and_everything_else_as_without_it(private_town, tmp_path):
    rule = 'kind = "minimum-area-size"\nvariable = "area"\nleast = 400\nfigures = { N2 = 150 }'
    strict = wish(ruled(private_town, tmp_path, rule), "area*sex", "independent").release()
    (release,) = strict.releases.values()
    assert release.notes[0].startswith("Counts in this table have been randomly adjusted")
    assert release.verdict["blocked"] == int(release.missing.any(axis=1).sum()) > 0
    (listed,) = strict.document()["runs"][0]["margins"].values()
    shown = np.array([[cell is not None for cell in line] for line in listed])
    assert (shown == ~release.missing).all()
    assert shown.any()


def test_a_margin_of_which_nothing_may_be_shown_is_null_throughout(private_town, tmp_path):
    rule = 'kind = "share-of-ones"\nmost = 0\nup_to = 100000\nlevel = "area"\nfrom_variables = 1'
    found = wish(ruled(private_town, tmp_path, rule), "area*sex,sex*age", "independent").release()
    margins = found.document()["runs"][0]["margins"]
    assert {cell for line in margins["area*sex"] for cell in line} == {None}
    assert None not in {cell for line in margins["sex*age"] for cell in line}
