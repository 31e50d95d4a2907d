"""Trusted proxies: the client address and scheme of a request behind a proxy.

    trusted_proxies = "10.0.0.5, 10.1.0.0/16"

For a connection from such an address, `X-Forwarded-For` gives the client (its last address that is no trusted proxy) and
`X-Forwarded-Proto` the scheme. Account headers are accepted from these addresses only (`identity`). Without the option the
loopback addresses are trusted for the client address and the scheme, never for accounts. Source: RFC 7239, section 8.1.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import Scope

from discreet.errors import BadOption

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def parse_networks(given: str | None, option: str) -> Networks:
    """The addresses and networks of an option.

    >>> parse_networks("10.0.0.5,fd00::/8", "trusted_proxies")
    (IPv4Network('10.0.0.5/32'), IPv6Network('fd00::/8'))

    Raises:
        BadOption: One of them is neither.
    """
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in (given or "").split(",") if part.strip())
    except ValueError:
        raise BadOption(
            f"The option {option} is {given!r}.",
            "Give addresses and networks, as in 10.0.0.5,192.168.0.0/16,fd00::/8.",
        ) from None


LOOPBACK = parse_networks("127.0.0.0/8,::1", "")


@lru_cache(65_536)
def in_networks(address: str, networks: Networks) -> bool:
    """Whether an address is in one of the networks; False for what is no address.

    >>> in_networks("127.0.0.1", LOOPBACK), in_networks("::ffff:127.0.0.1", LOOPBACK), in_networks("x", LOOPBACK)
    (True, True, False)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    plain = getattr(found, "ipv4_mapped", None) or found
    return any(plain in network for network in networks)


def apply_forwarded_headers(scope: Scope, trusted: Networks) -> bool:
    """Set the client and scheme that a trusted proxy forwards; returns whether its account headers are accepted."""
    peer = str(scope["client"][0]) if scope.get("client") else ""
    if in_networks(peer, trusted or LOOPBACK):
        headers = Headers(scope=scope)
        scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        if scheme in {"http", "https"}:
            scope["scheme"] = scheme
        for address in reversed(",".join(headers.getlist("x-forwarded-for")).split(",")):
            if address.strip() and not in_networks(address.strip(), trusted or LOOPBACK):
                scope["client"] = (address.strip()[:100], 0)
                break
    return in_networks(peer, trusted)
