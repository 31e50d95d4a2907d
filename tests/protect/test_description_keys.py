"""Description keys by their definition, and independence of everything that must not matter."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.model.dataset_toml import parse_dataset
from discreet.protect.description_keys import NoiseContext, block_keys, margin_cells, margin_keys

CONTEXT = NoiseContext("town", "1", "ab" * 16, "laplace:1.0:feed")
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
def dataset():
    return parse_dataset(HEAD + VARIABLES)


def test_a_key_is_a_word_of_the_counter_stream_as_defined(dataset, secret):
    cells = margin_cells(("a", "b"), dataset)
    domain = [["a", ["1", "10", "2", "3"]], ["b", ["x", "y", "z"]]]
    digest = hashlib.sha256(json.dumps(domain, separators=(",", ":")).encode()).hexdigest()
    key = secret.derive("description-noise", "town", "1", "ab" * 16, "laplace:1.0:feed", digest)
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(12 * 8))
    words = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(12)]
    assert margin_keys(secret, CONTEXT, cells, 12).tolist() == words
    assert margin_keys(secret, CONTEXT, cells, 12, 2**10).tolist() == [word % 2**10 for word in words]


def test_the_keys_never_change(dataset, secret):
    """A golden value: published noise depends on it."""
    keys = margin_keys(secret, CONTEXT, margin_cells(("a", "b"), dataset), 3)
    assert keys.tolist() == GOLDEN


GOLDEN = [9160279663175499494, 12593714258619322382, 6768645093828969449]


@given(st.lists(st.integers(0, 10**12), max_size=40))
def test_a_place_of_the_stream_is_read_as_the_whole_has_it(dataset, secret, places):
    cells = margin_cells(("a", "b"), dataset)
    near = np.array([place % 5000 for place in places], dtype=np.int64)
    whole = margin_keys(secret, CONTEXT, cells, 5000)
    assert np.array_equal(margin_keys(secret, CONTEXT, cells, near), whole[near])
    far = np.array(places, dtype=np.int64)
    one_by_one = [int(margin_keys(secret, CONTEXT, cells, far[n : n + 1])[0]) for n in range(far.size)]
    assert margin_keys(secret, CONTEXT, cells, far).tolist() == one_by_one


@given(st.permutations(range(4)), st.permutations(range(3)), st.integers(0, 4), st.integers(0, 3))
def test_a_slice_has_the_keys_of_the_whole_in_any_order(dataset, secret, a, b, some_a, some_b):
    cells = margin_cells(("b", "a"), dataset)
    full = block_keys(secret, CONTEXT, cells, [np.arange(4), np.arange(3)])
    kept = [np.array(a[:some_a], dtype=np.int64), np.array(b[:some_b], dtype=np.int64)]
    assert np.array_equal(block_keys(secret, CONTEXT, cells, kept), full[np.ix_(*kept)])


def test_the_order_of_categories_and_variables_does_not_matter(dataset, secret):
    other = parse_dataset(
        HEAD
        + '[[variable]]\nname = "a"\ncategories = ["1", "2", "3", "10"]\n'
        + '[[variable]]\nname = "b"\ncategories = ["z", "x", "y"]\n'
    )
    mine = block_keys(secret, CONTEXT, margin_cells(("a", "b"), dataset), [np.arange(4), np.arange(3)])
    yours = block_keys(secret, CONTEXT, margin_cells(("b", "a"), other), [np.arange(4), np.arange(3)])
    for i, code in enumerate(dataset.variable("a").codes):
        for j, other_code in enumerate(dataset.variable("b").codes):
            place = other.variable("a").position(code), other.variable("b").position(other_code)
            assert mine[i, j] == yours[place]


@pytest.mark.parametrize("field", ["dataset", "version", "fingerprint", "mechanism"])
def test_every_part_of_the_context_gives_other_keys(dataset, secret, field):
    cells = margin_cells(("a", "b"), dataset)
    other = replace(CONTEXT, **{field: getattr(CONTEXT, field) + "x"})
    here, there = (margin_keys(secret, context, cells, 1000) for context in (CONTEXT, other))
    assert not (here == there).any()


def test_margins_and_domains_have_keys_of_their_own(dataset, secret):
    wider = parse_dataset(HEAD + VARIABLES.replace('"z"]', '"z", "w"]'))
    keys = [
        margin_keys(secret, CONTEXT, cells, 1000)
        for cells in (
            margin_cells(("a",), dataset),
            margin_cells(("b",), dataset),
            margin_cells((), dataset),
            margin_cells(("b",), wider),
        )
    ]
    for n, one in enumerate(keys):
        for other in keys[n + 1 :]:
            assert not (one == other).any()


def test_parts_of_the_context_cannot_run_into_each_other(dataset, secret):
    cells = margin_cells(("a",), dataset)
    one = margin_keys(secret, NoiseContext("town", "12", "f", "m"), cells, 4)
    two = margin_keys(secret, NoiseContext("town", "1", "2f", "m"), cells, 4)
    assert not (one == two).any()


@pytest.mark.parametrize("modulus", [10**8, 3, 0, 2**65])
def test_a_modulus_whose_keys_are_not_uniform_is_refused(dataset, secret, modulus):
    with pytest.raises(BadNoiseTable, match="uniform"):
        margin_keys(secret, CONTEXT, margin_cells(("a",), dataset), 4, modulus)


def test_the_grand_total_is_one_cell(dataset, secret):
    cells = margin_cells((), dataset)
    assert cells.cells == 1
    assert block_keys(secret, CONTEXT, cells, []).shape == ()
