"""What every response with a release has: the charge in a header, and for HEAD nothing but headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.answer.door import Door
    from discreet.model.release import Release
    from discreet.model.request import TableRequest

#: The header that tells an account what it was charged for an answer.
CHARGED = "discreet-charged"


def headers_only(door: Door, requests: Iterable[TableRequest], media_type: str) -> Response:
    """What HEAD needs of tables: whether there are any. Nothing is charged and no document is made.

    Raises:
        Refused: As GET would.
    """
    for request in requests:
        door.refuse_unreleased(request)
    response = Response(media_type=media_type)
    del response.headers["content-length"]  # of a document that was not made
    return response


def tell_charges(response: Response, releases: Iterable[Release]) -> None:
    """Tell whoever asked what was charged: the document is the same for everybody."""
    told = [release.charged["sentence"] for release in releases if release.charged is not None]
    if told:
        response.headers[CHARGED] = " ".join(told).encode("ascii", "backslashreplace").decode()
