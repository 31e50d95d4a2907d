import copy
import errno
import os
import pickle
import stat

import pytest

from discreet.errors import SecretUnusable
from discreet.records.secret import Secret, create_secret, read_secret


def test_a_new_secret_is_256_random_bits_that_only_its_owner_can_read(tmp_path):
    create_secret(tmp_path / "one")
    create_secret(tmp_path / "two")
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    assert len((tmp_path / "one").read_bytes()) == 32
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


def test_an_existing_secret_is_kept(tmp_path):
    create_secret(tmp_path / "secret")
    before = (tmp_path / "secret").read_bytes()
    create_secret(tmp_path / "secret")
    assert (tmp_path / "secret").read_bytes() == before


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


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o606])
def test_a_secret_that_others_can_read_is_refused(mode, tmp_path):
    path = tmp_path / "secret"
    create_secret(path)
    path.chmod(mode)
    with pytest.raises(SecretUnusable, match="others"):
        read_secret(path)


def test_a_missing_secret_or_a_folder_in_its_place_is_refused(tmp_path):
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(SecretUnusable):
            read_secret(path)


def test_a_secret_shows_nothing_of_itself(secret):
    material = secret._material
    for text in (repr(secret), str(secret), f"{secret}"):
        assert text == "<Secret>"
        assert material.hex() not in text
    for send in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            send(secret)


def test_keys_for_different_purposes_differ(secret):
    derived = {
        secret.derive(*labels) for labels in [("a",), ("b",), ("a", "b"), ("ab",), ("a", ""), ("", "a")]
    }
    assert len(derived) == 6


def test_a_derived_key_is_fixed_for_ever():
    """HKDF-SHA256 with salt "discreet" and length-prefixed labels: docs/decisions/0001-keys.md."""
    assert Secret(bytes(range(32))).derive("record-key", "census").hex() == (
        "db412027fb21980ddbefdf52a2f49bbf3a36a014ce3754c51d21c6d5b2aacd7d"
    )


@pytest.mark.skipif(os.name != "posix", reason="modes are a POSIX matter")
def test_the_file_is_never_readable_by_others_even_for_a_moment(tmp_path, monkeypatch):
    previous = os.umask(0)
    try:
        create_secret(tmp_path / "secret")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


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
