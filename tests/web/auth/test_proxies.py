"""Proxies: what they say counts where it comes from a trusted address, and nowhere else."""

import pytest

from discreet.errors import BadOption
from discreet.web.auth.proxies import apply_forwarded_headers, parse_networks


def forwarded(peer, headers, trusted="10.0.0.5, 10.1.0.0/16"):
    """The client address and the scheme of a request, and whether account headers are accepted."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "client": (peer, 1), "scheme": "http", "headers": raw}
    accepted = apply_forwarded_headers(scope, parse_networks(trusted, "trusted_proxies"))
    return scope["client"][0], scope["scheme"], accepted


FORWARDED = {"x-forwarded-for": "203.0.113.9, 198.51.100.1, 10.1.2.3", "x-forwarded-proto": "https"}


def test_a_trusted_proxy_forwards_address_and_scheme():
    """The first address of the list is the wrong alternative: the client writes it."""
    assert forwarded("10.0.0.5", FORWARDED) == ("198.51.100.1", "https", True)


@pytest.mark.parametrize("peer", ["203.0.113.7", "10.0.0.6", "", "somewhere"])
def test_other_connections_are_not_trusted(peer):
    assert forwarded(peer, FORWARDED) == (peer, "http", False)


def test_without_the_option_loopback_forwards_addresses_and_no_accounts():
    assert forwarded("127.0.0.1", FORWARDED, trusted="") == ("10.1.2.3", "https", False)
    assert forwarded("203.0.113.7", FORWARDED, trusted="")[0] == "203.0.113.7"


def test_what_is_no_address_is_refused():
    with pytest.raises(BadOption, match="trusted_proxies"):
        parse_networks("proxy.example", "trusted_proxies")
