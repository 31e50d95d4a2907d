"""Each rule on counts: hand-worked areas, the slow definition, and an advice that helps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import TableNotReleased
from discreet.model.exact import ExactTable
from discreet.rules.declared import TABLE_KINDS
from discreet.rules.noisy_table import NoisyTable, slices_of
from discreet.rules.verdict import verdict_of
from discreet.rules.withheld import refuse_by_verdict

#: Two areas of region, by sex (down) and age (along): the first is dense, the second is sparse.
DENSE = [[9, 9, 9], [9, 9, 9]]
#: kind: (its section, the counts of a blocked area).
BLOCKED = {
    "share-of-zeros": ({"most": 0.5}, [[9, 0, 0], [0, 0, 9]]),
    "share-of-ones": ({"most": 0.5, "up_to": 2}, [[9, 1, 2], [1, 1, 9]]),
    "marginal-dominance": ({"most": 0.8}, [[90, 9, 9], [90, 9, 9]]),
    "attribute-disclosure": ({"most": 0.0}, [[9, 0, 9], [9, 9, 9]]),
    "mean-cell-size": ({"least": 5}, [[5, 5, 5], [5, 5, 4]]),
}


@pytest.fixture(scope="module")
def two_regions(ask, noisy):
    """The verdict's table of region x sex x age from two interiors."""
    request, shape = ask(rows=["region"], columns=["sex"], layers=["age"])

    def table(north, south):
        return noisy(request, np.array([north, south]))

    return table, shape


@pytest.mark.parametrize("kind", BLOCKED)
def test_a_rule_blocks_the_sparse_area_and_not_the_dense_one(kind, two_regions, rules, dataset):
    table, _ = two_regions
    section, sparse = BLOCKED[kind]
    verdict = verdict_of(rules({"kind": kind, **section}), table(DENSE, sparse), dataset)
    assert verdict.mask[:2].tolist() == [False, True]
    assert (verdict.passed, verdict.blocked, verdict.total, verdict.table_error) == (1, 1, 2, None)
    (finding,) = verdict.rules
    assert finding.code == kind
    assert "1 of 2 areas" in finding.message
    assert finding.advice


@pytest.mark.parametrize("kind", BLOCKED)
def test_a_table_without_geography_is_one_area(kind, ask, noisy, rules, dataset):
    request, shape = ask(rows=["sex"], columns=["age"])
    section, sparse = BLOCKED[kind]
    declared = rules({"kind": kind, **section})
    failed = verdict_of(declared, noisy(request, sparse), dataset)
    assert (failed.passed, failed.blocked, failed.total) == (0, 1, 1)
    with pytest.raises(TableNotReleased, match="too sparse") as raised:
        refuse_by_verdict(failed, shape, dataset)
    assert "In this table" in raised.value.message
    assert raised.value.advice
    refuse_by_verdict(verdict_of(declared, noisy(request, DENSE), dataset), shape, dataset)


def test_every_kind_on_counts_is_tested_here():
    assert {kind.kind for kind in TABLE_KINDS} == {*BLOCKED, "blocked-areas"}


def test_a_table_fails_when_more_than_a_share_of_its_areas_is_blocked(ask, noisy, rules, dataset):
    request, shape = ask(rows=["area"], columns=["sex", "age"])
    sparse, interior = BLOCKED["share-of-zeros"][1], np.array([DENSE] * 5)
    interior[:2] = sparse
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    for most, fails in ((0.3, True), (0.4, False)):
        verdict = verdict_of(
            rules(zeros, {"kind": "blocked-areas", "most": most}), noisy(request, interior), dataset
        )
        assert (verdict.table_error is not None) is fails
        assert verdict.blocked == 2
    verdict = verdict_of(
        rules(zeros, {"kind": "blocked-areas", "most": 0.3}), noisy(request, interior), dataset
    )
    with pytest.raises(TableNotReleased, match=r"2 of 5 areas .* more than 30%"):
        refuse_by_verdict(verdict, shape, dataset)


def test_the_verdict_is_plain_data(two_regions, rules, dataset):
    import json

    table, _ = two_regions
    section, sparse = BLOCKED["share-of-zeros"]
    verdict = verdict_of(rules({"kind": "share-of-zeros", **section}), table(DENSE, sparse), dataset)
    assert json.loads(json.dumps(verdict.as_json())) == {
        "passed": 1,
        "blocked": 1,
        "total": 2,
        "table_error": None,
        "rules": [
            {
                "code": "share-of-zeros",
                "message": "In 1 of 2 areas more than 50% of the cells are empty.",
                "advice": "Take a variable out, filters included, or use larger areas or none.",
            }
        ],
    }


def test_a_large_mean_cell_rescues_from_the_rules_that_it_lists(two_regions, rules, dataset):
    table, _ = two_regions
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    sparse, rich = BLOCKED["share-of-zeros"][1], [[999, 0, 0], [0, 0, 999]]
    mean = {"kind": "mean-cell-size", "least": 1, "rescue": 100}
    verdict = verdict_of(rules(zeros, mean), table(rich, sparse), dataset)
    assert verdict.mask[:2].tolist() == [False, True]
    unlisted = {**mean, "rescues": ["share-of-ones"]}
    assert verdict_of(rules(zeros, unlisted), table(rich, sparse), dataset).mask[:2].all()


def test_structural_zeros_are_not_sparse(ask, noisy, rules, dataset):
    request, _ = ask(rows=["age"], columns=["job"])
    full = np.array([[9, 0, 0, 0], [9, 9, 9, 9], [9, 9, 9, 9]])
    declared = rules({"kind": "share-of-zeros", "most": 0.0}, {"kind": "attribute-disclosure"})
    assert verdict_of(declared, noisy(request, full), dataset).blocked == 0
    full[1, 3] = 0
    assert verdict_of(declared, noisy(request, full), dataset).blocked == 1


def test_a_rule_may_look_at_small_areas_only_and_at_tables_with_enough_variables(ask, noisy, rules, dataset):
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    empty = 0 * np.array(1)
    by_area, _ = ask(rows=["area"], columns=["sex"])
    by_region, _ = ask(rows=["region"], columns=["sex"])
    small = rules({**zeros, "level": "area"})
    verdict = verdict_of(small, noisy(by_area, empty), dataset)
    assert verdict.mask.tolist() == [True] * 5 + [False]  # the total is no small area
    assert verdict_of(small, noisy(by_region, empty), dataset).blocked == 0
    crossed = rules({**zeros, "from_variables": 2})
    assert verdict_of(crossed, noisy(by_area, empty), dataset).blocked == 0
    assert verdict_of(rules(zeros), noisy(by_area, empty), dataset).mask.all()


def test_minimum_area_size_withholds_small_areas_among_others(ask, noisy, rules, dataset):
    request, _ = ask(rows=["area"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99}}
    verdict = verdict_of(rules(section), noisy(request, 1), dataset)
    assert verdict.mask.tolist() == [False, True, False, False, True, False]


def test_the_figures_of_a_union_are_added_up(ask, noisy, rules, dataset):
    request, _ = ask(rows=["area"], levels=["area=region"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100}
    for figures, blocked in (
        ({"N1": 40, "N2": 59}, True),
        ({"N1": 40, "N2": 60}, False),
        ({"N1": 40}, False),
    ):
        verdict = verdict_of(rules({**section, "figures": figures}), noisy(request, 1), dataset)
        assert verdict.mask.tolist() == [blocked, False, False]


def test_an_exact_table_cannot_be_judged(ask):
    _, shape = ask(rows=["sex"])
    counts = np.zeros(shape.lengths, dtype=np.int64)
    exact = ExactTable(shape, counts, counts.astype(np.uint64))
    nothing = np.zeros(shape.lengths, dtype=np.bool_)
    with pytest.raises(TypeError, match="nothing exact"):
        NoisyTable(shape, exact, nothing)
    with pytest.raises(TypeError, match="int64"):
        NoisyTable(shape, counts.astype(float), nothing)
    with pytest.raises(ValueError, match="its shape"):
        NoisyTable(shape, counts[:-1], nothing[:-1])
    assert repr(NoisyTable(shape, counts, nothing)) == "<NoisyTable of 3 cells>"


def test_a_filtered_table_cannot_be_judged(ask):
    for parts in ({"rows": ["sex"], "filters": ["age=old"]}, {"rows": ["sex"], "totals": False}):
        _, shape = ask(**parts)
        zeros = np.zeros(shape.lengths, dtype=np.int64)
        with pytest.raises(ValueError, match="unfiltered"):
            NoisyTable(shape, zeros, zeros.astype(bool))


def test_two_levels_of_one_geography_cannot_be_judged(ask, dataset):
    _, shape = ask(rows=["region"], columns=["area"])
    zeros = np.zeros(shape.lengths, dtype=np.int64)
    with pytest.raises(ValueError, match="finest"):
        slices_of(NoisyTable(shape, zeros, zeros.astype(bool)), dataset)


def slow(kind, section, cells, possible):
    """Whether one area is blocked, by the definition: `cells` an array of any dimension, totals added here."""
    places = [p for p in itertools.product(*map(range, cells.shape)) if possible[p]]
    total = sum(cells[p] for p in itertools.product(*map(range, cells.shape)))
    if kind == "share-of-zeros":
        return sum(cells[p] <= 0 for p in places) > section["most"] * len(places)
    if kind == "share-of-ones":
        populated = [cells[p] for p in places if cells[p] > 0]
        return sum(c <= section["up_to"] for c in populated) > section["most"] * len(populated)
    if kind == "mean-cell-size":
        return total < section["least"] * len(places)
    if kind == "marginal-dominance":
        largest = [
            max(cells.take(i, axis).sum() for i in range(cells.shape[axis]))
            for axis in range(cells.ndim)
            if cells.shape[axis] > 1
        ]
        return any(one > section["most"] * max(total, 0) for one in largest)
    rows = telling = 0
    for axis in range(cells.ndim):
        for others in itertools.product(*(range(n) for a, n in enumerate(cells.shape) if a != axis)):
            row = [(*others[:axis], i, *others[axis:]) for i in range(cells.shape[axis])]
            able = [p for p in row if possible[p]]
            full = sum(cells[p] > 0 for p in able)
            if len(able) > 1 and full:
                rows += 1
                telling += full == 1
    return telling > section["most"] * rows


@settings(max_examples=60)
@given(seed=st.integers(1, 10**6), mean=st.sampled_from([0.3, 1, 4]), kind=st.sampled_from(sorted(BLOCKED)))
def test_every_rule_agrees_with_its_slow_definition(seed, mean, kind, ask, noisy, rules, dataset):
    rng = np.random.default_rng(seed)
    names = rng.permutation(["sex", "age", "job"])[: rng.integers(1, 4)].tolist()
    request, _ = ask(rows=["area"], columns=names)
    section = dict(BLOCKED[kind][0])
    table = noisy(
        request,
        rng.poisson(mean, (5, *noisy(request, 1).noisy.shape[1:])).astype(int)[
            (slice(None), *(slice(-1),) * len(names))
        ]
        - (rng.random() < 0.3),
    )
    verdict = verdict_of(rules({"kind": kind, **section}), table, dataset)
    inside = tuple(slice(-1) for _ in names)
    for area in range(6):
        expected = slow(kind, section, table.noisy[area][inside], ~table.impossible[area][inside])
        assert verdict.mask[area] == expected
