"""The office's own sign-in: a token of OpenID Connect, or a header of the proxy that signed somebody in.

    oidc_issuer = "https://login.office.example/realms/statistics"
    oidc_audience = "discreet"
    proxy_account_header = "X-Forwarded-User"

The role is the highest one that the claim `oidc_role_claim`, or the header `proxy_role_header`, names; without one it is
`sign_in_role`. A custodian may give a person another one, by making an account of that name (`discreet account create`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BadKey, BadOption
from discreet.model.access import ROLES

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from discreet.server.access.tokens import Tokens
    from discreet.workspace.options import Options

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
    tokens: Tokens | None = None
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


def sign_in_of(options: Options) -> SignIn:
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


def _tokens(options: Options) -> Tokens | None:
    if not options.oidc_issuer:
        return None
    if not options.oidc_audience:
        raise BadOption(
            "The option oidc_issuer is given without oidc_audience.",
            "Give the audience that the issuer writes into tokens for this server: tokens for others are refused.",
        )
    from discreet.server.access.tokens import Tokens  # noqa: PLC0415 - the library is an extra

    return Tokens(options.oidc_issuer, options.oidc_audience)


def _account(name: str) -> str:
    if not _NAME.match(name):
        raise BadKey("The account is not accepted.", "Ask the custodian.")
    return name
