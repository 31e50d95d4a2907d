"""A chain of lines: each is sealed together with the one before, so that none can be changed, moved or left out.

    mac(n) = HMAC-SHA256(key, mac(n-1) || line n without its mac)

    {"seq": 7, ..., "mac": "5e88..."}

A chain tells of every line whether it stands where it was written. That its end is missing it cannot tell: `head` keeps
the last number and mac, sealed as well (`log`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any

#: What stands before the first line.
START = "0" * 32
#: What stands between a line and its mac.
_MAC = ', "mac": "'
#: So many letters of a mac are written: 128 bits.
LETTERS = 32


@dataclass(frozen=True, slots=True)
class ChainLink:
    """Where a chain has come to: the number and the mac of its last line."""

    seq: int = 0
    mac: str = START


def line_mac(key: bytes, *parts: str) -> str:
    """The mac of some texts, each with its length before it."""
    raw = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return hmac.digest(key, raw, hashlib.sha256).hex()[:LETTERS]


def sign_line(key: bytes, last: ChainLink, fields: dict[str, Any]) -> tuple[str, ChainLink]:
    """The next line of a chain, without its end of line, and where the chain has come to.

    >>> line, link = sign_line(b"key", ChainLink(), {"who": "anna"})
    >>> verify_line(b"key", ChainLink(), line) == link, verify_line(b"key", ChainLink(), line.replace("anna", "otto"))
    (True, None)
    """
    text = json.dumps({"seq": last.seq + 1, **fields}, ensure_ascii=True)
    mac = line_mac(key, last.mac, text)
    return f'{text[:-1]}{_MAC}{mac}"}}', ChainLink(last.seq + 1, mac)


def verify_line(key: bytes, last: ChainLink, line: str) -> ChainLink | None:
    """Where a chain has come to after a line; None if the line is not the one that follows."""
    text, found, mac = line.rpartition(_MAC)
    if not found or not hmac.compare_digest(line_mac(key, last.mac, text + "}"), mac.removesuffix('"}')):
        return None
    try:
        seq = json.loads(line)["seq"]
    except (ValueError, KeyError, TypeError):
        return None
    return ChainLink(seq, mac.removesuffix('"}')) if seq == last.seq + 1 else None
