"""However a question is written, it has one canonical form, one answer and one charge."""

import random

import numpy as np
import pytest

from discreet.errors import BadRequest, UnknownCategory, UnknownVariable
from discreet.ledger.entries import canonical_request
from discreet.model.exact import ExactTable
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.model.universe import parse_universe
from discreet.noise import laplace
from discreet.protect.description_keys import DescriptionNoise, add_description_noise
from discreet.protect.margin_choice import choose_margins


def ask(**parts):
    return request_from_text("town", **parts)


def test_a_group_keeps_only_what_the_filter_keeps(dataset):
    asked = canonical(ask(rows=["age"], groups=["age=child+old,adult"], filters=["age=child,adult"]), dataset)
    assert asked.groups == ()
    assert asked.filters == (("age", ("child", "adult")),)


@pytest.mark.parametrize(
    ("parts", "error", "advice"),
    [
        ({"rows": ["sexx"]}, UnknownVariable, 'Did you mean "sex"?'),
        ({"rows": ["age"], "filters": ["age=adlut"]}, UnknownCategory, 'Did you mean "adult"?'),
        ({}, BadRequest, "Choose at least one"),
        ({"rows": ["age"], "columns": ["age"]}, BadRequest, "Use each variable once"),
        ({"rows": ["age"], "groups": ["age=child+old,old"]}, BadRequest, "one group only"),
        ({"rows": ["age"], "groups": ["sex=1+2"]}, BadRequest, "Use a filter"),
        ({"rows": ["age"], "groups": ["age=child"], "filters": ["age=old"]}, BadRequest, "widen the filter"),
        ({"rows": ["age"], "groups": ["age=child", "age=old"]}, BadRequest, "together"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_advice(dataset, parts, error, advice):
    with pytest.raises(error) as raised:
        canonical(ask(**parts), dataset)
    assert advice in str(raised.value)


REWRITES = 2_000
BASE = {
    "variables": ["sex", "age", "job"],
    "filters": {"age": ["adult", "old"], "region": ["S"]},
    "groups": {"job": [["0", "9"], ["1", "2"]]},
}


def rewritten(rng, dataset):
    """The same question: another layout and order, repeated and split filters, tautologies, groups turned about."""
    names = rng.sample(BASE["variables"], 3)
    cut = sorted(rng.choices(range(4), k=2))
    filters = []
    for name, codes in BASE["filters"].items():
        pieces = rng.sample(codes, len(codes)) + rng.choices(codes, k=rng.randrange(3))
        at = rng.randrange(len(pieces) + 1)
        filters += [(name, tuple(part)) for part in (pieces[:at], pieces[at:]) if part]
    unfiltered = [v.name for v in dataset.variables if v.name not in BASE["filters"]]
    for name in rng.sample(unfiltered, rng.randrange(3)):
        codes = list(dataset.variable(name).codes)
        filters.append((name, tuple(rng.sample(codes, len(codes)))))
    rng.shuffle(filters)
    groups = {
        name: tuple(tuple(rng.sample(g, len(g))) for g in rng.sample(gs, len(gs)))
        for name, gs in BASE["groups"].items()
    }
    if rng.random() < 0.5:
        groups["sex"] = tuple((code,) for code in rng.sample(["1", "2"], 2))
    order = rng.sample(sorted(groups), len(groups))
    axes = map(tuple, (names[: cut[0]], names[cut[0] : cut[1]], names[cut[1] :]))
    return TableRequest("town", *axes, tuple(filters), tuple((name, groups[name]) for name in order))


def test_thousands_of_rewrites_have_one_canonical_form(dataset):
    rng = random.Random(11)
    asked = [rewritten(rng, dataset) for _ in range(REWRITES)]
    assert len(set(asked)) > REWRITES / 2
    forms = {canonical(request, dataset).identity for request in asked}
    assert len(forms) == 1
    assert len({canonical_request(*form) for form in forms}) == 1
    filters = (("age", ("adult",)), ("region", ("S",)))
    narrower = TableRequest(
        "town", ("sex",), ("age",), ("job",), filters, canonical(asked[0], dataset).groups
    )
    assert canonical(narrower, dataset).identity not in forms


@pytest.mark.slow
def test_rewrites_have_the_same_numbers(dataset, secret):
    universe = parse_universe({"tables": [["age", "job", "region", "sex"]], "up_to": 0}, dataset)
    margin = universe.margins[-1]
    tables = {each: laplace(epsilon=1.0, modulus=2**64) for each in universe.margins}
    noise = DescriptionNoise(secret, dataset, "1", "f", tables)
    rng, found = random.Random(5), set()
    for _ in range(200):
        request = canonical(rewritten(rng, dataset), dataset)
        shape = table_shape(request, dataset)
        parts = choose_margins(shape, universe, dataset, {(): 1e9, margin: 1.0})
        nobody = np.zeros(shape.lengths, dtype=np.int64)
        empty = ExactTable(shape, nobody, nobody.astype(np.uint64))
        cells = add_description_noise(empty, parts, noise).noisy
        order = [request.variables.index(name) for name in ("age", "job", "sex")]
        found.add(cells.transpose(order).tobytes())
    assert len(found) == 1
