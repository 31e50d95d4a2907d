"""The signing key: a workspace signs what it hands out, and its public key verifies the signature.

    key = signing_key(folder)             made once, next to the secret, readable by its owner only
    signature = key.sign(b"...")          64 bytes, Ed25519
    key.public.verify(signature, b"...")  or `SignatureUnusable`

The key is independent of the secret: someone who steals it can sign in the office's name and learns no number.

Source: RFC 8032 (Ed25519); keys as PEM, PKCS 8 and SubjectPublicKeyInfo (RFC 8410).
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import SignatureUnusable
from discreet.records.keys import read_guarded, write_guarded

#: The file of the key in a workspace.
SIGNING_KEY = "signing-key.pem"
_RESTORE = "Restore the file from your backup; a new key is a new name, which readers do not know yet."


class PublicKey:
    """The public half of a signing key, which verifies signatures."""

    __slots__ = ("_key", "text")

    def __init__(self, text: str) -> None:
        try:
            key = pem.load_pem_public_key(text.encode())
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise SignatureUnusable(
                "This is no public key of Ed25519.", "Give the file that `discreet public-key` writes."
            )
        self._key = key
        #: As PEM.
        self.text = key.public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the 32 bytes of the key, for people who compare keys."""
        return sha256(self._key.public_bytes(pem.Encoding.Raw, pem.PublicFormat.Raw)).hexdigest()

    def verify(self, signature: bytes, message: bytes) -> None:
        """Raise `SignatureUnusable` unless the owner of the key signed the message."""
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            raise SignatureUnusable(
                f"The signature is not that of the key {self.fingerprint[:16]}.",
                "Get the file again from whoever signed it, and compare the public key with theirs.",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[type[PublicKey], tuple[str]]:
        return PublicKey, (self.text,)

    def __repr__(self) -> str:
        return f"<PublicKey {self.fingerprint[:16]}>"


class SigningKey:
    """The key that signs; its bytes are not accessible, and it cannot be printed, pickled or copied."""

    __slots__ = ("_key",)

    def __init__(self, text: bytes) -> None:
        try:
            key = pem.load_pem_private_key(text, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise SignatureUnusable("The signing key is no private key of Ed25519 as PEM.", _RESTORE)
        self._key = key

    @property
    def public(self) -> PublicKey:
        """The public half."""
        key = self._key.public_key()
        return PublicKey(key.public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo).decode())

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of a message, deterministic."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return "<SigningKey>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a SigningKey cannot be pickled or copied")


def signing_key(folder: Path) -> SigningKey:
    """The signing key of a workspace; created if there is none, and refused if damaged or readable by others."""
    path = folder / SIGNING_KEY
    made = Ed25519PrivateKey.generate()  # an existing one is kept
    write_guarded(path, made.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))
    return SigningKey(read_guarded(path, "signing key", _RESTORE, SignatureUnusable))


def read_public_key(path: Path) -> PublicKey:
    """The public key of a PEM file."""
    try:
        return PublicKey(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise SignatureUnusable(
            f"The public key {str(path)!r} cannot be read.", "Write it with `discreet public-key --out FILE`."
        ) from None
