"""Which declared margin answers a cell: smallest expected variance, by the description of the cell alone."""

import numpy as np
import pytest

from discreet.errors import OutsideUniverse
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import parse_universe
from discreet.protect.margin_choice import choose_margins


def parts_of(dataset, entry, variances=None, known=False, **request):
    universe = parse_universe(entry, dataset, known_total=known)
    chosen = variances or dict.fromkeys(universe.margins, 1.0)
    asked = canonical(TableRequest("town", **request), dataset)
    return choose_margins(table_shape(asked, dataset), universe, dataset, chosen)


OWN = {"variables": ["sex", "age", "region", "area"], "up_to": 2}


SUMS = {"variables": ["sex", "age"], "up_to": 2, "margins": "sums"}
FINE = {"variables": ["area"], "up_to": 1}
WHOLE = (("area", (("N1", "N2"), ("S1", "S2", "S3"))),)
MIXED = (("area", (("N1",), ("S1", "S2", "S3"))),)


@pytest.mark.parametrize(
    ("entry", "asked", "wanted"),
    [
        (
            OWN,
            {"rows": ("sex",), "columns": ("age",)},
            {"age,sex": [1] * 6, "sex": [1] * 2, "age": [1] * 3, "": [1]},
        ),
        (OWN, {"rows": ("region",), "totals": False}, {"region": [1, 1]}),
        (FINE, {"rows": ("region",), "totals": False}, {"area": [2, 3]}),
        # A filter on a finer level that takes whole regions is answered where the region is.
        (OWN, {"rows": ("area",), "groups": WHOLE, "totals": False}, {"region": [1, 1]}),
        (OWN, {"rows": ("area",), "groups": MIXED, "totals": False}, {"area": [1, 3]}),
        # Two levels of one hierarchy share an axis.
        (
            OWN,
            {"rows": ("region",), "columns": ("area",), "totals": False},
            {"area": [1, 1, 0, 0, 0, 0, 0, 1, 1, 1]},
        ),
    ],
)
def test_a_block_is_answered_by_the_margin_that_is_it_or_by_the_finer_one(dataset, entry, asked, wanted):
    parts = parts_of(dataset, entry, **asked)
    assert {",".join(part.margin): part.terms().ravel().tolist() for part in parts} == wanted


def test_sums_answer_totals_from_interior_cells(dataset):
    parts = parts_of(dataset, SUMS, rows=("sex",), columns=("age",))
    assert {part.margin for part in parts} == {("age", "sex")}
    assert [part.terms().ravel().tolist() for part in parts] == [[1] * 6, [3, 3], [2, 2, 2], [6]]


def test_a_larger_table_with_much_less_noise_wins(dataset):
    entry = {"variables": ["sex", "age"], "up_to": 2}
    variances = {(): 1.0, ("age",): 1.0, ("sex",): 10.0, ("age", "sex"): 3.0}
    part = parts_of(dataset, entry, variances, rows=("sex",), totals=False)[0]
    assert part.margin == ("age", "sex")
    variances[("age", "sex")] = 4.0
    assert parts_of(dataset, entry, variances, rows=("sex",), totals=False)[0].margin == ("sex",)


def test_cells_of_one_block_may_be_answered_by_different_margins(dataset):
    """One category is best taken from its own table, three together from another."""
    universe = {"variables": ["job", "sex"], "up_to": 2}
    variances = {(): 100.0, ("job",): 5.0, ("sex",): 100.0, ("job", "sex"): 2.0}
    parts = parts_of(dataset, universe, variances, rows=("job",), totals=False)
    assert [part.margin for part in parts] == [("job", "sex")]
    coarse = {"variables": ["region", "area"], "up_to": 1}
    variances = {(): 100.0, ("region",): 2.5, ("area",): 1.0}
    parts = parts_of(dataset, coarse, variances, rows=("region",), totals=False)
    chosen = {part.margin: part.chosen.tolist() for part in parts}
    assert chosen == {("area",): [True, False], ("region",): [False, True]}


def test_the_first_of_equal_margins_answers(dataset):
    """Three ages at a variance of 4 are as good as four jobs at 3: the alphabetically first margin answers."""
    universe = {"variables": ["sex"], "tables": [["sex", "job"], ["sex", "age"]], "up_to": 1}
    variances = {
        (): 100.0,
        ("sex",): 100.0,
        ("age", "sex"): 4.0,
        ("job", "sex"): 3.0,
        ("age",): 99,
        ("job",): 99,
    }
    parts = parts_of(dataset, universe, variances, rows=("sex",), totals=False)
    assert [part.margin for part in parts] == [("age", "sex")]


def test_a_known_total_is_public_and_needs_no_margin(dataset):
    entry = {"variables": ["sex"], "up_to": 1}
    parts = parts_of(dataset, entry, known=True, rows=("sex",))
    assert [part.margin for part in parts] == [("sex",), None]


@pytest.mark.parametrize(
    ("request_", "advice"),
    [
        (
            {"rows": ("sex",), "columns": ("age",), "layers": ("region",)},
            'out "sex" or "age" or "region", filters',
        ),
        ({"rows": ("job",)}, 'Take out "job"'),
        ({"rows": ("sex",), "filters": (("job", ("0",)),)}, 'Take out "job"'),
        ({"rows": ("sex", "age"), "filters": (("area", ("N1",)),)}, 'or "area", filters'),
        ({"rows": ("job", "sex", "age", "area")}, "declared tables"),
    ],
)
def test_what_is_outside_is_refused_with_advice(dataset, request_, advice):
    with pytest.raises(OutsideUniverse) as refused:
        parts_of(dataset, OWN, **request_)
    assert advice in str(refused.value)
    assert (refused.value.http_status, refused.value.exit_code) == (403, 3)


def test_terms_are_the_number_of_base_cells_by_brute_force(dataset):
    entry = {"tables": [["area", "age", "job"]], "variables": [], "up_to": 0}
    parts = parts_of(
        dataset,
        entry,
        rows=("age",),
        columns=("region",),
        filters=(("job", ("0", "2")), ("age", ("adult", "old"))),
    )
    terms = np.zeros((3, 3), dtype=int)
    for part in parts:
        terms[part.block] = part.terms()
    assert terms.tolist() == [[4, 6, 10], [4, 6, 10], [8, 12, 20]]


def test_every_level_that_is_shown_is_covered_once(dataset):
    """Regions hold their areas: both are answered, each by the margin that is best for it."""
    request = {"rows": ("area",), "columns": ("sex",), "levels": (("area", ("region", "area")),)}
    for entry, regions, wanted in (
        (OWN, {"region", "sex"}, [1, 1, 1, 1, 1, 1, 1, 1]),
        ({"variables": ["sex", "area"], "up_to": 2}, {"area", "sex"}, [2, 1, 1, 3, 1, 1, 1, 1]),
    ):
        parts = parts_of(dataset, entry, **request)
        terms = np.zeros((8, 3), dtype=np.int64)
        answers = np.zeros((8, 3), dtype=np.int64)
        for part in parts:
            chosen = np.ones(part.lengths, dtype=bool) if part.chosen is None else part.chosen
            answers[part.block] += chosen
            terms[part.block] += np.where(chosen, part.terms(), 0)
        assert (answers == 1).all()
        assert terms[:, 0].tolist() == wanted
        first = next(part for part in parts if part.chosen is not None and part.chosen[0, 0])
        assert set(first.margin) == regions
