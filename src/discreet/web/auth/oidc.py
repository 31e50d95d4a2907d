"""Tokens of OpenID Connect: signed by the office's issuer, for this server, and not at their end.

    issuer, audience      must be those that are declared; `exp` and the account's claim must be there
    algorithm             one of `ALGORITHMS`, all with public keys: never `none`, never a shared secret
    keys                  those that the issuer publishes; they are fetched when a token names a key that is not known,
                          once in `SECONDS_BETWEEN` at most, so that invented tokens cannot make us ask the issuer

Whatever is wrong with a token, and where the issuer is out of reach, the refusal is the same.

Source: OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725, section 3.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from threading import Lock
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from discreet.errors import BadKey, BadOption, MissingExtra

try:
    import jwt
except ImportError:  # pragma: no cover - the extra is installed where tests run
    raise MissingExtra(
        "Tokens of a sign-in need the library PyJWT.", 'Install it: pip install "discreet[oidc]".'
    ) from None

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
DISCOVERY = "/.well-known/openid-configuration"
SECONDS_BETWEEN, SECONDS_TO_FETCH, LEEWAY = 30.0, 5.0, 30.0
#: The longest token that is read, and how many verified ones are remembered.
LONGEST, MOST_REMEMBERED = 16_384, 1_024
_LARGEST_DOCUMENT = 1_048_576
log = logging.getLogger("discreet.server")


class TokenVerifier:
    """Verifies the tokens of one issuer for one audience.

    Args:
        issuer: The address of the issuer, as its tokens name it.
        audience: The audience that tokens must name.

    Raises:
        BadOption: The issuer is no address, or not over TLS.
    """

    def __init__(self, issuer: str, audience: str) -> None:
        parts = urlsplit(issuer)
        local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and local))):
            raise BadOption(
                f"The option oidc_issuer is {issuer!r}.",
                "Give its https address, as in https://login.office.example/realms/statistics.",
            )
        self._issuer, self._audience = issuer, audience
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._fetching = Lock()
        self._verified: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def claims(self, token: str) -> dict[str, Any]:
        """What a token says, if it may be believed.

        Raises:
            BadKey: It may not; the message does not say why.
        """
        known = self._verified.get(token)
        if known is not None and time.time() < known["exp"]:
            return known
        self._verified.pop(token, None)
        claims = await asyncio.to_thread(self._verify, token)
        self._verified[token] = claims
        if len(self._verified) > MOST_REMEMBERED:
            self._verified.popitem(last=False)
        return claims

    def _verify(self, token: str) -> dict[str, Any]:
        if len(token) > LONGEST:
            raise _refusal()
        try:
            name = jwt.get_unverified_header(token).get("kid", "")
            key = self._key(str(name))
            if key is None:
                raise _refusal()
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            raise _refusal() from None
        if type(claims["exp"]) not in (int, float):  # the library also takes a number in letters
            raise _refusal()
        return claims

    def _key(self, name: str) -> jwt.PyJWK | None:
        """The key of a name; the only key there is, for a token that names none."""
        for _ in range(2):
            found = self._keys.get(name)
            if found is None and not name and len(self._keys) == 1:
                found = next(iter(self._keys.values()))
            if found is not None or not self._fetch():
                return found
        return found

    def _fetch(self) -> bool:
        """Fetch the issuer's keys, unless that was tried a moment ago; whether it was done."""
        with self._fetching:
            now = time.monotonic()
            if self._fetched_at is not None and now - self._fetched_at < SECONDS_BETWEEN:
                return False
            self._fetched_at = now
            try:
                described = _document(self._issuer.rstrip("/") + DISCOVERY)
                if described["issuer"] != self._issuer:
                    raise ValueError("another issuer")  # noqa: TRY301 - all that is wrong ends in one line of the log
                keys = jwt.PyJWKSet.from_dict(_document(str(described["jwks_uri"]))).keys
            except (
                URLError,
                OSError,
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                jwt.PyJWTError,
            ) as error:
                log.error("The keys of the issuer cannot be fetched: %s", type(error).__name__)  # noqa: TRY400
                return False
            self._keys = {key.key_id or "": key for key in keys}
            return True


def _document(address: str) -> dict[str, Any]:
    if urlsplit(address).scheme not in {"https", "http"}:
        raise ValueError("no address of the web")
    with urlopen(Request(address), timeout=SECONDS_TO_FETCH) as answer:  # noqa: S310 - the scheme was checked
        found: dict[str, Any] = json.loads(answer.read(_LARGEST_DOCUMENT))
    return found


def _refusal() -> BadKey:
    return BadKey("The API key is not accepted.", "Ask without a key, or the custodian for a new one.")
