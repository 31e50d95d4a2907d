"""Addresses are kept as the office decides."""

import pytest

from discreet.errors import BadOption
from discreet.server.audit.addresses import Addresses

FOUR, SIX = "203.0.113.77", "2001:db8:1:2:3:4:5:6"


def test_what_is_kept_is_what_was_chosen():
    kept = {how: Addresses(b"k", how).kept for how in ("full", "truncated", "none", "hashed")}
    assert (kept["full"](FOUR), kept["truncated"](FOUR), kept["none"](FOUR)) == (FOUR, "203.0.113.0/24", "")
    assert kept["truncated"](SIX) == "2001:db8:1::/48"
    assert kept["hashed"](FOUR) == kept["hashed"](f"::ffff:{FOUR}") != kept["hashed"]("203.0.113.78")
    assert FOUR not in kept["hashed"](FOUR)
    assert Addresses(b"other").kept(FOUR) != kept["hashed"](FOUR), "without the key nobody can try addresses"


def test_another_word_is_refused():
    with pytest.raises(BadOption, match="log_addresses"):
        Addresses(b"k", "some")
