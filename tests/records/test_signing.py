"""What a workspace signs can be checked by anybody, and the key never leaves."""

import copy
import pickle
import stat

import pytest

from discreet.errors import SignatureUnusable
from discreet.records.signing import SIGNING_KEY, PublicKey, read_public_key, signing_key


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


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path):
    signing_key(tmp_path)
    (tmp_path / SIGNING_KEY).chmod(0o640)
    with pytest.raises(SignatureUnusable, match="others"):
        signing_key(tmp_path)
    (tmp_path / SIGNING_KEY).chmod(0o600)
    (tmp_path / SIGNING_KEY).write_text("nothing")
    with pytest.raises(SignatureUnusable, match="no private key"):
        signing_key(tmp_path)


def test_a_key_shows_nothing_of_itself(tmp_path):
    key = signing_key(tmp_path)
    inside = (tmp_path / SIGNING_KEY).read_text().splitlines()[1]
    assert inside not in repr(key) + str(key) + key.public.text
    for send in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            send(key)
