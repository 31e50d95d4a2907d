"""Who asks: decided once, before anything else is looked at, and told to everything behind.

    Authorization: Bearer dk_...      an API key of the ledger's accounts
    Authorization: Bearer eyJ...      a token of the office's sign-in (OpenID Connect), where one is declared
    X-Forwarded-User: anna            what a trusted proxy says, where its header is declared
    none of them                      nobody: what is public is answered

    scope["discreet.asker"]           an `Asker(account, role, datasets)`, or None
    scope["discreet.refusal"]         why nothing is answered: `Refusals` says so, behind the layers that word it
    scope["discreet.account"]         whether one of the two is there: then no answer that was kept for all may be given

A key or token that is not accepted is 401 at every address, and so is one that cannot be checked just now: neither a
ledger that is locked nor one that is out of reach shows in the answer. An account that was revoked is refused however
it signs in. Answers to an account are private, and every answer varies with what tells who asks.

The office's own sign-in: a token of OpenID Connect, or a header of the proxy that signed somebody in.

    oidc_issuer = "https://login.office.example/realms/statistics"
    oidc_audience = "discreet"
    proxy_account_header = "X-Forwarded-User"

The role is the highest one that the claim `oidc_role_claim`, or the header `proxy_role_header`, names; without one it is
`sign_in_role`. A custodian may give a person another one, by making an account of that name (`discreet account create`).
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BadKey, BadOption, DiscreetError
from discreet.ledger.key_cache import KeyCache
from discreet.ledger.requester import Requester, requester_of
from discreet.model.access import ROLES
from discreet.web.audit.entry import is_metered
from discreet.web.auth.oidc import TokenVerifier
from discreet.web.auth.proxies import BELIEVED
from discreet.web.auth.roles import ASKER
from discreet.web.problems import problem_response
from discreet.workspace.options import Options

#: Where it stands in the scope of a request who asks, and that they are refused; and that one of both is so.
SCOPE, REFUSAL, KNOWN = "discreet.asker", "discreet.refusal", "discreet.account"
KEY_PREFIX = "dk_"
#: So long a request waits for the accounts to be read again.
SECONDS_TO_WAIT = 10.0


class IdentityMiddleware:
    """Finds out who asks.

    Args:
        app: What answers.
        book: The accounts and keys.
        sign_in: The office's own sign-in, by token or by proxy.
    """

    def __init__(self, app: ASGIApp, book: KeyCache, sign_in: SignIn) -> None:
        self.app = app
        self.sign_in = sign_in
        self.accounts = _Accounts(book)
        self.varies = ", ".join(["Authorization", *sign_in.headers])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with whoever asks."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asker = None
        try:
            asker = await self._asker(Headers(scope=scope), believed=scope.get(BELIEVED, False))
        except BadKey as error:
            refuse(scope, error)
        scope[SCOPE], scope[KNOWN] = asker, asker is not None or REFUSAL in scope
        token = ASKER.set(asker)
        try:
            await self.app(scope, receive, self._marking(asker, send))
        finally:
            ASKER.reset(token)

    async def _asker(self, headers: Headers, *, believed: bool) -> Requester | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and given.strip().startswith(KEY_PREFIX):
            await self.accounts.refresh()
            return requester_of(self.accounts.book.key(given.strip()))
        if kind.lower() == "bearer":
            return await self._known(*await self.sign_in.by_token(given.strip()), by="oidc")
        named = self.sign_in.by_proxy(headers) if believed else None
        return None if named is None else await self._known(*named, by="proxy")

    async def _known(self, account: str, role: str, *, by: str) -> Requester:
        """Somebody whom the office's sign-in names: as our own account of that name says, if there is one.

        Raises:
            BadKey: The account was revoked, or nobody can tell.
        """
        await self.accounts.refresh()
        if self.accounts.book.is_lost():
            raise BadKey("Accounts cannot be checked just now.", "Try again later.")
        own = self.accounts.book.account(account)
        if own is not None and own.revoked is not None:
            raise BadKey("The account is not accepted.", "Ask the custodian.")
        return Requester(account, role=role if own is None else own.role, by=by)

    def _marking(self, asker: Requester | None, send: Send) -> Send:
        """Say whom an answer is for."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header(self.varies)
                if asker is not None:
                    kept = "private, no-store" if is_metered() else headers.get("cache-control", "")
                    headers["cache-control"] = private_cache_control(kept)
            await send(message)

        return marked


class Refusals:
    """Says to those who were refused by a layer further out why, in the language and with the links of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what was not refused."""
        refusal = scope.get(REFUSAL)
        app = self.app if refusal is None else problem_response(Request(scope), refusal)
        await app(scope, receive, send)


def refuse(scope: Scope, refusal: DiscreetError) -> None:
    """Let nothing answer a request but the refusal; the first one counts."""
    scope.setdefault(REFUSAL, refusal)
    scope[KNOWN] = True


def private_cache_control(cache_control: str) -> str:
    """Who may keep an answer to an account: the reader alone.

    >>> [private_cache_control(value) for value in ("public, max-age=0, must-revalidate", "", "no-store")]
    ['private, max-age=0, must-revalidate', 'private, no-cache', 'no-store']
    """
    if "no-store" in cache_control or "private" in cache_control:
        return cache_control
    return cache_control.replace("public", "private") if "public" in cache_control else "private, no-cache"


class _Accounts:
    """The book of keys, read again in a thread of its own: the server never waits long for a ledger."""

    def __init__(self, book: KeyCache) -> None:
        self.book = book
        self._readers = ThreadPoolExecutor(1, "accounts")
        self._reading: Future[None] | None = None

    async def refresh(self) -> None:
        """Read the accounts again if that is due; all who come meanwhile wait for the same reading, and not for long."""
        if self._reading is None or self._reading.done():
            self._reading = self._readers.submit(self.book.refresh) if self.book.is_due() else None
        reading = self._reading
        if reading is not None and not reading.done() and not self.book.is_slow(SECONDS_TO_WAIT):
            await asyncio.wait([asyncio.wrap_future(reading)], timeout=SECONDS_TO_WAIT)


_NAME = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}\Z")
_HEADER = re.compile(r"[A-Za-z0-9-]+\Z")


@dataclass(frozen=True, slots=True)
class SignIn:
    """How the office tells who somebody is.

    Args:
        account_header: The header in which a proxy names the account; empty for none.
        role_header: The header in which it names roles or groups; empty for none.
        role: The role of somebody of whom no other is told.
        tokens: What verifies tokens; None where no issuer is declared.
        account_claim: The claim of a token that names the account.
        role_claim: The claim that names roles.
    """

    account_header: str = ""
    role_header: str = ""
    role: str = ROLES[0]
    tokens: TokenVerifier | None = None
    account_claim: str = "sub"
    role_claim: str = "roles"

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers of a proxy that tell who asks."""
        return tuple(name for name in (self.account_header, self.role_header) if name)

    def by_proxy(self, headers: Headers) -> tuple[str, str] | None:
        """The account and the role that a trusted proxy names; None where it names nobody.

        Raises:
            BadKey: The name cannot be one, or a header is there twice: the first may be the reader's own.
        """
        if any(len(headers.getlist(header)) > 1 for header in self.headers):
            raise BadKey("The account is not accepted.", "Ask the custodian.")
        name = headers.get(self.account_header, "").strip() if self.account_header else ""
        if not name:
            return None
        words = headers.get(self.role_header, "") if self.role_header else ""
        return _account(name), self._role(words.split(","))

    async def by_token(self, token: str) -> tuple[str, str]:
        """The account and the role that a token names.

        Raises:
            BadKey: It is not accepted.
        """
        claims: dict[str, Any] = {} if self.tokens is None else await self.tokens.claims(token)
        if self.account_claim not in claims:
            raise BadKey("The API key is not accepted.", "Ask without a key, or the custodian for a new one.")
        roles = claims.get(self.role_claim, [])
        return _account(str(claims[self.account_claim])), self._role(
            roles if isinstance(roles, list) else str(roles).split()
        )

    def _role(self, words: list[Any]) -> str:
        told = {str(word).strip() for word in words}
        return next((role for role in reversed(ROLES) if role in told), self.role)


def sign_in_from_options(options: Options) -> SignIn:
    """The sign-in that the options declare.

    Raises:
        BadOption: They do not belong together.
        MissingExtra: Tokens are to be verified, and the library is not installed.
    """
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
    return SignIn(
        options.proxy_account_header or "",
        options.proxy_role_header or "",
        options.sign_in_role,
        _tokens(options),
        options.oidc_account_claim,
        options.oidc_role_claim,
    )


def _tokens(options: Options) -> TokenVerifier | None:
    if not options.oidc_issuer:
        return None
    if not options.oidc_audience:
        raise BadOption(
            "The option oidc_issuer is given without oidc_audience.",
            "Give the audience that the issuer writes into tokens for this server: tokens for others are refused.",
        )
    from discreet.web.auth.oidc import TokenVerifier  # noqa: PLC0415 - the library is an extra

    return TokenVerifier(options.oidc_issuer, options.oidc_audience)


def _account(name: str) -> str:
    if not _NAME.match(name):
        raise BadKey("The account is not accepted.", "Ask the custodian.")
    return name
