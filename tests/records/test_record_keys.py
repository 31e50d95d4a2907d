import hashlib

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from discreet.records.record_keys import record_keys
from discreet.records.secret import Secret

FALSE_ALARM = 1e-6


def half_hashes(ids):
    return np.array([list(hashlib.sha256(str(i).encode()).digest()[:16]) for i in ids], dtype=np.uint8)


def slow_record_key(secret: Secret, lineage: str, record_id: str) -> int:
    """The definition, one id at a time: the last four bytes of AES-256(K, first half of SHA-256(id))."""
    encryptor = Cipher(algorithms.AES256(secret.derive("record-key", lineage)), modes.ECB()).encryptor()
    block = encryptor.update(hashlib.sha256(record_id.encode()).digest()[:16])
    return int.from_bytes(block[-4:], "big")


def test_record_keys_are_what_the_definition_says(secret):
    ids = [f"person {n}" for n in range(50)]
    expected = [slow_record_key(secret, "town", i) for i in ids]
    assert record_keys(secret, "town", half_hashes(ids)).tolist() == expected


def test_record_keys_depend_on_id_lineage_and_secret_and_on_nothing_else(secret):
    hashes = half_hashes(range(200))
    keys = record_keys(secret, "town", hashes)
    order = np.random.default_rng(1).permutation(200)
    assert (record_keys(secret, "town", hashes[order]) == keys[order]).all()
    assert (record_keys(secret, "other", hashes) != keys).mean() > 0.99
    assert (record_keys(Secret(bytes(range(32))), "town", hashes) != keys).mean() > 0.99


def test_record_keys_are_uniform(secret):
    keys = record_keys(secret, "town", half_hashes(range(20_000)))
    for shift in (0, 24):
        counts = np.bincount((keys >> shift) & 0xFF, minlength=256)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_no_records_give_no_keys(secret):
    assert record_keys(secret, "town", np.empty((0, 16), dtype=np.uint8)).size == 0
