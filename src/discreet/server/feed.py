"""The feed of versions: which version of each dataset is served, and since when, as Atom.

    GET /feed.atom       one entry a dataset; a new load is a new entry with another id

An entry tells the label, the version and its digest, the reference date and the note that every reader must be told. It
tells nothing of what changed from one version to the next: that would be about people.

Comes from: a `Door` with the time of its load. Goes to: `catalogue_routes`. Source: RFC 4287.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID
from xml.etree import ElementTree as ET

from discreet.server.address import here
from discreet.server.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.door import Door

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
#: No character of XML, and left by `plain`.
_NO_XML = re.compile("[\ufffe\uffff]")
#: Atom demands a time; this one says that nobody wrote it down.
_UNKNOWN = "1970-01-01T00:00:00Z"


def atom_feed(found: Sequence[tuple[Door, str]], publisher: str | None) -> bytes:
    """The versions that are served, the newest first."""
    base = here().base
    newest = sorted(found, key=lambda item: (item[1], item[0].dataset.id), reverse=True)
    feed = ET.Element("feed", {"xmlns": ATOM})
    _text(feed, "id", f"{base}/feed.atom")
    _text(feed, "title", "Versions of the datasets")
    _text(feed, "updated", max((loaded for _, loaded in found), default="") or _UNKNOWN)
    _text(ET.SubElement(feed, "author"), "name", publisher or "Discreet")
    ET.SubElement(feed, "link", {"rel": "self", "href": f"{base}/feed.atom"})
    ET.SubElement(feed, "link", {"href": f"{base}/"})
    for door, loaded in newest:
        _entry(feed, door, loaded)
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _entry(feed: ET.Element, door: Door, loaded: str) -> None:
    dataset = door.dataset
    entry = ET.SubElement(feed, "entry")
    _text(entry, "id", UUID(hex=door.digest).urn)
    _text(entry, "title", f"{dataset.label}, version {dataset.version}")
    _text(entry, "updated", loaded or _UNKNOWN)
    ET.SubElement(entry, "link", {"href": f"{here().base}/datasets/{dataset.id}"})
    told = [f"Version {dataset.version} ({door.digest[:8]}) is served."]
    told += [f"Reference date: {dataset.reference_date}."] if dataset.reference_date else []
    _text(entry, "summary", " ".join([*told, door.note()]))


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NO_XML.sub("\ufffd", plain(text))
