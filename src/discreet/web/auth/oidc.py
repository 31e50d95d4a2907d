"""Tokens of OpenID Connect: signed by the office's issuer, for this server, and not expired.

    issuer, audience      must be the configured ones; `exp` and the account's claim are required
    algorithm             one of `ALGORITHMS`, all with public keys: never `none`, never a shared secret
    keys                  those that the issuer publishes. They are fetched again for an unknown key id, at most once in
                          `COOLDOWN` seconds, so invented tokens cannot make the server flood the issuer

The refusal is the same whatever is wrong with a token, and if the issuer is unreachable.
Source: OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725, section 3.
"""

import asyncio
import json
import logging
import time
from threading import Lock
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from cachetools import LRUCache

from discreet.errors import BadKey, BadOption, MissingExtra

try:
    import jwt
except ImportError:  # pragma: no cover - the extra is installed where tests run
    raise MissingExtra(
        "Tokens of a sign-in need the library PyJWT.", 'Install it: pip install "discreet[oidc]".'
    ) from None

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
DISCOVERY = "/.well-known/openid-configuration"
#: Seconds between two requests to the issuer, of one request, that keys are cached, and that clocks may differ.
COOLDOWN, FETCH_TIMEOUT, KEYS_LIFESPAN, LEEWAY = 30.0, 5.0, 86_400.0, 30.0
#: The longest accepted token, and the number of verified ones that are cached.
LONGEST, MAX_VERIFIED = 16_384, 1_024
_LARGEST_DOCUMENT = 1_048_576
log = logging.getLogger("discreet.server")


class TokenVerifier:
    """Verifies the tokens of one issuer for one audience; the issuer is a URL over TLS."""

    def __init__(self, issuer: str, audience: str) -> None:
        parts = urlsplit(issuer)
        local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if not (parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and local))):
            raise BadOption(
                f"The option oidc_issuer is {issuer!r}.",
                "Give its https address, as in https://login.office.example/realms/statistics.",
            )
        self._issuer, self._audience = issuer, audience
        self._client: jwt.PyJWKClient | None = None
        self._retry_at = 0.0
        self._lock = Lock()
        self._verified: LRUCache[str, dict[str, Any]] = LRUCache(MAX_VERIFIED)

    async def claims(self, token: str) -> dict[str, Any]:
        """The claims of a valid token; the refusal of another one does not say why."""
        known = self._verified.get(token)
        if known is None or time.time() >= known["exp"]:
            known = await asyncio.to_thread(self._verify, token)
            self._verified[token] = known
        return known

    def _verify(self, token: str) -> dict[str, Any]:
        if len(token) > LONGEST:
            raise _refusal()
        try:
            key = self._signing_key(str(jwt.get_unverified_header(token).get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
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
        if type(claims["exp"]) not in (int, float):  # the library also accepts a number as text
            raise _refusal()
        return claims

    def _signing_key(self, kid: str) -> jwt.PyJWK:
        """The issuer's key with an id; for a token without one, its only key."""
        with self._lock:
            if time.monotonic() < self._retry_at:
                raise _refusal()
            try:
                self._client = self._client or self._discover()
                if not kid:
                    (key,) = self._client.get_signing_keys()
                    return key
                return self._client.get_signing_key(kid)
            except (jwt.PyJWKClientConnectionError, OSError, KeyError, AttributeError, TypeError) as error:
                self._retry_at = time.monotonic() + COOLDOWN
                log.error("The keys of the issuer cannot be fetched: %s", type(error).__name__)  # noqa: TRY400
                raise _refusal() from None

    def _discover(self) -> jwt.PyJWKClient:
        address = self._issuer.rstrip("/") + DISCOVERY
        with urlopen(Request(address), timeout=FETCH_TIMEOUT) as answer:  # noqa: S310 - the scheme was checked
            found: dict[str, Any] = json.loads(answer.read(_LARGEST_DOCUMENT))
        if found["issuer"] != self._issuer:
            raise OSError("another issuer")
        return jwt.PyJWKClient(
            str(found["jwks_uri"]),
            lifespan=KEYS_LIFESPAN,
            timeout=FETCH_TIMEOUT,
            cooldown_duration=COOLDOWN,
        )


def _refusal() -> BadKey:
    return BadKey("The API key is not accepted.", "Leave the key out, or ask the custodian for a new one.")
