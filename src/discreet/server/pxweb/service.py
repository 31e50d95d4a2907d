"""What the routes of PxWebApi share: the doors, the limits, the whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.server.address import here
from discreet.server.pxweb.exchange import PREFIX
from discreet.server.pxweb.metadata import link
from discreet.server.pxweb.selection import any_case, select, understood
from discreet.server.pxweb.wanted import Wanted, wanted_document

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.server.wholes import Wholes
    from discreet.workspace.options import Options


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes share: the doors, the limits, and the whole tables made a moment ago."""

    doors: Doors
    options: Options
    wholes: Wholes

    def door(self, table_id: str, version: str = "") -> Door:
        """A version of the dataset of a table, its id in any case."""
        return self.doors.door(any_case(table_id, self.doors.ids()) or table_id, version=version)


def selection_document(door: Door, wanted: Wanted, here: str) -> dict[str, Any]:
    """What is understood of a selection, code by code."""
    words = wanted_document(understood(door, select(door, wanted)))
    return {"language": "en", **words, "links": [link(here, "self")]}


def base() -> str:
    """Where the API starts."""
    return here().base + PREFIX
