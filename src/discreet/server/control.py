"""A control of a page: every one is a link to another state of the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """What a control does, and the address at which that is done; `current` where it leads to what is shown."""

    label: str
    href: str
    current: bool = False
