"""A document in pieces over HTTP: sent while it is made, and never so that half of it looks whole.

A document of at most `WHOLE` bytes is made and sent at once, with its length, and may be kept (`kept_answers`). A larger
one goes out in chunks: where its making fails, the last chunk is never sent, the connection is cut, and every client
sees that. HTTP/1.0, which some proxies still speak, has no chunks, and there the end of the connection is the end of the
document: it is made whole in a temporary file first and sent with its length.

Source: RFC 9112, sections 7.1 and 8.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from discreet.model.pieces import sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

#: A document of so many bytes is sent in one piece.
WHOLE = 1_000_000


def document_response(request: Request, pieces: Iterator[bytes], media_type: str) -> Response:
    """The response that holds a document."""
    made, size = [], 0
    for piece in pieces:
        made.append(piece)
        size += len(piece)
        if size > WHOLE:
            break
    else:
        return Response(b"".join(made), media_type=media_type)
    whole: Iterator[bytes] = chain(made, pieces)
    headers = {}
    if request.scope["http_version"] == "1.0":
        size, whole = sized(whole)
        headers["content-length"] = str(size)
    return StreamingResponse(whole, media_type=media_type, headers=headers)
