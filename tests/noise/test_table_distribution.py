"""One noise table is the law of every cell: what a release under cell keys says about its noise.

The law of cells that add up released cells: checked cell by cell against what each cell is said to add up.

The law of a table with sums: counted cells keep theirs, and a sum has none of its own.

A release without a stated law: nothing may be concluded from it as if it had no noise.
"""

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.formats.json_stat import json_stat
from discreet.inference import picked
from discreet.inference.channel import observe
from discreet.model.noise_distribution import depends_on_count
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent, pram
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE
from discreet.noise.table_distribution import (
    PUBLIC,
    DescribedDistribution,
    DistributionWithSums,
    TableDistribution,
    UnstatedDistribution,
)
from discreet.release.pipeline import release_table
from discreet.web.pages.uncertainty import noise_uncertainty

NOISE = maxent(D=4, V=2, js=1)


def test_every_cell_has_the_table_and_noise_of_its_own():
    law = TableDistribution(NOISE, (2, 3))
    assert law.at(1, 2) is NOISE
    assert law.source(1, 2) is None
    assert not law.impossible.any()
    assert law.kind.shape == law.impossible.shape == (2, 3)
    [(cells, only)] = law.kinds()
    assert cells.all()
    assert only is NOISE


def test_the_variance_is_that_of_the_count_with_the_largest():
    largest = max(float(row.variance()) for row in NOISE.rows)
    assert (TableDistribution(NOISE, (2, 2)).variance() == largest).all()


@pytest.mark.parametrize(
    "noise", [NOISE, pram(), laplace(epsilon=1.0, m=3), NO_NOISE], ids=lambda n: n.family
)
def test_a_noise_table_says_which_law_serves_a_count(noise):
    counts = np.arange(200)
    index = noise.distribution_index(counts)
    assert [noise.laws[place].row for place in index] == [noise.row(count) for count in counts.tolist()]
    assert noise.distribution_index(np.array([-3])) == noise.distribution_index(np.array([0]))
    assert depends_on_count(noise) == (len(set(noise.rows)) > 1)


def test_the_documents_tell_how_far_the_noise_reaches():
    assert TableDistribution(NOISE, (1,)).document() == {"largest_change": 4}


NARROW, WIDE = laplace(epsilon=1.0, m=8), laplace(epsilon=0.25, m=30)
#: A public cell, one that nobody can be in, and cells of one and of several terms.
LAW = DescribedDistribution(
    np.array([[0, 0, 1], [3, 1, 3]]),
    np.array([[PUBLIC, 1, 0], [0, 1, 1]], dtype=np.int16),
    ((("age",), NARROW), (("age", "sex"), WIDE)),
)


def test_a_cell_has_the_law_of_its_terms():
    assert LAW.at(0, 0) is NO_NOISE
    assert LAW.at(0, 1) is NO_NOISE
    assert LAW.at(0, 2) is NARROW
    assert LAW.at(1, 0) == SumDistribution(NARROW.rows[0], 3)
    assert LAW.at(1, 1) is WIDE
    assert LAW.at(1, 2) == SumDistribution(WIDE.rows[0], 3)


def test_kinds_agree_with_the_law_of_each_cell():
    seen = np.zeros(LAW.terms.shape, dtype=int)
    for cells, law in LAW.kinds():
        seen += cells
        for place in np.argwhere(cells):
            assert LAW.at(*place) == law
    assert (seen == 1).all()
    assert len(LAW.laws) == 5
    assert not any(depends_on_count(law) for law in LAW.laws)


def test_the_variance_of_a_sum_is_the_sum_of_variances():
    one, other = float(NARROW.rows[0].variance()), float(WIDE.rows[0].variance())
    assert LAW.variance() == pytest.approx(np.array([[0, 0, one], [3 * one, other, 3 * other]]))


def test_only_what_adds_up_structural_zeros_is_impossible_and_public_cells_share_nothing():
    assert np.argwhere(LAW.impossible).tolist() == [[0, 1]]
    assert LAW.source(0, 0) is None
    assert LAW.source(1, 0) == ("age",)
    assert LAW.source(1, 1) == LAW.source(1, 2) == ("age", "sex")


def told(noise, *place):
    """The slow, obvious reading of the index of a document: the law of one cell."""
    lengths = [max(each) + 1 for each in noise["classes"]]
    classes = [each[p] for each, p in zip(noise["classes"], place, strict=True)]
    return noise["laws"][noise["law"][int(np.ravel_multi_index(classes, lengths))]]


def random_law(seed):
    """Totals of several margins, and single cells of another kind."""
    rng = np.random.default_rng(seed)
    each = [rng.integers(1, 3, n) for n in (7, 4, 5)]
    terms = np.einsum("i,j,k->ijk", *each)
    margin = np.broadcast_to(rng.integers(PUBLIC, 2, (7, 1, 5)), terms.shape).astype(np.int16)
    terms = np.where(rng.random(terms.shape) < 0.03, 0, terms)
    return DescribedDistribution(np.where(margin == PUBLIC, 0, terms), margin, LAW.margins)


@pytest.mark.parametrize("law", [LAW, *map(random_law, range(4))])
def test_the_documents_tell_margin_and_terms_of_every_cell(law):
    """Wrong alternative: classes by the number of terms alone, which mix up cells of two margins."""
    noise = law.document()["noise"]
    for place in np.ndindex(law.terms.shape):
        margin = int(law.margin[place])
        expected = {"table": None if margin == PUBLIC else margin, "terms": int(law.terms[place])}
        assert told(noise, *place) == expected
    assert len({str(each) for each in noise["laws"]}) == len(noise["laws"]), "no law stands there twice"
    assert [table["variables"] for table in noise["tables"]] == [["age"], ["age", "sex"]]
    assert noise["tables"][0]["standard_deviation"] == pytest.approx(float(NARROW.rows[0].variance()) ** 0.5)


def test_the_index_of_a_large_table_of_leaves_and_totals_is_short():
    """Wrong alternative: a margin and a number of terms for every cell."""
    each = [np.array([1] * n + [n]) for n in (60, 50, 2)]
    law = DescribedDistribution(np.einsum("i,j,k->ijk", *each), np.zeros((61, 51, 3), np.int16), LAW.margins)
    noise = law.document()["noise"]
    assert len(noise["law"]) == 8
    assert sum(map(len, noise["classes"])) == 61 + 51 + 3


@pytest.fixture
def law():
    return DistributionWithSums(
        TableDistribution(laplace(epsilon=1.0, m=5), (3,)), np.array([False, False, True])
    )


def test_a_counted_cell_keeps_its_law(law):
    assert law.at(0) == law.counted.at(0)
    assert law.laws == law.counted.laws
    assert law.source(1) is None
    assert law.variance().shape == law.kind.shape == law.impossible.shape == (3,)


def test_a_sum_has_no_law_of_one_count(law):
    """The wrong answer is the law of a single count, whose interval would be too narrow."""
    with pytest.raises(BadRequest, match="sum of the areas shown") as raised:
        law.at(2)
    assert raised.value.advice
    assert law.source(2) == "added"
    assert law.document()["sums_of_areas_shown"] == [2]


@pytest.fixture
def release(town_workspace):
    found = release_table(town_workspace.stored("town"), TableRequest("town", ("sex",), ("age",)))
    return replace(found, law=UnstatedDistribution(found.values.shape))


def test_who_asks_for_the_law_of_a_cell_is_refused(release):
    for ask in (
        lambda: release.law.at(0, 0),
        release.law.variance,
        lambda: observe(release),
        lambda: picked(release, ("1", "adult")),
    ):
        with pytest.raises(BadRequest, match="not stated"):
            ask()


def test_pages_and_documents_say_nothing_about_it(release):
    assert noise_uncertainty(release) is None
    assert not {"noise", "largest_change"} & json_stat(release)["extension"]["confidentiality"].keys()
    assert not release.law.impossible.any()
    assert release.law.source(0, 0) == release.law.source(1, 1)
