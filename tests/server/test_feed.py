"""The feed as a reader of feeds sees it: parsed again, with hostile labels in it."""

from contextlib import closing
from dataclasses import replace
from uuid import UUID
from xml.etree import ElementTree as ET

from discreet.answer.doors import Doors, open_doors
from discreet.server.feed import ATOM, atom_feed

from .conftest import HOSTILE_LABEL

LOADED = {"people": "2026-01-02T03:04:05Z", "hostile": "2026-05-06T00:00:00Z"}


def entries(workspace):
    doors = Doors(workspace)
    found = [
        (doors.door(name), [replace(facts, loaded=when) for facts in doors.versions(name)])
        for name, when in LOADED.items()
    ]
    feed = ET.fromstring(atom_feed(found, "An <office>"))  # noqa: S314 - our own feed
    return doors, feed, feed.findall(f"{{{ATOM}}}entry")


def text(element, name):
    return element.find(f"{{{ATOM}}}{name}").text


def test_each_version_that_is_served_is_an_entry_with_its_time(small_workspace):
    doors, feed, (first, second) = entries(small_workspace)
    assert text(feed, "updated") == text(first, "updated") == "2026-05-06T00:00:00Z"
    assert text(second, "updated") == "2026-01-02T03:04:05Z"
    assert text(second, "id") == UUID(doors.door("people").digest).urn
    assert text(second, "title") == "People of Smallville, version 7"
    assert "Reference date: 2026-01-01." in text(second, "summary")
    assert text(feed.find(f"{{{ATOM}}}author"), "name") == "An <office>"


def test_hostile_labels_stay_text(small_workspace):
    _, _, (first, _) = entries(small_workspace)
    assert text(first, "title").startswith(HOSTILE_LABEL.replace("\u202e", "\u202e"))
    assert {child.tag for child in first} == {
        f"{{{ATOM}}}{n}" for n in ("id", "title", "updated", "link", "summary")
    }


def test_a_feed_of_nothing_is_a_feed():
    feed = ET.fromstring(atom_feed([], None))  # noqa: S314 - our own feed
    assert text(feed, "updated") == "1970-01-01T00:00:00Z"


def test_every_version_of_the_history_has_an_entry_with_its_own_time(town_versions):
    """Wrong alternative: the served version alone, or a time that nobody wrote down."""
    with closing(open_doors(town_versions)) as doors:
        facts = doors.versions("town")
        times = [f"2026-0{number}-01T00:00:00Z" for number in (1, 2, 3)]
        known = [replace(each, loaded=when) for each, when in zip(facts, times, strict=True)]
        feed = ET.fromstring(atom_feed([(doors.door("town"), known)], None))  # noqa: S314 - our own feed
        found = feed.findall(f"{{{ATOM}}}entry")
        assert [text(entry, "updated") for entry in found] == times[::-1]
        assert [text(entry, "id") for entry in found] == [UUID(hex=each.digest).urn for each in facts[::-1]]
        served, beside, closed = (text(entry, "summary") for entry in found)
        assert "is served" in served
        assert "is answered where a link names it" in beside
        assert "few records" in closed
        links = [entry.find(f"{{{ATOM}}}link").get("href").rpartition("?")[2] for entry in found]
        assert links[1] == f"version={facts[1].digest[:8]}"
        unknown = [replace(each, loaded="") for each in facts[:2]]
        feed = ET.fromstring(atom_feed([(doors.door("town"), [*unknown, known[2]])], None))  # noqa: S314
        assert [text(entry, "updated") for entry in feed.findall(f"{{{ATOM}}}entry")] == times[2:]
