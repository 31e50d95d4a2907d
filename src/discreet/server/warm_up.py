"""Before a server listens it asks itself: what the first reader would wait for is imported, opened and counted then.

    the list of datasets, and of each dataset its first page and the table of it as CSV and JSON

Nothing is charged: nobody asks, and whoever is nobody is never charged.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

    from discreet.answer.doors import Doors

#: Where a layer sees that no reader asks.
OURSELVES = "discreet.ourselves"


async def warm_up(app: ASGIApp, doors: Doors) -> None:
    """Ask for the first pages; what fails here fails again when a reader asks, and says so then."""
    await _ask(app, "/")
    for dataset_id in doors.ids():
        await _ask(app, f"/datasets/{dataset_id}")
        with suppress(DiscreetError):
            rows = doors.door(dataset_id).dataset.variables[-1].name
            for form in ("csv", "json"):
                await _ask(app, f"/api/datasets/{dataset_id}/table", f"rows={rows}&format={form}")


async def _ask(app: ASGIApp, path: str, query: str = "") -> None:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"accept-encoding", b"gzip, br")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        OURSELVES: True,
    }

    async def nothing() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ignored(_message: Message) -> None:
        return None

    await app(scope, nothing, ignored)
