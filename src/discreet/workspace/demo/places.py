"""The invented country of Halvern: eleven regions, their characters and their 110 districts.

Each region has a share of the population, a character that decides which kinds of neighbourhood it has,
and the shares of its people who were born elsewhere. Names are made up; a likeness to a real place is chance.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

COUNTRY = "Halvern"

Character = Literal["capital", "city", "industrial", "coastal", "rural", "border"]


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its share of the population and who lives there.

    Args:
        name: The label of the region.
        share: The share of the country's neighbourhoods.
        character: What kinds of neighbourhood it has.
        born_elsewhere: Shares born in neighbouring countries, the rest of Europe, Asia, anywhere else.
        districts: The names of its districts, the largest first.
    """

    name: str
    share: float
    character: Character
    born_elsewhere: tuple[float, float, float, float]
    districts: tuple[str, ...]


def data_text(name: str) -> str:
    """A file of figures or text beside this module."""
    return files("discreet.workspace.demo").joinpath("data", name).read_text("utf-8")


def _regions() -> tuple[Region, ...]:
    found = tomllib.loads(data_text("places.toml"))["region"]
    return tuple(
        Region(
            **each | {"born_elsewhere": tuple(each["born_elsewhere"]), "districts": tuple(each["districts"])}
        )
        for each in found
    )


REGIONS = _regions()
DISTRICTS: int = sum(len(region.districts) for region in REGIONS)
