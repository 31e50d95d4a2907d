"""The invented country of Halvern: eleven regions, their characters and their 110 districts.

Each region has a share of the population, a character that decides which kinds of neighbourhood it has,
and the shares of its people who were born elsewhere. Names are made up; a likeness to a real place is chance.

Comes from: imagination. Goes to: `geography` and the census description.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


REGIONS: tuple[Region, ...] = (
    Region(
        "Lanmere Capital", 0.155, "capital", (0.040, 0.034, 0.062, 0.056),
        _names("Old Lanmere, Tolgarth, Quayside, Pellmarket, Highmere, Fernhollow, Orchard Rise, "
               "Lanmere Heath, Castlemarl, Ravenhithe, Southmere, Willowbank"),
    ),
    Region(
        "Westmarl", 0.125, "industrial", (0.014, 0.020, 0.044, 0.012),
        _names("Marlport, Coldharrow, Ironbeck, Stennet, Hammerby, Forgeley, Dunmarl, Cindermoor, Tilcombe, "
               "Ashmarl, Penhallard"),
    ),
    Region(
        "Orrin Valley", 0.115, "city", (0.020, 0.026, 0.024, 0.018),
        _names("Orrinton, Vale Cross, Minsterleigh, Bellorrin, Harroway, Fennimore, Collegate, Stonorrin, "
               "Lindenholt, Brightwater, Sallowfield"),
    ),
    Region(
        "Kesterdale", 0.105, "industrial", (0.012, 0.016, 0.030, 0.009),
        _names("Kesterham, Millgarth, Loomis, Weaversby, Tarrick, Grindlebeck, Shuttlebridge, Carrowmill, "
               "Dyersgate, Netherkest, Overkest"),
    ),
    Region(
        "Samphire Coast", 0.085, "coastal", (0.018, 0.017, 0.007, 0.008),
        _names("Samphire Bay, Gullhaven, Whitesands, Pierhead, Shelldon, Marramby, Lanternpoint, Tidemouth, "
               "Sealholm, Dunescar"),
    ),
    Region(
        "Upper Tarn", 0.070, "rural", (0.010, 0.013, 0.004, 0.004),
        _names("Tarnhead, Larchwood, Corrie Dale, Hollinfell, Ewecombe, Thornpass, Cairnby, Birkenfold, "
               "Stagmoor, Kiteridge"),
    ),
    Region(
        "Lower Tarn", 0.110, "city", (0.019, 0.022, 0.020, 0.017),
        _names("Tarnmouth, Greenfold, Appleholt, Barleycross, Tarnbridge, Hazelworth, Springmead, Larkhurst, "
               "Cloverley, Roundholt, Meresby"),
    ),
    Region(
        "Brackenmoor", 0.065, "rural", (0.009, 0.015, 0.003, 0.003),
        _names("Brackenham, Gorsewick, Heathercombe, Peatholm, Curlew Moss, Rushmire, Moorstead, "
               "Bilberry Cross, Adderholt"),
    ),
    Region(
        "Eastmarl", 0.080, "border", (0.092, 0.016, 0.010, 0.007),
        _names("Bordergate, Crossmarl, Twinbridge, Marchwell, Tollerby, Ferrymarl, Oxmarket, Windmarl, "
               "Kilnholt, Poplar Reach"),
    ),
    Region(
        "Varrow Isles", 0.030, "coastal", (0.012, 0.011, 0.002, 0.004),
        _names("Varrow Town, North Varrow, Sandvarrow, Great Skerrin, Little Skerrin, Puffin Sound"),
    ),
    Region(
        "Northern Fells", 0.060, "rural", (0.015, 0.008, 0.003, 0.003),
        _names("Fellgate, Snowdrake, Ptarmigan Dale, Frostholm, Pinecairn, Grousefell, Lochmarl, Wolfbridge, "
               "Longwinter"),
    ),
)  # fmt: skip

DISTRICTS: int = sum(len(region.districts) for region in REGIONS)
