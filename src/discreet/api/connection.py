"""An HTTP connection to a server: GET with retries, an ETag cache, size limits and streams.

Responses are data, JSON or file contents; nothing is executed. Retries are safe: a table that was charged is free when
queried again. Cached responses are used only after the server revalidates them (304), so a new version is never missed.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx
from cachetools import LRUCache

from discreet import __version__
from discreet.api.server_url import is_confidential, reject_malformed
from discreet.errors import BadKey, DiscreetError, Refused, ServerUnusable, all_errors

Query = Sequence[tuple[str, str]]

T = TypeVar("T")
#: Largest response, decompressed.
LARGEST_ANSWER = 512 * 2**20
#: Size of the response cache.
CACHE_BYTES = 64 * 2**20
#: Number of retries, and the longest wait before one, in seconds.
RETRIES, LONGEST_WAIT = 3, 30.0
#: Seconds to connect, and for each part of a response: a large table is counted before its first byte.
TIMEOUT = httpx.Timeout(10.0, read=120.0)
MOST_REDIRECTS = 5
#: Characters of an error's text to show.
LONGEST_TEXT = 2000
_TRY_LATER = {429, 503}


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A response: the decompressed body, its ETag, and a sentence about the charge; empty where there is none."""

    body: bytes
    tag: str = ""
    charged: str = ""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ServerUnusable: It is not JSON.
        """
        with reject_malformed():
            return json.loads(self.body)


class Connection:
    """A server at one URL, queried with one key.

    Args:
        base: The server's URL, without a trailing slash.
        key: The API key of an account; sent as `Authorization: Bearer`.
        transport: Replaces the network in tests, and `sleep` waiting.
    """

    def __init__(
        self,
        base: str,
        key: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        key = (key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise BadKey("The API key has characters that no key has.", "Copy it again.")
        if key and not is_confidential(base):
            warnings.warn(
                f"The API key is sent to {base} without encryption: whoever is on the way can read it. "
                "Use an https:// address.",
                stacklevel=3,
            )
        self.base = base
        self._sleep = sleep
        self._cache: LRUCache[str, ServerResponse] = LRUCache(CACHE_BYTES, getsizeof=lambda r: len(r.body))
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            headers={"user-agent": f"discreet/{__version__}"} | authorization,
            timeout=TIMEOUT,
            follow_redirects=True,
            max_redirects=MOST_REDIRECTS,
            transport=transport,
        )

    def get(self, path: str, query: Query = (), tag: str = "") -> ServerResponse | None:
        """Fetch a document below the server's URL; None where `tag`, the ETag of a copy of the caller, is still valid.

        Raises:
            DiscreetError: The server's error, as the class that its code names.
            ServerUnusable: No response, or none of a Discreet server.
        """
        address = self._address(path, query)
        cached = None if tag else self._cache.get(address)
        status, headers, body = self._ask(address, tag or (cached.tag if cached else ""), self._body)
        if status == httpx.codes.NOT_MODIFIED and (tag or cached):
            return cached
        if status != httpx.codes.OK:
            raise error_of_response(status, body, self.base)
        answer = ServerResponse(body, headers.get("etag", ""), headers.get("discreet-charged", ""))
        storable = answer.tag and "no-store" not in headers.get("cache-control", "")
        if storable and len(answer.body) <= CACHE_BYTES:
            self._cache[address] = answer
        return answer

    def fetch(self, path: str, query: Query = ()) -> ServerResponse:
        """Fetch a document of which the caller has no copy."""
        answer = self.get(path, query)
        assert answer is not None  # noqa: S101 - without a tag there is an answer
        return answer

    def stream(self, path: str, query: Query = ()) -> Iterator[bytes]:
        """Fetch a document of any size as a stream; it is not cached.

        Raises:
            DiscreetError: The server's error, as the class that its code names.
            ServerUnusable: No response, or a truncated one.
        """
        status, _, pieces = self._ask(self._address(path, query), "", self._piecewise)
        if status != httpx.codes.OK:
            raise error_of_response(status, b"".join(pieces), self.base)
        return pieces

    def close(self) -> None:
        self._cache.clear()
        self._client.close()

    def _address(self, path: str, query: Query) -> str:
        return str(httpx.URL(self.base + path, params=list(query)))

    def _ask(
        self, address: str, tag: str, read: Callable[[httpx.Response], T]
    ) -> tuple[int, httpx.Headers, T]:
        headers = {"if-none-match": tag} if tag else {}
        for attempt in range(RETRIES + 1):
            try:
                status, answered, body = self._once(address, headers, read)
            except httpx.TransportError as error:
                if "[SSL" in str(error):
                    raise ServerUnusable(
                        f"{self.base} has no certificate that can be trusted, or does not speak TLS.",
                        "Check the address; SSL_CERT_FILE names the certificates of an authority of your own.",
                    ) from None
                if attempt == RETRIES:
                    raise ServerUnusable(
                        f"{self.base} does not answer ({type(error).__name__}).",
                        "Check the address and the network, or try again later.",
                    ) from None
                self._sleep(_wait("", attempt))
                continue
            wait = _wait(answered.get("retry-after", ""), attempt)
            if status not in _TRY_LATER or attempt == RETRIES or wait > LONGEST_WAIT:
                break
            self._sleep(wait)
        return status, answered, body

    def _once(
        self, address: str, headers: dict[str, str], read: Callable[[httpx.Response], T]
    ) -> tuple[int, httpx.Headers, T]:
        try:
            request = self._client.build_request("GET", address, headers=headers)
            response = self._client.send(request, stream=True)
            if address.startswith("https:") and response.url.scheme != "https":
                response.close()
                raise ServerUnusable(
                    f"{self.base} leads to an address without encryption.", "Tell whoever runs it."
                )
            return response.status_code, response.headers, read(response)
        except httpx.TooManyRedirects:
            raise ServerUnusable(
                f"{self.base} redirects more than {MOST_REDIRECTS} times.", "Check the address."
            ) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError):
            raise ServerUnusable(
                f"{self.base} gives an answer that cannot be read.", "Check the address."
            ) from None

    def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        with closing(response):
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > LARGEST_ANSWER:
                    raise ServerUnusable(
                        f"{self.base} answers with more than {LARGEST_ANSWER // 2**20} MiB.",
                        "Ask for a smaller table.",
                    )
        return bytes(body)

    def _piecewise(self, response: httpx.Response) -> Iterator[bytes]:
        """The decompressed body as a stream; an error is read at once."""
        return (
            self._pieces(response) if response.status_code == httpx.codes.OK else iter([self._body(response)])
        )

    def _pieces(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            with closing(response):
                yield from response.iter_bytes()
        except (httpx.TransportError, httpx.DecodingError):
            raise ServerUnusable(
                f"The answer of {self.base} breaks off.", "Ask again, or for a smaller table."
            ) from None

    def __repr__(self) -> str:
        return f"<Connection to {self.base}>"


def error_of_response(status: int, body: bytes, base: str) -> DiscreetError:
    """The error of a response, as the class that its code names."""
    try:
        problem = json.loads(body)
        code, detail, advice = (str(problem[name])[:LONGEST_TEXT] for name in ("code", "detail", "advice"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return ServerUnusable(
            f"{base} answers with the status {status}, which is no answer of Discreet.", "Check the address."
        )
    for kind in all_errors():
        if kind.code == code:
            return kind(detail, advice)
    if status == httpx.codes.FORBIDDEN:
        return Refused(detail, advice, code=code)
    return ServerUnusable(detail, advice)


def _wait(retry_after: str, attempt: int) -> float:
    """Seconds of `Retry-After`, a number or a date; without it half a second, and twice as long after each attempt."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        until = parsedate_to_datetime(retry_after)
    except ValueError:
        return float(0.5 * 2**attempt)
    return max((until.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
