"""The secret and its keys: AES-256, tags, lent keys, and the signing key."""

import ast
import copy
import errno
import hashlib
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import SecretUnusable, SignatureUnusable
from discreet.records import keys as key_module
from discreet.records.keys import (
    LentKeys,
    Purpose,
    Secret,
    counter_words,
    counter_words_at,
    create_secret,
    encipher,
    lend_keys,
    lent_labels,
    read_secret,
    record_keys,
    record_tag,
)
from discreet.records.signing import SIGNING_KEY, PublicKey, read_public_key, signing_key


def test_a_new_secret_is_256_random_bits_that_only_its_owner_can_ever_read(tmp_path):
    previous = os.umask(0)
    try:
        create_secret(tmp_path / "one")
    finally:
        os.umask(previous)
    create_secret(tmp_path / "two")
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    assert len((tmp_path / "one").read_bytes()) == 32
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


def test_a_copy_that_a_crash_left_is_removed_by_the_next_call(tmp_path):
    create_secret(tmp_path / "secret")
    (tmp_path / ".secret-0123456789abcdef").hardlink_to(tmp_path / "secret")
    before = (tmp_path / "secret").read_bytes()
    create_secret(tmp_path / "secret")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("secret", before)]
    (tmp_path / "secret").rename(tmp_path / ".secret-0123456789abcdef")  # it had no name yet
    create_secret(tmp_path / "secret")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    "material",
    [b"", b"short", b"\0" * 32, b"changeme" * 4, bytes(range(11)) * 4],
    ids=lambda m: f"{len(m)} bytes",
)
def test_a_short_or_guessable_secret_is_refused(material, tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(material)
    path.chmod(0o600)
    with pytest.raises(SecretUnusable) as raised:
        read_secret(path)
    assert material.hex() not in str(raised.value) or not material


def test_a_missing_secret_or_a_folder_in_its_place_is_refused(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(SecretUnusable):
            read_secret(path)


def test_keys_for_different_purposes_differ(secret):
    derived = {
        secret.derive(*labels) for labels in [("a",), ("b",), ("a", "b"), ("ab",), ("a", ""), ("", "a")]
    }
    assert len(derived) == 6


def test_a_secret_that_cannot_be_written_whole_has_no_name(tmp_path, monkeypatch):
    """Wrong alternative: to write under the name itself. A full disk or a kill then leaves an empty secret."""

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        create_secret(tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_two_secrets_stays_also_without_links(tmp_path, monkeypatch):
    create_secret(tmp_path / "secret")
    first = (tmp_path / "secret").read_bytes()
    monkeypatch.setattr(type(tmp_path), "exists", lambda _path: False)  # another process was quicker
    create_secret(tmp_path / "secret")
    monkeypatch.setattr(os, "link", lambda *_paths: (tmp_path / "none").stat())  # an error of the system
    create_secret(tmp_path / "secret")
    create_secret(tmp_path / "other")
    assert (tmp_path / "secret").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "secret"]
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o600


KEY = bytes(range(32))


def test_each_block_is_enciphered_by_itself_and_none_gives_none():
    blocks = np.random.RandomState(1).randint(0, 256, (5, 16)).astype(np.uint8)
    whole = encipher(KEY, blocks)
    assert np.array_equal(whole[3:4], encipher(KEY, blocks[3:4]))
    assert encipher(KEY, blocks[:0]).shape == (0, 16)
    with pytest.raises(ValueError, match="16 bytes"):
        encipher(KEY, blocks.reshape(10, 8))


def test_a_word_of_the_stream_is_the_same_wherever_it_is_asked_for():
    stream = counter_words(KEY, 11)
    places = np.array([[10, 0], [3, 7]])
    assert np.array_equal(counter_words_at(KEY, places), stream[places])
    assert counter_words(KEY, 0).size == 0


def half_hashes(ids):
    return np.array([list(hashlib.sha256(str(i).encode()).digest()[:16]) for i in ids], dtype=np.uint8)


def slow_record_key(secret: Secret, lineage: str, record_id: str) -> int:
    """The definition, one id at a time: the last four bytes of AES-256(K, first half of SHA-256(id))."""
    encryptor = Cipher(algorithms.AES256(secret.derive("record-key", lineage)), modes.ECB()).encryptor()
    block = encryptor.update(hashlib.sha256(record_id.encode()).digest()[:16])
    return int.from_bytes(block[-4:], "big")


@pytest.mark.parametrize("lineage", ["town", "other"])
def test_record_keys_are_what_the_definition_says(secret, lineage):
    ids = [f"person {n}" for n in range(50)]
    expected = [slow_record_key(secret, lineage, i) for i in ids]
    assert record_keys(secret, lineage, half_hashes(ids)).tolist() == expected


def test_another_version_and_another_secret_have_another_tag(secret):
    """The wrong alternative: the first line of `secret.check`, which is next to the records for all to copy."""
    tags = {
        record_tag(secret, "a" * 32),
        record_tag(secret, "b" * 32),
        secret.derive("secret-check", "a" * 32).hex(),
    }
    assert len(tags | {record_tag(Secret(bytes(range(60, 92))), "a" * 32)}) == 4


def test_keys_are_lent_and_neither_the_secret_nor_another_key_is(secret, tmp_path):
    """The wrong alternative is to lend the secret itself: whoever has it has the noise of every dataset."""
    path = lend_keys(secret, "town", tmp_path)
    written, lent = path.read_text("ascii"), LentKeys(path)
    assert all(lent.derive(*each) == secret.derive(*each) for each in lent_labels("town"))
    assert path.stat().st_mode & 0o077 == 0
    assert secret._material.hex() not in written
    assert secret.derive("cell-key", "town").hex() not in written
    for labels in (("record-key", "another"), ("cell-key", "town")):
        with pytest.raises(SecretUnusable, match="not lent"):
            lent.derive(*labels)


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    first = signing_key(tmp_path)
    assert stat.S_IMODE((tmp_path / SIGNING_KEY).stat().st_mode) == 0o600
    assert signing_key(tmp_path).public == first.public
    other = tmp_path / "other"
    other.mkdir()
    assert signing_key(other).public != first.public


def test_a_signature_holds_for_its_message_and_its_key_only(tmp_path):
    key = signing_key(tmp_path)
    signature = key.sign(b"one")
    public = PublicKey(key.public.text)
    public.verify(signature, b"one")
    other = tmp_path / "other"
    other.mkdir()
    for wrong in (
        lambda: public.verify(signature, b"two"),
        lambda: public.verify(signature[:-1] + bytes([signature[-1] ^ 1]), b"one"),
        lambda: public.verify(b"", b"one"),
        lambda: signing_key(other).public.verify(signature, b"one"),
    ):
        with pytest.raises(SignatureUnusable, match="not that of the key"):
            wrong()


def test_a_public_key_is_a_file_of_its_own(tmp_path):
    key = signing_key(tmp_path)
    (tmp_path / "public.pem").write_text(key.public.text)
    assert read_public_key(tmp_path / "public.pem") == key.public
    assert pickle.loads(pickle.dumps(key.public)) == key.public  # servers of several processes take it along
    for name, text in (("signing key", (tmp_path / SIGNING_KEY).read_text()), ("words", "nothing")):
        (tmp_path / name).write_text(text)
        with pytest.raises(SignatureUnusable, match="no public key"):
            read_public_key(tmp_path / name)
    with pytest.raises(SignatureUnusable, match="cannot be read"):
        read_public_key(tmp_path / "nowhere")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o606])
def test_keys_that_others_can_read_or_that_are_none_are_refused(mode, tmp_path):
    create_secret(tmp_path / "secret")
    signing_key(tmp_path)
    for path in tmp_path.iterdir():
        path.chmod(mode)
    with pytest.raises(SecretUnusable, match="others"):
        read_secret(tmp_path / "secret")
    with pytest.raises(SignatureUnusable, match="others"):
        signing_key(tmp_path)
    (tmp_path / SIGNING_KEY).chmod(0o600)
    (tmp_path / SIGNING_KEY).write_text("nothing")
    with pytest.raises(SignatureUnusable, match="no private key"):
        signing_key(tmp_path)


def test_keys_show_nothing_of_themselves_and_cannot_be_sent(secret, tmp_path):
    key, lent = signing_key(tmp_path), LentKeys(lend_keys(secret, "town", tmp_path))
    inside = (tmp_path / SIGNING_KEY).read_text().splitlines()[1]
    assert inside not in repr(key) + str(key) + key.public.text
    assert {repr(secret), str(secret), f"{secret}", repr(lent)} == {"<Secret>"}
    for private in (secret, key, lent):
        for send in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled"):
                send(private)


def test_purposes_never_change_and_no_module_spells_a_label_itself():
    """Another label is another key: published numbers and sealed files would change."""
    labels = (
        "record-key record-fingerprint records-tag records-hash part unit id-sketch id-sketch-file id-sketch-seal "
        "cell-key cell-key-described magnitude cell-description cell-chance empty-cell empty-description description-noise "
        "named-noise residual-noise survey-constant secret-check version-seal history wording cubes-seal cubes-hash "
        "ledger-chain ledger-mark backup"
    )
    assert {*Purpose} == {*labels.split(), "log of requests"}
    for path in Path(key_module.__file__).parents[1].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "derive" and node.args:
                assert not isinstance(node.args[0], ast.Constant), (path, node.lineno)
