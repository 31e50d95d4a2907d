"""Keys that are lent: those of one lineage, for the owner's eyes, and never the secret."""

import pickle

import pytest

from discreet.errors import SecretUnusable
from discreet.records.lent_keys import LentKeys, lend_keys, lent_labels


def test_the_lent_keys_are_those_of_the_secret(secret, tmp_path):
    lent = LentKeys(lend_keys(secret, "town", tmp_path))
    assert [lent.derive(*each) for each in lent_labels("town")] == [
        secret.derive(*each) for each in lent_labels("town")
    ]


def test_the_secret_and_other_keys_are_not_in_the_file(secret, tmp_path):
    """The wrong alternative is to lend the secret itself: whoever has it has the noise of every dataset."""
    path = lend_keys(secret, "town", tmp_path)
    written = path.read_text("ascii")
    assert path.stat().st_mode & 0o077 == 0
    assert secret._material.hex() not in written
    assert secret.derive("cell-key", "town").hex() not in written
    with pytest.raises(SecretUnusable, match="not lent"):
        LentKeys(path).derive("record-key", "another")
    with pytest.raises(SecretUnusable, match="not lent"):
        LentKeys(path).derive("cell-key", "town")


def test_lent_keys_cannot_be_shipped(secret, tmp_path):
    lent = LentKeys(lend_keys(secret, "town", tmp_path))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(lent)
    assert repr(lent) == "<Secret>"
