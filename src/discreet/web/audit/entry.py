"""What is noted of one request while it is answered: the questions in their canonical form, and why it was refused.

The note stands in a context variable for the time of a request. Doors write into it what they are asked (`NotedDoor`),
so that every question of every route is noted: a canonical request is public, as all of a dataset's description is.
No answer, no count and no key comes here.

How the addresses of readers are kept: as the office decides.

    hashed       a keyed hash: the same reader has the same name, and nobody without the secret knows whose (default)
    truncated    the network: /24 of IPv4, /48 of IPv6
    full         the address
    none         nothing: then nobody who asks without an account can be told from another

Limits count by the keyed hash in every case; it is kept for seconds, in a file of the server (`web/auth/rate_limit.py`).
An address of IPv6 counts by its /64, which is one household.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from discreet.errors import BadOption, DiscreetError, Refused
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.release.dry_run import Attempt
from discreet.web.telemetry import span

#: A page asks a handful of questions; more are counted and not written.
MOST_ASKED = 20
#: Of a longer request its beginning is written, the SHA-256 of all of it, and all of it packed, as far as there is room.
LONGEST = 2_000
#: Letters of packed requests in a line: some 5,000 codes of areas.
MOST_PACKED = 16_000
#: What is packed unfolds to so many letters at most.
MOST_UNPACKED = 400_000


@dataclass(slots=True)
class AuditEntry:
    """The note of one request.

    Args:
        route: The address as the application has it, without what stands in its places.
        code: Why it was refused; empty if it was not.
        metered: Whether something was asked that is counted or charged by account: nobody may keep the answer.
        asked: By dataset and canonical request, what became of the question.
    """

    route: str = ""
    code: str = ""
    metered: bool = False
    asked: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def note(self, request: TableRequest, digest: str, **found: Any) -> None:
        """Note a question, without the names that somebody gave to groups; the first note of one holds."""
        request = replace(request, names=())
        text = request.permalink
        key = (request.dataset, text if len(text) <= LONGEST else hashlib.sha256(text.encode()).hexdigest())
        if len(self.asked) < MOST_ASKED and key not in self.asked:
            note = {"dataset": request.dataset, "version": digest[:8], "request": text[:LONGEST], **found}
            self.asked[key] = note if len(text) <= LONGEST else note | self._long(text, key[1])

    def _long(self, text: str, sha256: str) -> dict[str, str]:
        """A long request in few letters, where the line has room for them."""
        room = MOST_PACKED - sum(len(note.get("packed", "")) for note in self.asked.values())
        packed = b64encode(zlib.compress(text[:MOST_UNPACKED].encode())).decode()
        if len(packed) > room or len(text) > MOST_UNPACKED:
            return {"sha256": sha256}
        return {"sha256": sha256, "packed": packed}


def unpack_request(note: Mapping[str, Any]) -> str | None:
    """The whole request of a note; None where its line had no room for it."""
    if "sha256" not in note:
        return str(note["request"])
    try:
        text = zlib.decompressobj().decompress(b64decode(note["packed"]), MOST_UNPACKED).decode()
    except (KeyError, ValueError, zlib.error):
        return None
    return text if hashlib.sha256(text.encode()).hexdigest() == note["sha256"] else None


ENTRY: ContextVar[AuditEntry | None] = ContextVar("ENTRY", default=None)


def note_refusal(error: DiscreetError) -> None:
    """Note why the request that is being answered is refused."""
    entry = ENTRY.get()
    if entry is not None and not entry.code:
        entry.code = error.code


def is_metered() -> bool:
    """Whether the request that is being answered asks something that is counted or charged by account."""
    entry = ENTRY.get()
    return entry is not None and entry.metered


class AuditedService(DatasetService):
    """A door that notes what it is asked."""

    __slots__ = ()

    def check(self, request: TableRequest) -> CheckedRequest:
        """Check a request, and note it with what the rules say."""
        with span("check"), _Noting(self, request):
            question = super().check(request)
        entry = ENTRY.get()
        if entry is not None:
            entry.metered = entry.metered or question.metered
            entry.note(question.request, self.digest, cells=question.cells)
        return question

    def answer(self, asked: CheckedRequest) -> Release:
        """Charge, count, protect and release; rules on counts may still refuse."""
        with span("answer"):
            return super().answer(asked)

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """What would become of a request, noted as such."""
        with _Noting(self, request):
            found = super().dry_run(request)
        self._note_only(request, "" if found.get("allowed", True) else "refused")
        return found

    def foresee(self, request: TableRequest) -> Attempt:
        """What would become of a request, noted as such."""
        with _Noting(self, request):
            found = super().foresee(request)
        self._note_only(request, found.refusal.code if found.refusal is not None else "")
        return found

    def _note_only(self, request: TableRequest, code: str) -> None:
        entry = ENTRY.get()
        if entry is not None:
            refused = {"refused": code} if code else {}
            entry.note(self.read(request).request, self.digest, dry=True, **refused)


class _Noting:
    """Notes a request that is refused while it is checked."""

    def __init__(self, door: DatasetService, request: TableRequest) -> None:
        self._door, self._request = door, request

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        entry = ENTRY.get()
        if entry is not None and isinstance(error, Refused):
            asked = self._door.read(self._request).request
            entry.note(asked, self._door.digest, refused=error.code)


KEPT = ("hashed", "truncated", "full", "none")
_LETTERS = 16


class AddressPolicy:
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
