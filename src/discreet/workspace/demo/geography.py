"""Where people live: small areas in districts in regions, each area with a character of its own.

About one area for 400 persons, at least one a district. The number of areas in a district follows from the
number of records; their populations are log-normal and add up to the records; what kind of neighbourhood
each is (a campus, a retirement coast, an estate, ...) is drawn given its region and district.

    persons_a proportional to exp(0.45 z_a),   P(kind | region, district) proportional to mix exp(s z).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from discreet.workspace.demo.apportion import apportion
from discreet.workspace.demo.chance import PLACES, Dice, normals, words
from discreet.workspace.demo.description import Category, Variable
from discreet.workspace.demo.places import DISTRICTS, REGIONS, Character, data_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERSONS_PER_AREA = 400
SPREAD_OF_SIZES = 0.45


class Kind(IntEnum):
    """What kind of neighbourhood an area is."""

    TOWN = 0
    SUBURB = 1
    ESTATE = 2
    INNER_CITY = 3
    CAMPUS = 4
    RETIREMENT = 5
    VILLAGE = 6
    GARRISON = 7


class Milieu(IntEnum):
    """How well off an area is; campuses stand apart."""

    DEPRIVED = 0
    ORDINARY = 1
    PROSPEROUS = 2
    CAMPUS = 3


class Economy(IntEnum):
    """What work there is around an area."""

    CAPITAL = 0
    ORDINARY = 1
    INDUSTRIAL = 2
    RURAL = 3
    GARRISON = 4


ORIGIN_LEVELS = 4

#: Which kinds a region has, and what an area of a kind is like; the file says what each table is.
_FIGURES = tomllib.loads(data_text("geography.toml"))
_ECONOMY_OF_CHARACTER: dict[Character, Economy] = {
    "capital": Economy.CAPITAL,
    "industrial": Economy.INDUSTRIAL,
}


@dataclass(frozen=True, slots=True)
class Areas:
    """The small areas in geographical order; area a holds the records ends[a-1] to ends[a] - 1."""

    ends: NDArray[np.int64]
    district: NDArray[np.int16]
    region: NDArray[np.int8]
    kind: NDArray[np.uint8]
    milieu: NDArray[np.uint8]
    origin: NDArray[np.uint8]
    economy: NDArray[np.uint8]

    def of_records(self, first: int, last: int) -> NDArray[np.int32]:
        """The area of each record from `first` to `last` - 1: they lie one area after the other."""
        low, high = np.searchsorted(self.ends, [first, last - 1], side="right")
        inner = np.clip(self.ends[low : high + 1], first, last)
        lengths = np.diff(inner, prepend=first)
        return np.repeat(np.arange(low, high + 1, dtype=np.int32), lengths)


def region_of_district() -> NDArray[np.int8]:
    """The region of each district, by position."""
    return np.repeat(np.arange(len(REGIONS), dtype=np.int8), [len(r.districts) for r in REGIONS])


def areas_of_districts(rows: int, most: int | None = None) -> NDArray[np.int64]:
    """How many areas each district has when the census has `rows` records; at most so many in all, if that is given.

    >>> int(areas_of_districts(1_500_000).sum()), int(areas_of_districts(10).min())
    (3750, 1)
    """
    wanted = round(rows / PERSONS_PER_AREA)
    count = max(DISTRICTS, wanted if most is None else min(wanted, most))
    return 1 + apportion(count - DISTRICTS, _district_weights())


def _district_weights() -> NDArray[np.float64]:
    """The share of each district: within its region the first is largest, the others fall off slowly."""
    by_region = []
    for region in REGIONS:
        falling = (np.arange(len(region.districts)) + 1.5) ** -0.6
        by_region.append(region.share * falling / falling.sum())
    return np.concatenate(by_region)


def draw_areas(rows: int, seed: int, most: int | None = None) -> Areas:
    """Draw the areas of a census with `rows` records: who lives where is decided here."""
    district = np.repeat(np.arange(DISTRICTS, dtype=np.int16), areas_of_districts(rows, most))
    region = region_of_district()[district]
    chance = words(seed, PLACES, DISTRICTS, len(district))
    sizes = apportion(rows, np.exp(SPREAD_OF_SIZES * normals(chance[:, 0])))
    kind = Dice.with_weights(_kind_weights(seed)).throw(district.astype(np.int64), chance[:, 1])
    kinds = kind.astype(np.int64)
    milieu = Dice.with_weights(np.array(_FIGURES["milieu_of_kind"])).throw(kinds, chance[:, 2])
    origin = Dice.with_weights(np.array(_FIGURES["origin_of_kind"])).throw(kinds, chance[:, 3])
    return Areas(sizes.cumsum(), district, region, kind, milieu, origin, _economies()[region, kind])


def _kind_weights(seed: int) -> NDArray[np.float64]:
    """The weights of the kinds in each district: its region's mix, tilted by a draw of its own."""
    tilt = np.exp(np.array(_FIGURES["district_spread"]) * normals(words(seed, PLACES, 0, DISTRICTS)))
    mix = np.array([_FIGURES["kinds"][region.character] for region in REGIONS])
    weights: NDArray[np.float64] = mix[region_of_district()] * tilt
    return weights


def _economies() -> NDArray[np.uint8]:
    """The economy around an area, by region and kind."""
    by_region = [_ECONOMY_OF_CHARACTER.get(region.character, Economy.ORDINARY) for region in REGIONS]
    table = np.repeat(np.array(by_region, dtype=np.uint8)[:, None], len(Kind), axis=1)
    table[:, Kind.VILLAGE] = Economy.RURAL
    table[:, Kind.GARRISON] = Economy.GARRISON
    return table


_REGION = "The region in which a person usually lives, on census day."
_DISTRICT = "The district in which a person usually lives. Every district lies within one region."
_AREA = "A neighbourhood within one district: the smallest area for which there are tables."


def region_variable() -> Variable:
    """The regions as a variable: codes R01, R02, ..."""
    categories = (Category(f"R{r:02}", region.name) for r, region in enumerate(REGIONS, 1))
    return Variable("region", "Region", tuple(categories), description=_REGION)


def district_variable() -> Variable:
    """The districts as a variable: codes R01D01, R01D02, ..."""
    categories = (
        Category(f"R{r:02}D{d:02}", name, f"R{r:02}")
        for r, region in enumerate(REGIONS, 1)
        for d, name in enumerate(region.districts, 1)
    )
    return Variable("district", "District", tuple(categories), description=_DISTRICT)


def area_variable(rows: int, most: int | None = None) -> Variable:
    """The small areas as a variable: codes R01D01A001, ..., labels like "Old Lanmere 001"."""
    counts = areas_of_districts(rows, most).tolist()
    width = max(3, len(str(max(counts))))
    categories = (
        Category(f"{district.code}A{number:0{width}}", f"{district.label} {number:0{width}}", district.code)
        for district, count in zip(district_variable().categories, counts, strict=True)
        for number in range(1, count + 1)
    )
    return Variable("area", "Small area", tuple(categories), description=_AREA)
