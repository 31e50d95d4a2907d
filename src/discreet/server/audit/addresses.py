"""How the addresses of readers are kept: as the office decides.

    hashed       a keyed hash: the same reader has the same name, and nobody without the secret knows whose (default)
    truncated    the network: /24 of IPv4, /48 of IPv6
    full         the address
    none         nothing: then nobody who asks without an account can be told from another

Limits count by the keyed hash in every case; it is kept for seconds, in a file of the server (`server/access/shared.py`).
An address of IPv6 counts by its /64, which is one household.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from functools import lru_cache

from discreet.errors import BadOption

KEPT = ("hashed", "truncated", "full", "none")
_LETTERS = 16


class Addresses:
    """What is kept of addresses.

    Args:
        key: Of the hash.
        kept: One of `KEPT`.
    """

    def __init__(self, key: bytes, kept: str = KEPT[0]) -> None:
        if kept not in KEPT:
            raise BadOption(f"The option log_addresses is {kept!r}.", f"Give one of: {', '.join(KEPT)}.")
        self._key = key
        self._kept = kept
        self.hashed = lru_cache(65_536)(self._hashed)
        self.kept = lru_cache(65_536)(self._as_kept)

    def _as_kept(self, address: str) -> str:
        if self._kept == "hashed":
            return self._hashed(address)
        if self._kept == "truncated":
            return _network(address, 24, 48)
        return address if self._kept == "full" else ""

    def _hashed(self, address: str) -> str:
        raw = _network(address, 32, 64).encode()
        return hmac.digest(self._key, raw, hashlib.sha256).hex()[:_LETTERS]


def _network(address: str, of_four: int, of_six: int) -> str:
    """The network of an address; what is no address stays as it is.

    >>> _network("203.0.113.7", 24, 48), _network("2001:db8:1:2::3", 24, 48)
    ('203.0.113.0/24', '2001:db8:1::/48')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    plain = getattr(found, "ipv4_mapped", None) or found
    return str(ipaddress.ip_network((plain, of_four if plain.version == 4 else of_six), strict=False))
