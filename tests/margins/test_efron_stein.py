from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.margins.closure import MarginSet, margin_table, margin_tables
from discreet.margins.efron_stein import (
    centred,
    efron_stein_coefficients,
    margin_from_efron_stein,
    number_of_coefficients,
    scaled_centred,
)
from discreet.margins.fourier import fourier_coefficients

from .conftest import efron_stein_vectors, margin_sets, random_counts


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(margin_sets(variables=(2, 5), categories=(2, 5), cells=150))
def test_coefficients_are_the_conditional_expectations_of_equation_five(wanted):
    counts = random_counts(wanted)
    fast = efron_stein_coefficients(margin_tables(counts, wanted), wanted)
    for part in wanted.closure:
        slow = efron_stein_vectors(wanted, part) @ counts.ravel()
        assert fast[part].ravel() / wanted.table_cells == pytest.approx(slow, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(margin_sets(variables=(2, 5), categories=(2, 5), cells=150))
def test_margins_come_back_from_their_coefficients(wanted):
    counts = random_counts(wanted)
    coefficients = efron_stein_coefficients(margin_tables(counts, wanted), wanted)
    for margin in wanted.margins:
        back = margin_from_efron_stein(coefficients, wanted, margin)
        assert back == pytest.approx(margin_table(counts, margin).astype(float), abs=1e-9)


def test_the_papers_third_example_is_reproduced(figures):
    wanted = MarginSet(("A", "B", "C"), (2, 2, 2), ((2,),))
    persons = np.eye(8, dtype=np.int64).reshape(8, 2, 2, 2)
    rows = [efron_stein_coefficients(margin_tables(cell, wanted), wanted)[2,] / 8 for cell in persons]
    assert np.array(rows)[:, 0].tolist() == figures["ex3.f{3},0"]
    assert np.array(rows)[:, 1].tolist() == figures["ex3.f{3},1"]


def test_on_a_binary_table_it_is_the_fourier_basis_times_its_characters():
    wanted = MarginSet(("A", "B", "C"), (2, 2, 2), ((0, 1), (1, 2)))
    exact = margin_tables(random_counts(wanted), wanted)
    signs = {(): np.array(1), **{(j,): np.array([1, -1]) for j in range(3)}}
    fourier, efron_stein = fourier_coefficients(exact, wanted), efron_stein_coefficients(exact, wanted)
    for part in wanted.closure:
        character = math.prod(signs[j,].reshape([-1 if i == j else 1 for i in part]) for j in part)
        assert np.array_equal(efron_stein[part], fourier[part] * character)


def test_centring_takes_away_every_one_way_mean():
    table = np.random.default_rng(0).normal(size=(3, 4, 5))
    for axis in range(3):
        assert centred(table).mean(axis=axis) == pytest.approx(0, abs=1e-12)
    counts = random_counts(MarginSet(("A", "B"), (3, 4), ((0, 1),)))
    assert centred(counts) * 12 == pytest.approx(scaled_centred(counts).astype(float), abs=1e-9)


def test_journey_has_as_many_terms_as_printed(papers, figures):
    assert number_of_coefficients(papers["journey"][1]) == figures["table8.journey.N"]
