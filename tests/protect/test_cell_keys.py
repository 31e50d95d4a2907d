import hashlib
import hmac
import json

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from discreet.model.dataset_toml import parse_dataset
from discreet.model.protection import Protection
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.protect.cell_keys import cell_chances, cell_keys, xor_of_bytes

SUMS = np.array([0, 1, 2**32, 2**63 + 12345, 2**64 - 1], dtype=np.uint64)
PLACES = np.arange(5)


def keys_of(secret, mode, shape=None, sums=SUMS, places=PLACES, **protection):
    modulus = protection.get("modulus", 2**32)
    return cell_keys(secret, "town", Protection(keys=mode, **protection), modulus)(shape)(sums, places)


def slow_hash(key: bytes, low: int, high: int) -> int:
    block = low.to_bytes(8, "little") + high.to_bytes(8, "little")
    return int.from_bytes(Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block)[:8], "little")


@pytest.mark.parametrize("modulus", [2**8, 2**32, 2**64, 10**8])
def test_hashed_keys_are_what_the_definition_says(secret, modulus):
    key = secret.derive("cell-key", "town")
    expected = [slow_hash(key, int(total), 0) % modulus for total in SUMS]
    assert keys_of(secret, "hashed", modulus=modulus).tolist() == expected


def test_chances_have_a_key_of_their_own(secret):
    """The key of the noise, the wrong alternative, would tell of the noise what a rung tells of a chance."""
    found = cell_chances(secret, "town")(SUMS)
    own, noise = (secret.derive(name, "town") for name in ("cell-chance", "cell-key"))
    assert found.tolist() == [(slow_hash(own, int(total), 0) >> 11) / 2**53 for total in SUMS]
    assert found.tolist() != [(slow_hash(noise, int(total), 0) >> 11) / 2**53 for total in SUMS]


def test_additive_keys_are_sums_modulo_the_modulus(secret):
    assert keys_of(secret, "additive", modulus=256).tolist() == [int(total) % 256 for total in SUMS]
    assert keys_of(secret, "additive", modulus=2**64).tolist() == SUMS.tolist()


def test_abs_keys_fold_four_bytes_of_the_sum_modulo_a_prime(secret):
    expected = []
    for total in SUMS:
        one, two, three, four = (int(total) % 4_294_967_291).to_bytes(4, "big")
        expected.append(one ^ two ^ three ^ four)
    assert keys_of(secret, "abs", modulus=256).tolist() == expected


@given(st.integers(0, 2**32 - 1))
def test_the_xor_of_bytes_is_the_xor_of_bytes(number):
    one, two, three, four = number.to_bytes(4, "big")
    assert xor_of_bytes(np.array([number], dtype=np.uint64)).tolist() == [one ^ two ^ three ^ four]


class TestParticipantsAndDescription:
    """Rinott et al. 2.2: the same people asked in other words get other noise."""

    @pytest.fixture
    def dataset(self, town):
        return parse_dataset(town.description)

    def keys(self, secret, dataset, **parts):
        shape = table_shape(canonical(request_from_text("town", **parts), dataset), dataset)
        sums = np.full(shape.cells, 7, dtype=np.uint64)
        found = cell_keys(secret, "town", Protection(keys="participants-and-description"), 2**32)(shape)(
            sums, np.arange(shape.cells)
        )
        return found.reshape(shape.lengths)

    def test_the_key_is_what_the_definition_says(self, secret, dataset):
        found = self.keys(secret, dataset, rows=["sex"], filters=["age=old,child"])
        describe = secret.derive("cell-description", "town")

        def token(name, codes):
            message = json.dumps([name, sorted(codes)], separators=(",", ":")).encode()
            return int.from_bytes(hmac.new(describe, message, hashlib.sha256).digest()[:8], "little")

        description = (token("age", ["child", "old"]) + token("sex", ["1"])) % 2**64
        key = secret.derive("cell-key-described", "town")
        assert int(found[0]) == slow_hash(key, 7, description) % 2**32

    def test_different_descriptions_of_the_same_people_differ(self, secret, dataset):
        found = self.keys(secret, dataset, rows=["sex"], columns=["age"])
        assert len(np.unique(found)) == found.size

    def test_a_slice_and_a_filter_that_say_the_same_agree(self, secret, dataset):
        table = self.keys(secret, dataset, rows=["sex"], columns=["age"])
        filtered = self.keys(secret, dataset, rows=["sex"], filters=["age=adult"])
        assert filtered.tolist() == table[:, 1].tolist()

    def test_the_layout_does_not_matter(self, secret, dataset):
        table = self.keys(secret, dataset, rows=["sex"], columns=["age"])
        assert self.keys(secret, dataset, rows=["age"], columns=["sex"]).tolist() == table.T.tolist()

    def test_a_group_of_everybody_is_the_total(self, secret, dataset):
        found = self.keys(secret, dataset, rows=["age"], groups=["age=child+adult+old"])
        assert found[0] == found[1]
