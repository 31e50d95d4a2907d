"""What the audit log records of a request: its queries in canonical form, and the client address as configured.

`AuditedService` records every query of every route in the context of the request. A canonical request is public, as the
description of a dataset is. No answer, no count and no key is recorded.
`web/audit/middleware.py` writes the line of a request.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from discreet.errors import BadOption, Refused
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.release.dry_run import Attempt
from discreet.web.context import request_context
from discreet.web.telemetry import span

#: Queries of one request that are recorded.
MOST_ASKED = 20
#: Of a longer request the log has the beginning, its SHA-256 and, if there is room, all of it compressed.
LONGEST = 2_000
#: Characters of compressed requests in a line: some 5,000 codes of areas.
MOST_PACKED = 16_000
#: Characters that a compressed request decompresses to at most.
MOST_UNPACKED = 400_000
#: What is stored of client addresses: a keyed hash, the network (/24 or /48), the address, or nothing.
ADDRESS_FORMS = ("hashed", "truncated", "full", "none")
_HASH_DIGITS = 16


def record_query(request: TableRequest, digest: str, **outcome: Any) -> None:
    """Record a query of the current request, without the names of its groups; the first record of a query counts."""
    queries = request_context().queries
    request = replace(request, names=())
    text = request.permalink
    sha256 = hashlib.sha256(text.encode()).hexdigest() if len(text) > LONGEST else ""
    key = (request.dataset, sha256 or text)
    if len(queries) >= MOST_ASKED or key in queries:
        return
    entry = {"dataset": request.dataset, "version": digest[:8], "request": text[:LONGEST], **outcome}
    if sha256:
        entry["sha256"] = sha256
        room = MOST_PACKED - sum(len(each.get("packed", "")) for each in queries.values())
        packed = b64encode(zlib.compress(text[:MOST_UNPACKED].encode())).decode()
        if len(packed) <= room and len(text) <= MOST_UNPACKED:
            entry["packed"] = packed
    queries[key] = entry


def unpack_request(entry: Mapping[str, Any]) -> str | None:
    """The complete request of a recorded query; None if its line had no room for it."""
    if "sha256" not in entry:
        return str(entry["request"])
    try:
        text = zlib.decompressobj().decompress(b64decode(entry["packed"]), MOST_UNPACKED).decode()
    except (KeyError, ValueError, zlib.error):
        return None
    return text if hashlib.sha256(text.encode()).hexdigest() == entry["sha256"] else None


class AuditedService(DatasetService):
    """A dataset service that records its queries."""

    __slots__ = ()

    def check(self, request: TableRequest) -> CheckedRequest:
        """Check a request and record it with the outcome."""
        with span("check"), self._recording(request):
            checked = super().check(request)
        context = request_context()
        context.metered = context.metered or checked.metered
        record_query(checked.request, self.digest, cells=checked.cells)
        return checked

    def answer(self, asked: CheckedRequest) -> Release:
        """Charge, count, protect and release; rules on counts may still refuse."""
        with span("answer"):
            return super().answer(asked)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """Check a request without answering it, and record it as a dry run."""
        with self._recording(request):
            found = super().dry_run(request)
        self._record_dry_run(request, "" if found.get("allowed", True) else "refused")
        return found

    def foresee(self, request: TableRequest) -> Attempt:
        """Check a request without answering it, and record it as a dry run."""
        with self._recording(request):
            found = super().foresee(request)
        self._record_dry_run(request, found.refusal.code if found.refusal is not None else "")
        return found

    def _record_dry_run(self, request: TableRequest, code: str) -> None:
        outcome = {"refused": code} if code else {}
        record_query(self.read(request).request, self.digest, dry=True, **outcome)

    @contextmanager
    def _recording(self, request: TableRequest) -> Iterator[None]:
        """Record a request that is refused."""
        try:
            yield
        except Refused as refusal:
            record_query(self.read(request).request, self.digest, refused=refusal.code)
            raise


class AddressPolicy:
    """What is stored of client addresses.

    Rate limits use the keyed hash in every case. IPv6 addresses are hashed by their /64, which is one household.

    Args:
        key: Of the hash.
        form: One of `ADDRESS_FORMS`.
    """

    def __init__(self, key: bytes, form: str = ADDRESS_FORMS[0]) -> None:
        if form not in ADDRESS_FORMS:
            raise BadOption(
                f"The option log_addresses is {form!r}.", f"Give one of: {', '.join(ADDRESS_FORMS)}."
            )
        self._key, self._form = key, form
        self.pseudonym = lru_cache(65_536)(self._pseudonym)
        self.stored = lru_cache(65_536)(self._stored)

    def _stored(self, address: str) -> str:
        if self._form == "hashed":
            return self._pseudonym(address)
        if self._form == "truncated":
            return _network(address, 24, 48)
        return address if self._form == "full" else ""

    def _pseudonym(self, address: str) -> str:
        raw = _network(address, 32, 64).encode()
        return hmac.digest(self._key, raw, hashlib.sha256).hex()[:_HASH_DIGITS]


def _network(address: str, prefix_v4: int, prefix_v6: int) -> str:
    """The network of an address; what is no address stays as it is.

    >>> _network("203.0.113.7", 24, 48), _network("2001:db8:1:2::3", 24, 48)
    ('203.0.113.0/24', '2001:db8:1::/48')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    plain = getattr(found, "ipv4_mapped", None) or found
    return str(ipaddress.ip_network((plain, prefix_v4 if plain.version == 4 else prefix_v6), strict=False))
