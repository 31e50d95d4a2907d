"""How much may be asked: calls of an account, calls of an address, and who is held back.

    account_calls   in 10 seconds, for each account, whatever its keys
    address_calls   in 10 seconds, for each address that asks without an account, or with a key that is refused
    slowed          `SLOWED` calls in 10 seconds
    stopped         none, until the hold ends or a custodian lifts it (`discreet log release`)

The machine itself is not counted where no proxy told another address: it is the office's own, or a proxy that nobody
declared, behind which all readers would share one bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, Stopped
from discreet.model.told import told
from discreet.server.access.buckets import Buckets
from discreet.server.access.identity import REFUSAL, SCOPE, refuse
from discreet.server.access.proxies import LOOPBACK, is_in
from discreet.server.access.shared import STOP

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from discreet.ledger.group_meter import Asker
    from discreet.server.access.shared import Shared
    from discreet.server.audit.addresses import Addresses
    from discreet.workspace.options import Options

#: Calls in 10 seconds of somebody who is slowed down.
SLOWED = 5


def name_of(asker: Asker | None, address: str) -> str:
    """Whoever asks, as limits, holds and the watch name them; the address as it is kept."""
    return f"address:{address}" if asker is None else f"account:{asker.account}"


class Quotas:
    """Refuses what is too much.

    Args:
        app: What answers.
        shared: What the processes share.
        addresses: How addresses are named.
        options: The limits; 0 for none.
    """

    def __init__(self, app: ASGIApp, shared: Shared, addresses: Addresses, options: Options) -> None:
        self.app = app
        self._shared, self._addresses = shared, addresses
        self._accounts = _buckets(options.account_calls, shared, "account")
        self._by_address = _buckets(options.address_calls, shared, "address")
        self._slowed = Buckets(SLOWED, shared, "slowed")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, refused or not."""
        if scope["type"] == "http":
            address = str(scope["client"][0]) if scope.get("client") else ""
            try:
                if REFUSAL in scope:
                    self._take_of_address(address)
                else:
                    self._take(scope.get(SCOPE), address)
            except DiscreetError as error:
                scope.pop(REFUSAL, None)  # a flood of bad keys gets 429, as any other
                refuse(scope, error)
        await self.app(scope, receive, send)

    def _take(self, asker: Asker | None, address: str) -> None:
        """Take a token of whoever asks.

        Raises:
            TooManyCalls: There is none.
            Stopped: Whoever asks was stopped.
        """
        holds = self._shared.holds()
        name = name_of(asker, self._addresses.kept(address)) if holds else ""
        if name in holds:
            if holds[name].action == STOP:
                raise Stopped(
                    told("Too many of the questions look like an attempt to single people out."),
                    told("Ask whoever runs this server to look at it."),
                )
            self._slowed.take(name)
        if asker is not None and self._accounts is not None:
            self._accounts.take(asker.account)
        elif asker is None:
            self._take_of_address(address)

    def _take_of_address(self, address: str) -> None:
        if self._by_address is not None and not is_in(address, LOOPBACK):
            self._by_address.take(self._addresses.hashed(address))


def _buckets(calls: int, shared: Shared, kind: str) -> Buckets | None:
    return Buckets(calls, shared, kind) if calls else None
