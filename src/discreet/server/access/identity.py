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
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request

from discreet.errors import BadKey
from discreet.ledger.group_meter import Asker, asker_of
from discreet.server.access.gate import ASKER
from discreet.server.access.proxies import BELIEVED
from discreet.server.audit.entry import is_metered
from discreet.server.problems import problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from discreet.errors import DiscreetError
    from discreet.ledger.key_book import KeyBook
    from discreet.server.access.sign_in import SignIn

#: Where it stands in the scope of a request who asks, and that they are refused; and that one of both is so.
SCOPE, REFUSAL, KNOWN = "discreet.asker", "discreet.refusal", "discreet.account"
KEY_PREFIX = "dk_"
#: So long a request waits for the accounts to be read again.
SECONDS_TO_WAIT = 10.0


class Identity:
    """Finds out who asks.

    Args:
        app: What answers.
        book: The accounts and keys.
        sign_in: The office's own sign-in, by token or by proxy.
    """

    def __init__(self, app: ASGIApp, book: KeyBook, sign_in: SignIn) -> None:
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

    async def _asker(self, headers: Headers, *, believed: bool) -> Asker | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and given.strip().startswith(KEY_PREFIX):
            await self.accounts.refresh()
            return asker_of(self.accounts.book.key(given.strip()))
        if kind.lower() == "bearer":
            return await self._known(*await self.sign_in.by_token(given.strip()), by="oidc")
        named = self.sign_in.by_proxy(headers) if believed else None
        return None if named is None else await self._known(*named, by="proxy")

    async def _known(self, account: str, role: str, *, by: str) -> Asker:
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
        return Asker(account, role=role if own is None else own.role, by=by)

    def _marking(self, asker: Asker | None, send: Send) -> Send:
        """Say whom an answer is for."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header(self.varies)
                if asker is not None:
                    kept = "private, no-store" if is_metered() else headers.get("cache-control", "")
                    headers["cache-control"] = for_one_reader(kept)
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


def for_one_reader(cache_control: str) -> str:
    """Who may keep an answer to an account: the reader alone.

    >>> for_one_reader("public, max-age=0, must-revalidate"), for_one_reader(""), for_one_reader("no-store")
    ('private, max-age=0, must-revalidate', 'private, no-cache', 'no-store')
    """
    if "no-store" in cache_control or "private" in cache_control:
        return cache_control
    return cache_control.replace("public", "private") if "public" in cache_control else "private, no-cache"


class _Accounts:
    """The book of keys, read again in a thread of its own: the server never waits long for a ledger."""

    def __init__(self, book: KeyBook) -> None:
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
