"""The rules of the demo census: any question gets a table, or advice that leads to one."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadRequest, Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import structural_zeros, table_shape
from discreet.rules.alternatives import find_alternatives
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.rule import kinds
from discreet.rules.rule_set import parse_rules, refuse_by_rules
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import needs_table, rule_table, rule_table_shape, verdict_of
from discreet.workspace.demo import census_batches, census_description

ROWS, QUESTIONS, SEED = 50_000, 1_000, 20_260
PLACES, QUESTIONED = ("region", "district", "area"), ("sex", "age", "employment", "occupation", "education")


@cache
def census():
    dataset = parse_dataset(census_description(ROWS))
    return dataset, parse_rules(dataset.rules, dataset)


@cache
def positions():
    table = pa.Table.from_batches(list(census_batches(ROWS)))
    return {
        name: table.column(name).combine_chunks().indices.to_numpy().astype(np.int64)
        for name in table.column_names[1:]
    }


@cache
def verdict_on(request):
    """The verdict on a whole table with a noise like the demo's: zeros kept, no counts of 1 and 2, else -2 to 2."""
    dataset, rules = census()
    shape = table_shape(request, dataset)
    lengths = [len(dimension.base) for dimension in shape.dimensions]
    flat = np.ravel_multi_index([positions()[name] for name in request.variables], lengths)
    counts = np.bincount(flat, minlength=int(np.prod(lengths))).reshape(lengths)
    for axis, dimension in enumerate(shape.dimensions):
        parts = [counts.take(list(members), axis).sum(axis) for members in dimension.members()]
        counts = np.stack(parts, axis)
    rng = np.random.default_rng(SEED)
    small = np.where(rng.random(counts.shape) * 3 < counts, 3, 0)
    noisy = np.where(counts > 2, np.maximum(counts + rng.integers(-2, 3, counts.shape), 3), small)
    return verdict_of(rules, NoisyTable(shape, noisy, structural_zeros(shape, dataset)), dataset)


def answer(request):
    """The cells that are withheld.

    Raises:
        Refused: By shape or by the perturbed counts.
    """
    dataset, rules = census()
    shape = table_shape(request, dataset)
    refuse_by_rules(request, shape, dataset, rules)
    if not needs_table(rules, request, dataset):
        return np.zeros(shape.lengths, dtype=bool)
    rule_table_shape(request, dataset)
    verdict = verdict_on(rule_table(request, dataset))
    return layout_for(verdict, shape, dataset, "independent").withheld


def refusal_of(request):
    try:
        answer(request)
    except Refused as refusal:
        return refusal
    return None


def random_request(rng):
    """A question as somebody might click it together: up to five variables, filters, groups, any layout."""
    dataset, _ = census()
    names = rng.permutation([*QUESTIONED, "birthplace", *PLACES])[: rng.integers(1, 6)].tolist()
    shown = names[: rng.integers(1, len(names) + 1)]
    filters, groups = [], []
    for name in names:
        codes = dataset.variable(name).codes
        if name not in shown or rng.random() < 0.15:
            filters.append((name, tuple(rng.permutation(codes)[: rng.integers(1, len(codes) + 1)].tolist())))
        elif rng.random() < 0.15 and len(codes) > 3:
            some = rng.permutation(codes)[: rng.integers(2, 6)].tolist()
            groups.append((name, (tuple(some[:2]), *((code,) for code in some[2:]))))
    cuts = sorted(rng.integers(0, len(shown) + 1, 2).tolist())
    axes = shown[: cuts[0]], shown[cuts[0] : cuts[1]], shown[cuts[1] :]
    request = TableRequest(
        "census", *map(tuple, axes), tuple(filters), tuple(groups), bool(rng.random() < 0.8)
    )
    try:
        return canonical(request, dataset)
    except BadRequest:  # a filter may leave a group empty: no question then
        return random_request(rng)


@pytest.mark.slow
def test_a_thousand_questions_get_a_table_or_advice_that_leads_to_one():
    dataset, rules = census()
    rng = np.random.default_rng(SEED)
    seen, partly = {}, 0
    for _ in range(QUESTIONS):
        request = random_request(rng)
        refusal = refusal_of(request)
        if refusal is None:
            partly += bool(answer(request).any())
            continue
        seen[refusal.code] = seen.get(refusal.code, 0) + 1
        assert refusal.message
        assert refusal.advice
        instead = next(find_alternatives(request, dataset, rules, refusal_of), None)
        assert instead is not None, request
        assert not answer(instead).all()
    assert {"too-many-variables", "forbidden-combination", "nested-groups", "table-not-released"} <= set(seen)
    assert sum(seen.values()) < 0.9 * QUESTIONS
    assert partly > 10


def test_the_demo_shows_a_refusal_with_its_advice():
    dataset, rules = census()
    request = canonical(TableRequest("census", rows=("area",), columns=("occupation", "education")), dataset)
    refusal = refusal_of(request)
    assert refusal.code == "forbidden-combination"
    assert 'use "district" in place of "area"' in refusal.advice
    instead = next(find_alternatives(request, dataset, rules, refusal_of), None)
    assert instead.variables == ("district", "occupation", "education")


def test_the_advice_on_a_sparse_table_is_larger_areas():
    dataset, rules = census()
    request = canonical(TableRequest("census", rows=("area",), columns=("sex",), layers=("age",)), dataset)
    assert refusal_of(request) is None
    request = canonical(TableRequest("census", rows=("district",), columns=("age", "birthplace")), dataset)
    refusal = refusal_of(request)
    assert refusal.code == "table-not-released"
    assert 'Use "region" in place of "district"' in refusal.advice
    assert next(find_alternatives(request, dataset, rules, refusal_of), None).variables == (
        "region",
        "age",
        "birthplace",
    )


@pytest.mark.parametrize("names", [("sex", "age"), ("region", "sex", "age"), ("district", "employment")])
def test_what_everybody_asks_is_released(names):
    dataset, _ = census()
    assert not answer(canonical(TableRequest("census", rows=names), dataset)).any()


def test_the_rules_of_the_demo_are_of_known_kinds():
    dataset, rules = census()
    assert len(rules) == len(dataset.rules) >= 8
    assert {rule.kind for rule in rules} <= set(kinds())
