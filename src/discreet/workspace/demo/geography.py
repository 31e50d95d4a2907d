"""Where people live: small areas in districts in regions, each area with a character of its own.

About one area for 400 persons, at least one a district. The number of areas in a district follows from the
number of records; their populations are log-normal and add up to the records; what kind of neighbourhood
each is (a campus, a retirement coast, an estate, ...) is drawn given its region and district.

    persons_a proportional to exp(0.45 z_a),   P(kind | region, district) proportional to mix exp(s z).

Comes from: `places`, and the seed. Goes to: `census`, which fills the areas with people.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from discreet.workspace.demo.apportion import apportion
from discreet.workspace.demo.chance import PLACES, Dice, normals, words
from discreet.workspace.demo.description import Category, Variable
from discreet.workspace.demo.places import DISTRICTS, REGIONS, Character

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

_KINDS: dict[Character, tuple[float, ...]] = {
    # town, suburb, estate, inner city, campus, retirement, village, garrison
    "capital": (0.180, 0.24, 0.16, 0.32, 0.050, 0.04, 0.005, 0.005),
    "city": (0.300, 0.24, 0.14, 0.12, 0.050, 0.08, 0.065, 0.005),
    "industrial": (0.320, 0.18, 0.28, 0.07, 0.030, 0.06, 0.055, 0.005),
    "coastal": (0.280, 0.16, 0.08, 0.04, 0.020, 0.30, 0.110, 0.010),
    "rural": (0.280, 0.12, 0.06, 0.02, 0.010, 0.13, 0.370, 0.010),
    "border": (0.340, 0.20, 0.14, 0.07, 0.025, 0.08, 0.135, 0.010),
}
# Campuses, inner cities and garrisons gather in few districts: their weights vary most between districts.
_DISTRICT_SPREAD = np.array([0.2, 0.4, 0.4, 0.7, 1.0, 0.5, 0.4, 1.5])
_MILIEU_OF_KIND = np.array(
    [
        # deprived, ordinary, prosperous, campus
        [0.20, 0.60, 0.20, 0.0],
        [0.03, 0.42, 0.55, 0.0],
        [0.75, 0.25, 0.00, 0.0],
        [0.30, 0.35, 0.35, 0.0],
        [0.00, 0.00, 0.00, 1.0],
        [0.15, 0.60, 0.25, 0.0],
        [0.08, 0.57, 0.35, 0.0],
        [0.20, 0.80, 0.00, 0.0],
    ]
)
_ORIGIN_OF_KIND = np.array(
    [
        # born elsewhere: few, some, many, very many
        [0.35, 0.45, 0.17, 0.03],
        [0.30, 0.50, 0.17, 0.03],
        [0.25, 0.35, 0.28, 0.12],
        [0.03, 0.17, 0.45, 0.35],
        [0.05, 0.30, 0.50, 0.15],
        [0.55, 0.38, 0.06, 0.01],
        [0.70, 0.28, 0.02, 0.00],
        [0.50, 0.40, 0.10, 0.00],
    ]
)
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


def areas_of_districts(rows: int) -> NDArray[np.int64]:
    """How many areas each district has when the census has `rows` records.

    >>> int(areas_of_districts(1_500_000).sum()), int(areas_of_districts(10).min())
    (3750, 1)
    """
    count = max(DISTRICTS, round(rows / PERSONS_PER_AREA))
    return 1 + apportion(count - DISTRICTS, _district_weights())


def _district_weights() -> NDArray[np.float64]:
    """The share of each district: within its region the first is largest, the others fall off slowly."""
    by_region = []
    for region in REGIONS:
        falling = (np.arange(len(region.districts)) + 1.5) ** -0.6
        by_region.append(region.share * falling / falling.sum())
    return np.concatenate(by_region)


def draw_areas(rows: int, seed: int) -> Areas:
    """Draw the areas of a census with `rows` records: who lives where is decided here."""
    district = np.repeat(np.arange(DISTRICTS, dtype=np.int16), areas_of_districts(rows))
    region = region_of_district()[district]
    chance = words(seed, PLACES, DISTRICTS, len(district))
    sizes = apportion(rows, np.exp(SPREAD_OF_SIZES * normals(chance[:, 0])))
    kind = Dice.with_weights(_kind_weights(seed)).throw(district.astype(np.int64), chance[:, 1])
    kinds = kind.astype(np.int64)
    milieu = Dice.with_weights(_MILIEU_OF_KIND).throw(kinds, chance[:, 2])
    origin = Dice.with_weights(_ORIGIN_OF_KIND).throw(kinds, chance[:, 3])
    return Areas(sizes.cumsum(), district, region, kind, milieu, origin, _economies()[region, kind])


def _kind_weights(seed: int) -> NDArray[np.float64]:
    """The weights of the kinds in each district: its region's mix, tilted by a draw of its own."""
    tilt = np.exp(_DISTRICT_SPREAD * normals(words(seed, PLACES, 0, DISTRICTS)))
    mix = np.array([_KINDS[region.character] for region in REGIONS])
    weights: NDArray[np.float64] = mix[region_of_district()] * tilt
    return weights


def _economies() -> NDArray[np.uint8]:
    """The economy around an area, by region and kind."""
    by_region = [_ECONOMY_OF_CHARACTER.get(region.character, Economy.ORDINARY) for region in REGIONS]
    table = np.repeat(np.array(by_region, dtype=np.uint8)[:, None], len(Kind), axis=1)
    table[:, Kind.VILLAGE] = Economy.RURAL
    table[:, Kind.GARRISON] = Economy.GARRISON
    return table


def region_variable() -> Variable:
    """The regions as a variable: codes R01, R02, ..."""
    categories = (Category(f"R{r:02}", region.name) for r, region in enumerate(REGIONS, 1))
    return Variable("region", "Region", tuple(categories))


def district_variable() -> Variable:
    """The districts as a variable: codes R01D01, R01D02, ..."""
    categories = (
        Category(f"R{r:02}D{d:02}", name, f"R{r:02}")
        for r, region in enumerate(REGIONS, 1)
        for d, name in enumerate(region.districts, 1)
    )
    return Variable("district", "District", tuple(categories))


def area_variable(rows: int) -> Variable:
    """The small areas as a variable: codes R01D01A001, ..., labels like "Old Lanmere 001"."""
    counts = areas_of_districts(rows).tolist()
    width = max(3, len(str(max(counts))))
    categories = (
        Category(f"{district.code}A{number:0{width}}", f"{district.label} {number:0{width}}", district.code)
        for district, count in zip(district_variable().categories, counts, strict=True)
        for number in range(1, count + 1)
    )
    return Variable("area", "Small area", tuple(categories))
