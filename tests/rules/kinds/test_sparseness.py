"""Each rule on counts: hand-worked areas, the slow definition, and an advice that helps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import TableNotReleased
from discreet.rules.noisy_table import slices_of
from discreet.rules.rule import kinds
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import verdict_of

#: Two areas of region, by sex (down) and age (along): the first is dense, the second is sparse.
DENSE = [[9, 9, 9], [9, 9, 9]]

#: kind: (its section, the counts of an area that it withholds).
SPARSE = {
    "share-of-zeros": ({"most": 0.5}, [[9, 0, 0], [0, 0, 9]]),
    "share-of-ones": ({"most": 0.5, "up_to": 2}, [[9, 1, 2], [1, 1, 9]]),
    "marginal-dominance": ({"most": 0.8}, [[90, 9, 9], [90, 9, 9]]),
    "attribute-disclosure": ({"most": 0.0}, [[9, 0, 9], [9, 9, 9]]),
    "mean-cell-size": ({"least": 5}, [[5, 5, 5], [5, 5, 4]]),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_a_rule_withholds_the_sparse_area_and_not_the_dense_one(kind, two_regions, rules, dataset):
    table, _ = two_regions
    section, sparse = SPARSE[kind]
    verdict = verdict_of(rules({"kind": kind, **section}), table(DENSE, sparse), dataset)
    assert verdict.by_rule[:2].tolist() == [False, True]
    finding = verdict.rules[0]
    assert finding.code == kind
    assert "1 of 2 areas" in finding.message
    assert finding.advice


@pytest.mark.parametrize("kind", SPARSE)
def test_a_table_without_geography_is_one_area(kind, ask, noisy, rules, dataset):
    request, shape = ask(rows=["sex"], columns=["age"])
    section, sparse = SPARSE[kind]
    declared = rules({"kind": kind, **section})
    failed = verdict_of(declared, noisy(request, sparse), dataset)
    assert (failed.passed, failed.withheld, failed.total) == (0, 1, 1)
    with pytest.raises(TableNotReleased, match="too sparse") as raised:
        layout_for(failed, shape, dataset, "independent")
    assert "In this table" in raised.value.message
    assert raised.value.advice
    passed = verdict_of(declared, noisy(request, DENSE), dataset)
    assert not layout_for(passed, shape, dataset, "independent").withheld.any()


def test_every_kind_on_counts_is_tested_here():
    looking = {kind.kind for kind in kinds().values() if kind.implements("withholds")}
    assert looking == {*SPARSE, "minimum-area-size"}


def test_structural_zeros_are_not_sparse(ask, noisy, rules, dataset):
    request, _ = ask(rows=["age"], columns=["job"])
    full = np.array([[9, 0, 0, 0], [9, 9, 9, 9], [9, 9, 9, 9]])
    declared = rules({"kind": "share-of-zeros", "most": 0.0}, {"kind": "attribute-disclosure"})
    assert verdict_of(declared, noisy(request, full), dataset).withheld == 0
    full[1, 3] = 0
    assert verdict_of(declared, noisy(request, full), dataset).withheld == 1


def test_a_rule_may_look_at_small_areas_only_and_at_tables_with_enough_variables(
    ask, noisy, rules, dataset, by_rule
):
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    empty = 0 * np.array(1)
    by_area, _ = ask(rows=["area"], columns=["sex"])
    by_region, _ = ask(rows=["region"], columns=["sex"])
    small = rules({**zeros, "level": "area"})
    verdict = verdict_of(small, noisy(by_area, empty), dataset)
    assert by_rule(verdict) == [True] * 5 + [False]  # the total is no small area
    assert verdict_of(small, noisy(by_region, empty), dataset).withheld == 0
    crossed = rules({**zeros, "from_variables": 2})
    assert verdict_of(crossed, noisy(by_area, empty), dataset).withheld == 0
    assert verdict_of(rules(zeros), noisy(by_area, empty), dataset).mask.all()


def slow(kind, section, cells, possible):
    """Whether one area is withheld, by the definition: `cells` an array of any dimension, totals added here."""
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
@given(seed=st.integers(1, 10**6), mean=st.sampled_from([0.3, 1, 4]), kind=st.sampled_from(sorted(SPARSE)))
def test_every_rule_agrees_with_its_slow_definition(seed, mean, kind, ask, noisy, rules, dataset):
    rng = np.random.default_rng(seed)
    names = rng.permutation(["sex", "age", "job"])[: rng.integers(1, 4)].tolist()
    request, _ = ask(rows=["area"], columns=names)
    section = dict(SPARSE[kind][0])
    table = noisy(
        request,
        rng.poisson(mean, (5, *noisy(request, 1).noisy.shape[1:])).astype(int)[
            (slice(None), *(slice(-1),) * len(names))
        ]
        - (rng.random() < 0.3),
    )
    (rule,) = rules({"kind": kind, **section})
    found = rule.withholds(slices_of(table, dataset))
    inside = tuple(slice(-1) for _ in names)
    for area in range(len(found)):
        expected = slow(kind, section, table.noisy[area][inside], ~table.impossible[area][inside])
        assert found[area] == expected
