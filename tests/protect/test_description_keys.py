"""Description keys by their definition, and answers that are sums of released base cells, added up slowly."""

import hashlib
import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import ancestors
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import margin_zeros, parse_universe
from discreet.noise import laplace
from discreet.noise.families import build
from discreet.noise.table import NO_NOISE, NoiseRow, NoiseTable
from discreet.noise.table_distribution import PUBLIC
from discreet.protect import description_keys as described
from discreet.protect.margin_choice import choose_margins
from discreet.records.tabulate import tabulate

CONTEXT = described.NoiseContext("town", "1", "ab" * 16, "laplace:1.0:feed")
VARIABLES = """
[[variable]]
name = "b"
categories = ["x", "y", "z"]
[[variable]]
name = "a"
categories = ["2", "10", "1", "3"]
"""
HEAD = 'id = "town"\nlabel = "T"\nid_column = "i"\n'


@pytest.fixture(scope="module")
def coded():
    return parse_dataset(HEAD + VARIABLES)


def test_a_key_is_a_word_of_the_counter_stream_as_defined(coded, secret):
    cells = described.canonical_cells(("a", "b"), coded)
    domain = [["a", ["1", "10", "2", "3"]], ["b", ["x", "y", "z"]]]
    digest = hashlib.sha256(json.dumps(domain, separators=(",", ":")).encode()).hexdigest()
    key = secret.derive("description-noise", "town", "1", "ab" * 16, "laplace:1.0:feed", digest)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(12 * 8))
    words = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(12)]
    assert described.margin_keys(secret, CONTEXT, cells, 12).tolist() == words
    assert described.margin_keys(secret, CONTEXT, cells, 12, 2**10).tolist() == [
        word % 2**10 for word in words
    ]


@given(st.lists(st.integers(0, 10**12), max_size=40))
def test_a_place_of_the_stream_is_read_as_the_whole_has_it(coded, secret, places):
    cells = described.canonical_cells(("a", "b"), coded)
    near = np.array([place % 5000 for place in places], dtype=np.int64)
    whole = described.margin_keys(secret, CONTEXT, cells, 5000)
    assert np.array_equal(described.margin_keys(secret, CONTEXT, cells, near), whole[near])
    far = np.array(places, dtype=np.int64)
    one_by_one = [
        int(described.margin_keys(secret, CONTEXT, cells, far[n : n + 1])[0]) for n in range(far.size)
    ]
    assert described.margin_keys(secret, CONTEXT, cells, far).tolist() == one_by_one


@given(st.permutations(range(4)), st.permutations(range(3)), st.integers(0, 4), st.integers(0, 3))
def test_a_slice_has_the_keys_of_the_whole_in_any_order(coded, secret, a, b, some_a, some_b):
    cells = described.canonical_cells(("b", "a"), coded)
    full = described.block_keys(secret, CONTEXT, cells, [np.arange(4), np.arange(3)])
    kept = [np.array(a[:some_a], dtype=np.int64), np.array(b[:some_b], dtype=np.int64)]
    assert np.array_equal(described.block_keys(secret, CONTEXT, cells, kept), full[np.ix_(*kept)])


@pytest.mark.parametrize("field", ["dataset", "version", "fingerprint", "mechanism"])
def test_every_part_of_the_context_gives_other_keys(coded, secret, field):
    cells = described.canonical_cells(("a", "b"), coded)
    other = replace(CONTEXT, **{field: getattr(CONTEXT, field) + "x"})
    here, there = (described.margin_keys(secret, context, cells, 1000) for context in (CONTEXT, other))
    assert not (here == there).any()


def test_margins_and_domains_have_keys_of_their_own(coded, secret):
    wider = parse_dataset(HEAD + VARIABLES.replace('"z"]', '"z", "w"]'))
    keys = [
        described.margin_keys(secret, CONTEXT, cells, 1000)
        for cells in (
            described.canonical_cells(("a",), coded),
            described.canonical_cells(("b",), coded),
            described.canonical_cells((), coded),
            described.canonical_cells(("b",), wider),
        )
    ]
    for n, one in enumerate(keys):
        for other in keys[n + 1 :]:
            assert not (one == other).any()


@pytest.mark.parametrize("modulus", [10**8, 3, 0, 2**65])
def test_a_modulus_whose_keys_are_not_uniform_is_refused(coded, secret, modulus):
    with pytest.raises(BadNoiseTable, match="uniform"):
        described.margin_keys(secret, CONTEXT, described.canonical_cells(("a",), coded), 4, modulus)


UNIVERSE = {
    "variables": ["sex", "age", "region", "area", "job"],
    "up_to": 2,
    "tables": [["sex", "age", "job"]],
}


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


def noise_of(dataset, universe, secret, **changes):
    tables = {m: laplace(epsilon=0.5 + 0.1 * n, modulus=2**64) for n, m in enumerate(universe.margins)}
    values = {"version": "1", "fingerprint": "f" * 32} | changes
    return described.DescriptionNoise(secret, dataset, noise=tables, **values)


def answer(stored, dataset, noise, universe, request):
    shape = table_shape(canonical(request, dataset), dataset)
    variances = {m: float(t.rows[0].variance()) for m, t in noise.noise.items()}
    parts = choose_margins(shape, universe, dataset, variances)
    return (
        shape,
        tabulate(stored.engine, shape),
        described.add_description_noise(tabulate(stored.engine, shape), parts, noise),
    )


def released_cells(margin, dataset, noise):
    """Every base cell of a margin with its noise, by position."""
    lengths = [len(dataset.variable(name)) for name in margin]
    base = noise.of(margin, [np.arange(length) for length in lengths])
    empty = margin_zeros(margin, dataset)
    return {place: int(base[place]) for place in product(*map(range, lengths)) if not empty[place]}


def slow_noise(shape, place, margin, dataset, noise):
    """Add the noise of each base cell that lies within the described cell, one at a time."""
    wanted = {d.name: set(d.members()[i]) for d, i in zip(shape.dimensions, place, strict=True)}
    for hidden in shape.filters:
        wanted[hidden.name] = set(hidden.members)
    total = terms = 0
    for cell, value in released_cells(margin, dataset, noise).items():
        if all(_belongs(dataset, margin, cell, name, members) for name, members in wanted.items()):
            total, terms = total + value, terms + 1
    return total, terms


def _belongs(dataset, margin, cell, name, members):
    if len(members) == len(dataset.variable(name)):
        return True
    for own, position in zip(margin, cell, strict=True):
        if own == name:
            return position in members
        up = ancestors(dataset, own, name)
        if up is not None:
            return int(up[position]) in members
        down = ancestors(dataset, name, own)
        if down is not None:
            children = set(np.flatnonzero(down == position).tolist())
            assert children <= members or not children & members
            return bool(children & members)
    raise AssertionError(name)


REQUESTS = [
    {"rows": ("sex",)},
    {"rows": ("sex",), "columns": ("age",)},
    {"rows": ("region",), "columns": ("area",)},
    {"rows": ("age",), "columns": ("sex",), "layers": ("job",)},
    {"rows": ("job",), "groups": (("job", (("0", "9"), ("1",))),)},
    {"rows": ("age",), "filters": (("job", ("1", "2")),)},
    {"rows": ("area",), "filters": (("region", ("S",)),)},
    {"rows": ("area",), "filters": (("area", ("S3", "N1")),), "columns": ("sex",)},
    {"rows": ("region",), "columns": ("age",), "filters": (("age", ("adult", "old")),), "totals": False},
]


@pytest.mark.parametrize("style", ["own", "sums"])
@pytest.mark.parametrize("request_", REQUESTS)
def test_an_answer_is_the_sum_of_its_released_base_cells(stored, dataset, secret, style, request_):
    universe = parse_universe({**UNIVERSE, "margins": style}, dataset)
    noise = noise_of(dataset, universe, secret)
    shape, exact, cells = answer(stored, dataset, noise, universe, TableRequest("town", **request_))
    for place in product(*map(range, shape.lengths)):
        margin = cells.distribution.margins[cells.distribution.margin[place]][0]
        total, terms = slow_noise(shape, place, margin, dataset, noise)
        assert cells.noisy[place] - exact.counts[place] == total
        assert cells.distribution.terms[place] == terms
        distribution = cells.distribution.at(*place)
        assert (distribution is NO_NOISE) == (terms == 0)
        if terms:
            assert float(distribution.variance) == pytest.approx(cells.distribution.variance()[place])


def test_cells_of_one_block_have_the_noise_of_their_own_margin_only(stored, dataset, secret):
    """The north is best added up from its two areas, the south taken from the margin of regions."""
    universe = parse_universe({"variables": ["region", "area"], "up_to": 1}, dataset)
    noise = noise_of(dataset, universe, secret)
    for margin, V in ((("area",), 10.0), (("region",), 25.0)):
        noise = noise.with_table(margin, build("gaussian", {"V": V}, 2**64))
    request = TableRequest("town", ("region",), totals=False)
    shape, exact, cells = answer(stored, dataset, noise, universe, request)
    for place, margin in enumerate((("area",), ("region",))):
        assert cells.distribution.margins[cells.distribution.margin[place]][0] == margin
        total, terms = slow_noise(shape, (place,), margin, dataset, noise)
        assert (cells.noisy[place] - exact.counts[place], cells.distribution.terms[place]) == (total, terms)


def test_empty_cells_are_noised_and_structural_zeros_are_not(stored, dataset, secret):
    universe = parse_universe({"variables": ["age", "job"], "up_to": 2}, dataset)
    noise = noise_of(dataset, universe, secret)
    _, exact, cells = answer(
        stored, dataset, noise, universe, TableRequest("town", ("age",), ("job",), totals=False)
    )
    assert cells.distribution.terms[0].tolist() == [1, 0, 0, 0]
    assert cells.noisy[0, 1:].tolist() == [0, 0, 0]
    fine = parse_universe({"tables": [["area", "job", "sex", "age"]], "variables": [], "up_to": 0}, dataset)
    noise = noise_of(dataset, fine, secret)
    request = TableRequest("town", ("area", "sex"), ("age", "job"), totals=False)
    _, exact, cells = answer(stored, dataset, noise, fine, request)
    empty = (exact.counts == 0) & (cells.distribution.terms == 1)
    assert empty.sum() >= 1
    assert (
        cells.noisy[cells.distribution.terms == 1] != exact.counts[cells.distribution.terms == 1]
    ).mean() > 0.5


def test_a_known_total_is_exact(stored, dataset, secret, town):
    universe = parse_universe({"variables": ["sex"], "up_to": 1}, dataset, known_total=True)
    noise = noise_of(dataset, universe, secret)
    _, _, cells = answer(stored, dataset, noise, universe, TableRequest("town", ("sex",)))
    assert cells.noisy[-1] == town.records.num_rows
    assert cells.distribution.margin.tolist() == [0, 0, PUBLIC]
    assert cells.distribution.at(2) is NO_NOISE


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lambda: build("maxent", {"D": 5, "V": 3, "js": 2}), "rows"),
        (lambda: build("hellinger", {"epsilon": 1.0}), "rows"),
        (lambda: NoiseTable(4, (NoiseRow((0,), (4,)),)), "never changes"),
    ],
)
def test_noise_that_depends_on_the_count_or_is_none_is_refused(dataset, secret, table, words):
    noise = {("sex",): table()}
    with pytest.raises(BadNoiseTable, match=words):
        described.DescriptionNoise(secret, dataset, "1", "f", noise)
