from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.margins.bases import efron_stein_coefficients, fourier_coefficients
from discreet.margins.margin_set import MarginSet, margin_tables
from discreet.margins.sensitivity import integer_sensitivity, paper_epsilon, paper_sensitivity, sensitivity

from .conftest import margin_sets


def coefficients_of_one_person(wanted, basis):
    """One row a cell of the table: all integer coefficients of a person there."""
    rows = []
    for cell in np.ndindex(*wanted.shape):
        one = np.zeros(wanted.shape, dtype=np.int64)
        one[cell] = 1
        exact = margin_tables(one, wanted)
        if basis == "fourier":
            rows.append(np.array(list(fourier_coefficients(exact, wanted).values())))
        else:
            rows.append(np.concatenate([c.ravel() for c in efron_stein_coefficients(exact, wanted).values()]))
    return np.array(rows)


@settings(max_examples=30, deadline=None)
@given(
    margin_sets(variables=(2, 3), categories=(2, 5), cells=60), st.sampled_from(["fourier", "efron-stein"])
)
def test_sensitivities_are_the_largest_changes_of_all_persons_and_pairs(wanted, basis):
    if basis == "fourier":
        wanted = MarginSet(wanted.names, (2,) * len(wanted.shape), wanted.margins)
    rows = coefficients_of_one_person(wanted, basis)
    alone = np.abs(rows).sum(axis=1).max()
    pairs = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2).max()
    assert integer_sensitivity(wanted, basis, "add-remove") == alone
    assert integer_sensitivity(wanted, basis, "replace-one") == pairs


def test_journey_has_the_corrected_sensitivities(papers, figures):
    _, wanted = papers["journey"]
    oracle = figures["sensitivity.efron_stein.journey"]
    assert sensitivity(wanted, "efron-stein", "add-remove") == oracle["add_remove"]
    assert sensitivity(wanted, "efron-stein", "replace-one") == oracle["replace_one"]
    assert paper_sensitivity(wanted, "efron-stein") == oracle["paper_scale"]
    for neighbours, key in (("add-remove", "eps_actual_add"), ("replace-one", "eps_actual_replace")):
        true = paper_epsilon(wanted, "efron-stein", neighbours, 1.0)
        assert true == pytest.approx(oracle[key], abs=1e-12)
        assert true > 1


@pytest.mark.parametrize("name", ["edwards", "czech", "rochdale"])
def test_the_papers_fourier_scale_is_valid_and_loose(papers, figures, name):
    _, wanted = papers[name]
    assert paper_sensitivity(wanted, "fourier") == figures[f"table8.{name}.scale_eps1"]
    assert sensitivity(wanted, "fourier", "add-remove") == paper_sensitivity(wanted, "fourier") / 2
    assert paper_epsilon(wanted, "fourier", "replace-one", 1.0) < 1


def test_the_error_of_theorem_two_is_hidden_by_its_factor_two_until_the_fifth_category():
    for k, too_small in ((2, False), (3, False), (4, False), (5, True), (10, True)):
        wanted = MarginSet(("A", "B"), (k, k), ((0, 1),))
        true = sensitivity(wanted, "efron-stein", "add-remove")
        closed = sum(
            math.prod(2 * (k - 1) / k for _ in part) / k ** (2 - len(part)) for part in wanted.closure
        )
        assert true == pytest.approx(closed)
        assert (true > paper_sensitivity(wanted, "efron-stein")) == too_small


def test_unknown_neighbours_and_too_many_variables_are_refused():
    wanted = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    with pytest.raises(BadRequest, match="replace-one"):
        sensitivity(wanted, "fourier", "replace")
    many = MarginSet(tuple(f"v{j}" for j in range(21)), (2,) * 21, ((0, 1),))
    with pytest.raises(BadRequest, match="at most 20"):
        sensitivity(many, "efron-stein", "replace-one")
