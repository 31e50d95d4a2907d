"""What people expect to be told of a dataset beside its numbers: who publishes it, under which licence, when it changes.

    [about]
    publisher = "Statistics Example"
    licence = "https://creativecommons.org/licenses/by/4.0/"
    contact = "tables@example.org"
    keywords = ["census", "population"]
    spatial = "Halvern"
    temporal = "2026-03-01"
    next_update = "2027-03-01"

Words for people and catalogues: no number depends on them, and they may be corrected after a load (`workspace/wording.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from discreet.errors import BadDescription
from discreet.model.section import section_of


@dataclass(frozen=True, slots=True)
class About:
    """What is told of a dataset; empty where nothing is.

    Args:
        publisher: Who publishes it.
        licence: The address of the licence of its tables.
        contact: Whom to ask: an e-mail address or a web address.
        keywords: What it is about, in words to search for.
        spatial: The country or region that it covers.
        temporal: The time that it covers: a date, or two with a slash between.
        next_update: When the next version is expected.
    """

    publisher: str = ""
    licence: str = ""
    contact: str = ""
    keywords: tuple[str, ...] = ()
    spatial: str = ""
    temporal: str = ""
    next_update: str = ""

    def as_json(self) -> dict[str, Any]:
        """What is known, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if name == "keywords" else value for name, value in found.items() if value}


def about_of(section: Any) -> About:
    """The section `[about]`.

    Raises:
        BadDescription: With what is wrong and what to do.

    >>> about_of({"publisher": "Office", "keywords": ["census"]}).as_json()
    {'publisher': 'Office', 'keywords': ['census']}
    """
    for key, value in section_of(section, "about", [field.name for field in fields(About)]).items():
        listed = value if key == "keywords" and isinstance(value, list) else [value]
        if (key == "keywords") != isinstance(value, list) or not all(
            isinstance(each, str) for each in listed
        ):
            wanted = "a list of texts" if key == "keywords" else "text in quotes"
            raise BadDescription(f"`{key}` of [about] is {value!r}.", f"Give {wanted}.")
    return About(**{**section, "keywords": tuple(section.get("keywords", ()))})
