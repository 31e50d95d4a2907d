"""The feed of versions: every version of each dataset and when it was loaded, as Atom.

    GET /feed.atom                   one entry a version, the newest first; a new load is a new entry
    GET /datasets/{id}/feed.atom     the same of one dataset

An entry tells the label, the version and its digest, whether it is served, answered or not answered any more, and of the
one that is served the reference date and the note that every reader must be told. It tells nothing of what changed from
one version to the next: that would be about people. A version whose load nobody wrote down has no entry, since Atom
demands a time.

Source: RFC 4287.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID
from xml.etree import ElementTree as ET

from discreet.server.address import here
from discreet.server.text import plain
from discreet.workspace.version_facts import SHORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.door import Door
    from discreet.workspace.version_facts import VersionFacts

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml; charset=utf-8"
#: No character of XML, and left by `plain`.
_NO_XML = re.compile("[\ufffe\uffff]")
#: When nothing was loaded yet: Atom demands a time of the feed itself.
_NEVER = "1970-01-01T00:00:00Z"


def atom_feed(
    found: Sequence[tuple[Door, Sequence[VersionFacts]]], publisher: str | None, path: str = "/feed.atom"
) -> bytes:
    """The versions whose load was written down, the newest first; `path` is where the feed itself is found."""
    base = here().base
    entries = [(facts.loaded, door, facts) for door, versions in found for facts in versions if facts.loaded]
    entries.sort(key=lambda item: (item[0], item[1].dataset.id, item[2].digest), reverse=True)
    feed = ET.Element("feed", {"xmlns": ATOM})
    _text(feed, "id", base + path)
    _text(feed, "title", "Versions of the datasets")
    _text(feed, "updated", entries[0][0] if entries else _NEVER)
    _text(ET.SubElement(feed, "author"), "name", publisher or "Discreet")
    ET.SubElement(feed, "link", {"rel": "self", "href": base + path})
    ET.SubElement(feed, "link", {"href": f"{base}/"})
    for _, door, facts in entries:
        _entry(feed, door, facts)
    document: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _entry(feed: ET.Element, door: Door, facts: VersionFacts) -> None:
    dataset, name = door.dataset, facts.version or facts.digest[:SHORT]
    entry = ET.SubElement(feed, "entry")
    _text(entry, "id", UUID(hex=facts.digest).urn)
    _text(entry, "title", f"{dataset.label}, version {name}")
    _text(entry, "updated", facts.loaded)
    also = "" if facts.current or facts.closed else f"?version={facts.digest[:SHORT]}"
    ET.SubElement(entry, "link", {"href": f"{here().base}/datasets/{dataset.id}{also}"})
    _text(entry, "summary", " ".join(_summary(door, facts)))


def _summary(door: Door, facts: VersionFacts) -> list[str]:
    named = f"Version {facts.version} ({facts.digest[:SHORT]})".replace("  ", " ")
    if facts.closed:
        return [f"{named} is not answered.", facts.closed]
    if not facts.current:
        return [f"{named} was replaced, and is answered where a link names it."]
    dated = door.dataset.reference_date
    return [f"{named} is served.", *([f"Reference date: {dated}."] if dated else []), door.note()]


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = _NO_XML.sub("\ufffd", plain(text))
