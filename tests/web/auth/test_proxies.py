"""Proxies: what they say counts where it comes from a trusted address, and nowhere else."""

import pytest

from discreet.errors import BadOption
from discreet.web.auth.proxies import BELIEVED, PEER, ProxyMiddleware, parse_networks


def seen_behind(peer, headers, trusted="10.0.0.5, 10.1.0.0/16"):
    """The scope that the application sees."""
    found = {}

    async def app(scope, receive, send):
        found.update(scope)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "client": (peer, 1), "scheme": "http", "headers": raw}
    layer = ProxyMiddleware(app, parse_networks(trusted, "trusted_proxies"))(scope, None, None)
    with pytest.raises(StopIteration):
        layer.send(None)
    return found


FORWARDED = {"x-forwarded-for": "203.0.113.9, 198.51.100.1, 10.1.2.3", "x-forwarded-proto": "https"}


def test_a_trusted_proxy_tells_the_address_and_the_scheme():
    """The first address of the list is the wrong alternative: the reader writes it."""
    found = seen_behind("10.0.0.5", FORWARDED)
    assert (found["client"][0], found["scheme"], found[PEER]) == ("198.51.100.1", "https", "10.0.0.5")
    assert found[BELIEVED]


@pytest.mark.parametrize("peer", ["203.0.113.7", "10.0.0.6", "", "somewhere"])
def test_anybody_else_is_not_believed(peer):
    found = seen_behind(peer, FORWARDED)
    assert (found["client"][0], found["scheme"], found[BELIEVED]) == (peer, "http", False)


def test_without_the_option_the_machine_itself_tells_addresses_and_no_accounts():
    found = seen_behind("127.0.0.1", FORWARDED, trusted="")
    assert (found["client"][0], found[BELIEVED]) == ("10.1.2.3", False)
    assert seen_behind("203.0.113.7", FORWARDED, trusted="")["client"][0] == "203.0.113.7"


def test_what_is_no_address_is_refused():
    with pytest.raises(BadOption, match="trusted_proxies"):
        parse_networks("proxy.example", "trusted_proxies")
