"""Authentication: the account of a request, determined once, before everything else.

    Authorization: Bearer dk_...      an API key of the ledger's accounts
    Authorization: Bearer eyJ...      a token of the office's sign-in (OpenID Connect), if one is configured
    X-Forwarded-User: anna            the account that a trusted proxy names, if its header is configured
    none of them                      an anonymous request

A key or token that is invalid, or that cannot be checked because the ledger cannot be read, gets 401 at every URL: the
response does not reveal the state of the ledger. While the accounts are read again a request waits, at most ten seconds.
A revoked account is refused however it signs in. Responses to an account are private.

A connection from a trusted proxy gives the client in `X-Forwarded-For` (its last address that is no trusted proxy) and the
scheme in `X-Forwarded-Proto`. Without the option `trusted_proxies` the loopback addresses are trusted for these, never for
accounts. Source: RFC 7239, section 8.1.

The role is the highest one in the claim `oidc_role_claim` or the header `proxy_role_header`, otherwise `sign_in_role`. An
account of the same name in the ledger overrides it (`discreet account create`).

Authorisation: a dataset that the requester may not see is not listed, and requests for it answer 404 as for one that does
not exist. Every route opens datasets through `RequestAuthoriser`, so no route can forget to check.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BadKey, BadOption, Busy
from discreet.ledger.requester import KeyCache, Requester, requester_of
from discreet.model.dataset import AUDIENCES, PUBLIC, ROLES, Dataset
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import Authoriser, DatasetService
from discreet.web.admission import admit_request
from discreet.web.audit.log import AuditedService
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.problems import busy
from discreet.workspace.options import Options

if TYPE_CHECKING:  # the library for tokens is an extra, and an interface never opens a workspace itself
    from discreet.web.auth.oidc import TokenVerifier
    from discreet.workspace.workspace import StoredDataset, Workspace

KEY_PREFIX = "dk_"
#: How long a request waits until the accounts are read again.
SECONDS_TO_WAIT = 10.0
_NAME = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}\Z")
_HEADER = re.compile(r"[A-Za-z0-9-]+\Z")


class IdentityMiddleware(HttpMiddleware):
    """Sets the requester and the client address of a request."""

    def __init__(self, app: ASGIApp, accounts: KeyCache, sign_in: SignIn, trusted_proxies: Networks) -> None:
        super().__init__(app)
        self.sign_in, self.trusted_proxies = sign_in, trusted_proxies
        self.accounts = _Accounts(accounts)
        self.vary = ", ".join(["Authorization", *sign_in.headers])

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = request_context()
        accept_account = apply_forwarded_headers(scope, self.trusted_proxies)
        try:
            context.requester = await self._requester(Headers(scope=scope), accept_account=accept_account)
        except (BadKey, Busy) as error:
            context.refuse(error)

        async def with_privacy(part: Message) -> None:
            if part["type"] == "http.response.start":
                headers = MutableHeaders(scope=part)
                headers.add_vary_header(self.vary)
                if context.requester is not None:
                    metered = "private, no-store" if context.metered else ""
                    headers["cache-control"] = metered or private_cache_control(
                        headers.get("cache-control", "")
                    )
            await send(part)

        await self.app(scope, receive, with_privacy)

    async def _requester(self, headers: Headers, *, accept_account: bool) -> Requester | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and given.strip().startswith(KEY_PREFIX):
            await self.accounts.refresh()
            return requester_of(self.accounts.cache.key(given.strip()))
        if kind.lower() == "bearer":
            return await self._external(*await self.sign_in.by_token(given.strip()), by="oidc")
        named = self.sign_in.by_proxy(headers) if accept_account else None
        return None if named is None else await self._external(*named, by="proxy")

    async def _external(self, account: str, role: str, *, by: str) -> Requester:
        """The requester of an external sign-in; an account of that name in the ledger overrides its role."""
        await self.accounts.refresh()
        if self.accounts.cache.is_lost():
            raise BadKey("Accounts cannot be checked just now.", "Try again later.")
        own = self.accounts.cache.account(account)
        if own is not None and own.revoked is not None:
            raise BadKey("The account is not accepted.", "Ask the custodian.")
        return Requester(account, role=role if own is None else own.role, by=by)


def private_cache_control(cache_control: str) -> str:
    """The Cache-Control of a response to an account: only the reader's own browser may store it.

    >>> [private_cache_control(text) for text in ("public, max-age=0, must-revalidate", "", "no-store")]
    ['private, max-age=0, must-revalidate', 'private, no-cache', 'no-store']
    """
    if "no-store" in cache_control or "private" in cache_control:
        return cache_control
    return cache_control.replace("public", "private") if "public" in cache_control else "private, no-cache"


class _Accounts:
    """Reads the accounts again in a separate thread: a slow ledger does not block the event loop."""

    def __init__(self, cache: KeyCache) -> None:
        self.cache = cache
        self._reader = ThreadPoolExecutor(1, "accounts")
        self._reading: Future[None] | None = None
        self._timeout_at = 0.0

    async def refresh(self) -> None:
        """Read the accounts again if that is due; concurrent requests wait for the same read, with one timeout."""
        if self._reading is None or self._reading.done():
            self._reading = self._reader.submit(self.cache.refresh) if self.cache.is_due() else None
            self._timeout_at = time.monotonic() + SECONDS_TO_WAIT
        reading = self._reading
        if reading is None or reading.done():
            return
        left = self._timeout_at - time.monotonic()
        if left > 0:
            await asyncio.wait([asyncio.wrap_future(reading)], timeout=left)
        if not reading.done() and self.cache.is_lost():
            raise busy()


@dataclass(frozen=True, slots=True)
class SignIn:
    """External sign-in: the account headers of a trusted proxy (empty for none), the default role, the claims of tokens."""

    account_header: str = ""
    role_header: str = ""
    role: str = ROLES[0]
    tokens: TokenVerifier | None = None
    account_claim: str = "sub"
    role_claim: str = "roles"

    @property
    def headers(self) -> tuple[str, ...]:
        """The account headers of a proxy."""
        return tuple(name for name in (self.account_header, self.role_header) if name)

    def by_proxy(self, headers: Headers) -> tuple[str, str] | None:
        """The account and role in the headers of a trusted proxy; a header that occurs twice may come from the client."""
        if any(len(headers.getlist(header)) > 1 for header in self.headers):
            raise BadKey("The account is not accepted.", "Ask the custodian.")
        name = headers.get(self.account_header, "").strip() if self.account_header else ""
        if not name:
            return None
        roles = headers.get(self.role_header, "") if self.role_header else ""
        return _check_name(name), self._highest(roles.split(","))

    async def by_token(self, token: str) -> tuple[str, str]:
        """The account and role in a valid token."""
        claims: dict[str, Any] = {} if self.tokens is None else await self.tokens.claims(token)
        if self.account_claim not in claims:
            raise BadKey(
                "The API key is not accepted.", "Leave the key out, or ask the custodian for a new one."
            )
        roles = claims.get(self.role_claim, [])
        account = _check_name(str(claims[self.account_claim]))
        return account, self._highest(roles if isinstance(roles, list) else str(roles).split())

    def _highest(self, names: list[Any]) -> str:
        given = {str(name).strip() for name in names}
        return next((role for role in reversed(ROLES) if role in given), self.role)


def sign_in_from_options(options: Options) -> SignIn:
    """The external sign-in that the options configure; an error if they contradict each other."""
    if options.sign_in_role not in ROLES:
        raise BadOption(
            f"The option sign_in_role is {options.sign_in_role!r}.", f"Give one of: {', '.join(ROLES)}."
        )
    for name in ("proxy_account_header", "proxy_role_header"):
        header = getattr(options, name)
        if header and not _HEADER.match(header):
            raise BadOption(f"The option {name} is {header!r}.", "Give the name of a header.")
        if header and not options.trusted_proxies:
            raise BadOption(
                f"The option {name} is given, and no proxy is trusted.",
                "Give the address of the proxy as trusted_proxies: anybody else could write that header.",
            )
    tokens = None
    if options.oidc_issuer:
        if not options.oidc_audience:
            raise BadOption(
                "The option oidc_issuer is given without oidc_audience.",
                "Give the audience that the issuer writes into tokens for this server: tokens for others are refused.",
            )
        from discreet.web.auth.oidc import TokenVerifier  # noqa: PLC0415 - the library is an extra

        tokens = TokenVerifier(options.oidc_issuer, options.oidc_audience)
    return SignIn(
        options.proxy_account_header or "",
        options.proxy_role_header or "",
        options.sign_in_role,
        tokens,
        options.oidc_account_claim,
        options.oidc_role_claim,
    )


def _check_name(name: str) -> str:
    if not _NAME.match(name):
        raise BadKey("The account is not accepted.", "Ask the custodian.")
    return name


class RequestAuthoriser(Authoriser):
    """The authoriser of a server; `otherwise` says who sees datasets that declare no access."""

    def __init__(self, otherwise: str = PUBLIC) -> None:
        if otherwise not in AUDIENCES:
            raise BadOption(f"The option access is {otherwise!r}.", f"Give one of: {', '.join(AUDIENCES)}.")
        self.otherwise = otherwise

    def asker(self, workspace: Workspace, key: str | None) -> Requester | None:  # noqa: ARG002 - `identity` has read it
        """The requester, with the ledger that charges it."""
        requester = request_context().requester
        return None if requester is None else workspace.with_ledger(requester)

    def open(self, stored: StoredDataset, asker: Requester | None) -> DatasetService:
        """The service of a version; it records its queries for the audit log."""
        request_context().unchecked_draft |= stored.dataset.unchecked_draft
        return AuditedService(stored, asker, self.admit)

    def admit(self, question: CheckedRequest) -> None:
        """Called before each answer: nothing is charged or counted if it raises."""
        admit_request(question)

    def is_open(self, dataset: Dataset) -> bool:
        """Whether the requester may see a dataset."""
        requester = request_context().requester
        if requester is None:
            return dataset.access.allows(None, None, self.otherwise)
        in_scope = requester.datasets is None or dataset.id in requester.datasets
        return in_scope and dataset.access.allows(requester.account, requester.role, self.otherwise)


def require_custodian() -> Requester:
    """The requester, if it is a custodian; otherwise an error."""
    requester = request_context().requester
    if requester is None:
        raise BadKey(message("This is for custodians."), message("Send the key of a custodian, or sign in."))
    requester.require("custodian")
    return requester


Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def parse_networks(given: str | None, option: str) -> Networks:
    """The addresses and networks of an option.

    >>> parse_networks("10.0.0.5,fd00::/8", "trusted_proxies")
    (IPv4Network('10.0.0.5/32'), IPv6Network('fd00::/8'))
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
