"""The tightest claim of a plan: every argument bounds the exact composition, and the smallest wins."""

import pytest

from discreet.errors import BadDescription
from discreet.privacy import accounting as composition_pld
from discreet.privacy.audit import delta as exact_delta
from discreet.protect import best_composition as tightest_module
from discreet.protect.best_composition import best_claim, figures
from discreet.protect.charges import version_charge

from .conftest import plan_of


def test_the_tightest_figure_is_the_smallest_and_keeps_its_name(dataset):
    universe = {"variables": ["sex", "age", "job", "area"], "up_to": 3}
    plan = plan_of(dataset, universe=universe, neighbours="replace-one")
    found = figures(plan)
    assert set(found) == {"basic", "pld", "zcdp"}
    claim = best_claim(plan)
    assert claim.method == "pld"
    assert claim.epsilon == min(figure.epsilon for figure in found.values()) < 1
    assert claim.delta <= 1e-9


def test_without_the_library_every_other_figure_stands(dataset, monkeypatch):
    monkeypatch.setattr(composition_pld, "available", lambda: False)
    assert tightest_module.accounting is composition_pld
    assert set(figures(plan_of(dataset))) == {"basic", "zcdp"}


def test_gaussian_plans_meet_their_epsilon_by_zcdp_and_better_by_others(dataset):
    plan = plan_of(dataset, {"family": "gaussian"})
    found = figures(plan)
    assert "basic" not in found
    assert 0.99 < found["zcdp"].epsilon <= 1.0
    rounded = figures(plan_of(dataset, {"family": "rounded-normal"}))
    assert rounded["gaussian"].epsilon < rounded["zcdp"].epsilon <= 1.0


def test_every_figure_bounds_the_exact_composition(dataset):
    """Two tables, where the product of the distributions can be computed: no argument may claim less."""
    for noise in ({"family": "laplace"}, {"family": "gaussian"}, {"family": "rounded-normal"}):
        plan = plan_of(dataset, noise, {"variables": ["sex"], "up_to": 1}, epsilon=6.0, delta=1e-3)
        assert len({table.noise for table in plan.tables}) == 1
        found = figures(plan)
        assert "basic" not in found or found["exact"].epsilon <= found["basic"].epsilon
        for name, figure in found.items():
            exact = exact_delta(plan.tables[0].noise, epsilon=figure.epsilon, cells=2)
            assert float(exact) <= figure.delta * (1 + 1e-9), name


def test_a_truncated_table_is_not_given_a_zcdp_claim_that_forgets_its_cut(dataset):
    """m = 8 at epsilon 1/7: a third of the ideal mass is cut off, and no argument reaches delta 1e-9."""
    plan = plan_of(dataset, {"family": "laplace", "m": 8})
    assert figures(plan) == {}
    assert best_claim(plan) is None
    with pytest.raises(BadDescription, match="cannot promise"):
        version_charge(plan, dataset, "1", "f")
