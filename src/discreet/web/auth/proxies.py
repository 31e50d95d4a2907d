"""A proxy before the server: which addresses are believed when they tell who sent a request on.

    trusted_proxies = "10.0.0.5, 10.1.0.0/16"

Of a request that arrives from such an address the reader's address is the last one of `X-Forwarded-For` that is no
trusted proxy, and the scheme is that of `X-Forwarded-Proto`. The account that a proxy names (`sign_in`) is believed of
these addresses alone. Without the option the machine itself is believed as to address and scheme, never as to accounts.

Source: RFC 7239, section 8.1.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import BadOption

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
#: The address that a connection came from, before a proxy said anything.
PEER = "discreet.peer"
#: Whether what it says of accounts is believed.
BELIEVED = "discreet.believed"


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
    """Whether an address belongs to one of some networks; what is no address belongs to none.

    >>> in_networks("127.0.0.1", LOOPBACK), in_networks("::ffff:127.0.0.1", LOOPBACK), in_networks("somewhere", LOOPBACK)
    (True, True, False)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    plain = getattr(found, "ipv4_mapped", None) or found
    return any(plain in network for network in networks)


class ProxyMiddleware:
    """Puts the reader's address and scheme in the place of the proxy's.

    Args:
        app: What answers.
        trusted: The networks of `trusted_proxies`.
    """

    def __init__(self, app: ASGIApp, trusted: Networks) -> None:
        self.app = app
        self.trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with the address of the reader."""
        if scope["type"] == "http":
            peer = str(scope["client"][0]) if scope.get("client") else ""
            scope = {**scope, PEER: peer, BELIEVED: in_networks(peer, self.trusted)}
            if in_networks(peer, self.trusted or LOOPBACK):
                scope |= _forwarded(Headers(scope=scope), self.trusted or LOOPBACK)
        await self.app(scope, receive, send)


def _forwarded(headers: Headers, trusted: Networks) -> Scope:
    """The address and the scheme that a proxy tells, as far as it tells them."""
    found: Scope = {}
    scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
    if scheme in {"http", "https"}:
        found["scheme"] = scheme
    chain = [part.strip() for line in headers.getlist("x-forwarded-for") for part in line.split(",")]
    reader = _last_untrusted(chain, trusted)
    if reader:
        found["client"] = (reader, 0)
    return found


def _last_untrusted(chain: Sequence[str], trusted: Networks) -> str:
    return next((part for part in reversed(chain) if part and not in_networks(part, trusted)), "")[:100]
