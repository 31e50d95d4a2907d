"""Distributions of sums: integers against plain convolution, the transform against integers; tables of cells."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.formats.writers.json_stat import json_stat
from discreet.inference import picked
from discreet.inference.channel import observe
from discreet.model.noise_distribution import depends_on_count
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent, pram
from discreet.noise.cell_distribution import RoundedNormalDistribution, SumDistribution, _sum_distribution
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.noise.table import NO_NOISE, NoiseRow
from discreet.noise.table_distribution import (
    PUBLIC,
    DescribedDistribution,
    DistributionWithSums,
    TableDistribution,
    UnstatedDistribution,
)
from discreet.release.pipeline import release_table
from discreet.web.pages.inference_pages import noise_uncertainty


def convolved(row, terms):
    """The definition, one term at a time."""
    distribution = {0: Fraction(1)}
    for _ in range(terms):
        longer = {}
        for s, p in distribution.items():
            for v, q in row.probabilities().items():
                longer[s + v] = longer.get(s + v, Fraction(0)) + p * q
        distribution = longer
    return distribution


rows = st.dictionaries(st.integers(-9, 9), st.integers(1, 50), min_size=1, max_size=8).map(
    lambda masses: NoiseRow(
        tuple(sorted(masses)), tuple(int(t) for t in np.cumsum([masses[v] for v in sorted(masses)]))
    )
)


@pytest.mark.slow
@given(rows, st.integers(1, 6))
def test_the_exact_distribution_is_the_convolution(row, terms):
    distribution, slow = SumDistribution(row, terms), convolved(row, terms)
    assert distribution.exact
    assert distribution.exact_distribution() == slow
    assert sum(v * p for v, p in slow.items()) == distribution.mean
    assert sum(v * v * p for v, p in slow.items()) - distribution.mean**2 == distribution.variance


@given(rows, st.integers(2, 20))
def test_the_transform_is_within_its_stated_error_of_the_exact_distribution(row, terms):
    exact = {v: float(p) for v, p in SumDistribution(row, terms).exact_distribution().items()}
    first, approximate, error = _sum_distribution(row, terms, exact=False)
    found = dict(enumerate(approximate.tolist(), first))
    distance = sum(abs(exact.get(v, 0.0) - found.get(v, 0.0)) for v in set(exact) | set(found)) / 2
    assert distance <= error < 1e-9


def test_a_wrong_number_of_terms_is_outside_the_stated_error():
    row = laplace(epsilon=1.0, modulus=2**64).rows[0]
    (first, right, error), (_, wrong, _) = (_sum_distribution(row, terms, exact=False) for terms in (30, 31))
    middle = wrong.size // 2
    assert np.abs(right - wrong[middle + first : middle - first + 1]).sum() / 2 > 1e3 * error


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_half_widths_cover_their_level_and_no_less_would(level):
    exact = SumDistribution(laplace(epsilon=0.5, modulus=2**64).rows[0], 3)
    for distribution in (exact, RoundedNormalDistribution(50.0, 90.0)):
        h, (first, chances) = distribution.half_width(level), distribution.distribution()
        assert chances[-h - first : h - first + 1].sum() >= level
        assert chances[1 - h - first : h - first].sum() < level + distribution.error
    with pytest.raises(BadRequest, match="level"):
        exact.half_width(1.0)


def test_many_terms_have_the_moments_that_they_must_have():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    distribution = SumDistribution(row, 500)
    first, p = distribution.distribution()
    values = np.arange(first, first + p.size)
    assert p.sum() == pytest.approx(1, abs=distribution.error)
    assert values**2 @ p == pytest.approx(float(distribution.variance), rel=1e-9)
    assert np.abs(values) @ p == pytest.approx(float(distribution.variance * 2) ** 0.5 / np.pi**0.5, rel=1e-2)
    with pytest.raises(BadRequest, match="too large"):
        distribution.exact_distribution()


def on_grid(variance, grid):
    """The distribution of a discrete Gaussian on multiples of 1/grid, rounded to whole numbers, summed up."""
    reach = math.ceil(9 * math.sqrt(variance) * grid)
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * variance * grid**2))
    shown = np.rint(z / grid).astype(int)
    return {k: float(weights[shown == k].sum() / weights.sum()) for k in range(shown.min(), shown.max() + 1)}


@pytest.mark.parametrize(("variance", "grid"), [(4.0, 5), (30.0, 3), (100.0, 1)])
def test_the_error_bounds_the_distance_to_a_noise_on_an_odd_grid(variance, grid):
    """Wrong alternative: an even grid, on which halves occur and go to even numbers."""
    distribution = RoundedNormalDistribution(variance, math.sqrt(variance) * grid)
    first, chances = distribution.distribution()

    def distance(true):
        return sum(abs(true.get(first + at, 0.0) - p) for at, p in enumerate(chances.tolist())) / 2

    assert distance(on_grid(variance, grid)) <= distribution.error
    assert distance(on_grid(variance, grid + 1)) > distribution.error


def test_it_is_the_family_rounded_normal():
    distribution, table = RoundedNormalDistribution(9.0, 100.0), rounded_normal(9.0)
    first, chances = distribution.distribution()
    shipped = table.rows[0].probabilities()
    assert all(abs(float(shipped.get(first + at, 0)) - p) < 1e-14 for at, p in enumerate(chances.tolist()))
    assert float(distribution.variance) == pytest.approx(float(table.rows[0].variance()), rel=1e-9)


NOISE = maxent(D=4, V=2, js=1)


@pytest.mark.parametrize(
    "noise", [NOISE, pram(), laplace(epsilon=1.0, m=3), NO_NOISE], ids=lambda n: n.family
)
def test_a_noise_table_says_which_distribution_serves_a_count(noise):
    counts = np.arange(200)
    index = noise.distribution_index(counts)
    assert [noise.distributions[place].row for place in index] == [
        noise.row(count) for count in counts.tolist()
    ]
    assert noise.distribution_index(np.array([-3])) == noise.distribution_index(np.array([0]))
    assert depends_on_count(noise) == (len(set(noise.rows)) > 1)


NARROW, WIDE = laplace(epsilon=1.0, m=8), laplace(epsilon=0.25, m=30)
#: A public cell, one that nobody can be in, and cells of one and of several terms.
DISTRIBUTION = DescribedDistribution(
    np.array([[0, 0, 1], [3, 1, 3]]),
    np.array([[PUBLIC, 1, 0], [0, 1, 1]], dtype=np.int16),
    ((("age",), NARROW), (("age", "sex"), WIDE)),
)


def test_a_cell_has_the_distribution_of_its_terms():
    expected = [
        NO_NOISE,
        NO_NOISE,
        NARROW,
        SumDistribution(NARROW.rows[0], 3),
        WIDE,
        SumDistribution(WIDE.rows[0], 3),
    ]
    assert [DISTRIBUTION.at(*place) for place in np.ndindex(2, 3)] == expected


def test_the_variance_of_a_sum_is_the_sum_of_variances():
    one, other = float(NARROW.rows[0].variance()), float(WIDE.rows[0].variance())
    assert DISTRIBUTION.variance() == pytest.approx(np.array([[0, 0, one], [3 * one, other, 3 * other]]))


def test_only_what_adds_up_structural_zeros_is_impossible_and_public_cells_share_nothing():
    assert np.argwhere(DISTRIBUTION.impossible).tolist() == [[0, 1]]
    assert DISTRIBUTION.source(0, 0) is None
    assert DISTRIBUTION.source(1, 0) == ("age",)
    assert DISTRIBUTION.source(1, 1) == DISTRIBUTION.source(1, 2) == ("age", "sex")


def told(noise, *place):
    """The slow, obvious reading of the index of a document: the distribution of one cell."""
    lengths = [max(each) + 1 for each in noise["classes"]]
    classes = [each[p] for each, p in zip(noise["classes"], place, strict=True)]
    return noise["laws"][noise["law"][int(np.ravel_multi_index(classes, lengths))]]


def random_distribution(seed):
    """Totals of several margins, and single cells of another kind."""
    rng = np.random.default_rng(seed)
    each = [rng.integers(1, 3, n) for n in (7, 4, 5)]
    terms = np.einsum("i,j,k->ijk", *each)
    margin = np.broadcast_to(rng.integers(PUBLIC, 2, (7, 1, 5)), terms.shape).astype(np.int16)
    terms = np.where(rng.random(terms.shape) < 0.03, 0, terms)
    return DescribedDistribution(np.where(margin == PUBLIC, 0, terms), margin, DISTRIBUTION.margins)


@pytest.mark.parametrize("distribution", [DISTRIBUTION, *map(random_distribution, range(4))])
def test_the_documents_tell_margin_and_terms_of_every_cell(distribution):
    """Wrong alternative: classes by the number of terms alone, which mix up cells of two margins."""
    noise = distribution.document()["noise"]
    for place in np.ndindex(distribution.terms.shape):
        margin = int(distribution.margin[place])
        expected = {"table": None if margin == PUBLIC else margin, "terms": int(distribution.terms[place])}
        assert told(noise, *place) == expected
    assert len({str(each) for each in noise["laws"]}) == len(noise["laws"]), "no law stands there twice"
    assert [table["variables"] for table in noise["tables"]] == [["age"], ["age", "sex"]]
    assert noise["tables"][0]["standard_deviation"] == pytest.approx(float(NARROW.rows[0].variance()) ** 0.5)


def test_the_index_of_a_large_table_of_leaves_and_totals_is_short():
    """Wrong alternative: a margin and a number of terms for every cell."""
    each = [np.array([1] * n + [n]) for n in (60, 50, 2)]
    distribution = DescribedDistribution(
        np.einsum("i,j,k->ijk", *each), np.zeros((61, 51, 3), np.int16), DISTRIBUTION.margins
    )
    noise = distribution.document()["noise"]
    assert len(noise["law"]) == 8
    assert sum(map(len, noise["classes"])) == 61 + 51 + 3


@pytest.fixture
def distribution():
    return DistributionWithSums(
        TableDistribution(laplace(epsilon=1.0, m=5), (3,)), np.array([False, False, True])
    )


def test_a_sum_has_no_distribution_of_one_count(distribution):
    """The wrong answer is the distribution of a single count, whose interval would be too narrow."""
    with pytest.raises(BadRequest, match="sum of the areas shown") as raised:
        distribution.at(2)
    assert raised.value.advice
    assert distribution.source(2) == "added"
    assert distribution.document()["sums_of_areas_shown"] == [2]


@pytest.fixture
def release(town_workspace):
    found = release_table(town_workspace.stored("town"), TableRequest("town", ("sex",), ("age",)))
    return replace(found, distribution=UnstatedDistribution(found.values.shape))


def test_who_asks_for_the_distribution_of_a_cell_is_refused(release):
    for ask in (
        lambda: release.distribution.at(0, 0),
        release.distribution.variance,
        lambda: observe(release),
        lambda: picked(release, ("1", "adult")),
    ):
        with pytest.raises(BadRequest, match="not stated"):
            ask()


def test_pages_and_documents_say_nothing_about_it(release):
    assert noise_uncertainty(release) is None
    assert not {"noise", "largest_change"} & json_stat(release)["extension"]["confidentiality"].keys()
    assert not release.distribution.impossible.any()
    assert release.distribution.source(0, 0) == release.distribution.source(1, 1)
