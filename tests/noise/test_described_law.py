"""The law of cells that add up released cells: checked cell by cell against what each cell is said to add up."""

import numpy as np
import pytest

from discreet.model.noise_law import depends_on_count
from discreet.noise import laplace
from discreet.noise.described_law import PUBLIC, DescribedLaw
from discreet.noise.sum_law import SumLaw
from discreet.noise.table import NO_NOISE

NARROW, WIDE = laplace(epsilon=1.0, m=8), laplace(epsilon=0.25, m=30)
#: A public cell, one that nobody can be in, and cells of one and of several terms.
LAW = DescribedLaw(
    np.array([[0, 0, 1], [3, 1, 3]]),
    np.array([[PUBLIC, 1, 0], [0, 1, 1]], dtype=np.int16),
    ((("age",), NARROW), (("age", "sex"), WIDE)),
)


def test_a_cell_has_the_law_of_its_terms():
    assert LAW.at(0, 0) is NO_NOISE
    assert LAW.at(0, 1) is NO_NOISE
    assert LAW.at(0, 2) is NARROW
    assert LAW.at(1, 0) == SumLaw(NARROW.rows[0], 3)
    assert LAW.at(1, 1) is WIDE
    assert LAW.at(1, 2) == SumLaw(WIDE.rows[0], 3)


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
    return DescribedLaw(np.where(margin == PUBLIC, 0, terms), margin, LAW.margins)


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
    law = DescribedLaw(np.einsum("i,j,k->ijk", *each), np.zeros((61, 51, 3), np.int16), LAW.margins)
    noise = law.document()["noise"]
    assert len(noise["law"]) == 8
    assert sum(map(len, noise["classes"])) == 61 + 51 + 3
