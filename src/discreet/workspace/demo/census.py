"""The synthetic census of Halvern: seven variables and three levels of geography, from a seed.

Records are sorted by area; record i throws five dice with its own random words (`dice.py`), each given the values before it
(`people.py`). Only the list of areas grows with the number of records.

    person_id = a bijection of i on 48 bits, so that the order of ids reveals nothing, and 15 digits hold them.

Source: the variables of Rinott et al. (2018), section 3. All records are invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.records.draft.toml_text import PROTECTION
from discreet.workspace.demo.description_writer import (
    Variable,
    header,
    hierarchy_block,
    variable_block,
    zero_block,
)
from discreet.workspace.demo.dice import RECORDS, philox_words
from discreet.workspace.demo.geography import (
    COUNTRY,
    ORIGIN_LEVELS,
    Areas,
    area_variable,
    data_text,
    district_variable,
    draw_areas,
    region_variable,
)
from discreet.workspace.demo.people import (
    AGE,
    AGE_CLASS,
    BANDS,
    BIRTHPLACE,
    EDUCATION,
    EMPLOYMENT,
    OCCUPATION,
    SEX,
    census_zeros,
    people,
)

ROWS = 1_500_000
SEED = 2026
#: The census under `dp` has other persons: no set of records may have two protections.
DP_ROWS = 500_000
DP_SEED = 2027
CHUNK = 250_000
ID_BITS = 48
#: What `discreet publish` writes of it.
PUBLISH = """
[publish]
variables = ["region", "sex", "age", "employment", "education", "birthplace"]
up_to = 2
tables = ["district*sex", "district*age"]
"""


def census_batches(
    rows: int = ROWS, *, seed: int = SEED, chunk: int = CHUNK, most_areas: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of the census, `chunk` at a time; how they are cut does not change them.

    Args:
        rows: The number of persons.
        seed: Another seed is another country with the same districts.
        chunk: The number of records in a batch; the last may be shorter.
        most_areas: The maximum number of small areas, which then have more people; else one for 400 persons.

    Returns:
        Batches with an int64 `person_id` and one dictionary column of codes for each variable.

    >>> next(census_batches(1000, chunk=10)).num_rows
    10
    """
    if chunk < 1:
        raise BadRequest(f"The chunk is {chunk} records.", "Ask for at least 1 record at a time.")
    _check_rows(rows)
    areas = draw_areas(rows, seed, most_areas)
    variables = census_variables(rows, most_areas)
    lists = [pa.array(variable.codes, pa.string()) for variable in variables]
    names = ["person_id", *(variable.name for variable in variables)]
    return (
        pa.RecordBatch.from_arrays(
            _arrow(_records(areas, seed, at, min(at + chunk, rows)), lists), names=names
        )
        for at in range(0, rows, chunk)
    )


def _check_rows(rows: int) -> None:
    if not 1 <= rows < 1 << ID_BITS:
        raise BadRequest(f"The census has {rows} records.", f"Ask for 1 to 2^{ID_BITS} - 1 records.")


def census_variables(rows: int, most_areas: int | None = None) -> list[Variable]:
    """The variables of a census with `rows` records, in the order of the columns."""
    geography = [region_variable(), district_variable(), area_variable(rows, most_areas)]
    return [*geography, SEX, AGE, EMPLOYMENT, OCCUPATION, EDUCATION, BIRTHPLACE]


# The sex and the age class of the 42 combinations of sex and band, as `occupation_weights` numbers them.
_SEX_AND_CLASS = np.concatenate([AGE_CLASS, AGE_CLASS + 8]).astype(np.int64)


def _records(areas: Areas, seed: int, first: int, last: int) -> list[NDArray[Any]]:
    """Ids and category positions of the records `first` to `last` - 1, in the order of the columns."""
    area = areas.of_records(first, last)
    chance = philox_words(seed, RECORDS, first, last - first)
    places: list[NDArray[Any]] = [areas.region[area], areas.district[area], area]
    return [person_ids(seed, first, last), *places, *_persons(areas, area, chance)]


def _persons(areas: Areas, area: NDArray[np.int32], chance: NDArray[np.uint32]) -> list[NDArray[np.int8]]:
    """Throw the dice of `people`, each on the row that its own docstring numbers."""
    die = people()
    age_sex = die.age_sex.throw(_wide(areas.kind[area]), chance[:, 0])
    sex = (age_sex >= BANDS).astype(np.int8)
    age = (age_sex - BANDS * sex).astype(np.int8)
    origin = _wide(areas.region[area]) * ORIGIN_LEVELS + areas.origin[area]
    birthplace = die.birthplace.throw(origin * BANDS + age, chance[:, 1])
    person = (_wide(areas.milieu[area]) * 5 + birthplace) * (2 * BANDS) + age_sex
    education = die.education.throw(person, chance[:, 2])
    employment = die.employment.throw(person * 9 + education, chance[:, 3])
    worker = (_wide(areas.economy[area]) * 5 + birthplace) * 16 + _SEX_AND_CLASS[age_sex]
    occupation = die.occupation.throw((worker * 9 + education) * 5 + employment, chance[:, 4])
    return [sex, age, *(face.view(np.int8) for face in (employment, occupation, education, birthplace))]


def _wide(positions: NDArray[Any]) -> NDArray[np.int64]:
    """Positions as 64-bit integers: row numbers outgrow the small type that stores a category."""
    return positions.astype(np.int64)


def person_ids(seed: int, first: int, last: int) -> NDArray[np.int64]:
    """The ids of the records `first` to `last` - 1: a keyed bijection on 48 bits, so each is unique.

    A multiplication by an odd number and a shift-and-xor can each be undone, hence so can the whole.
    """
    mask = np.uint64((1 << ID_BITS) - 1)
    mixed = np.arange(first, last, dtype=np.uint64) + np.uint64(seed % (1 << ID_BITS))
    for odd in (0x9E3779B97F4B, 0xBF58476D1CE5, 0x94D049BB1331):
        mixed = (mixed * np.uint64(odd)) & mask
        mixed ^= mixed >> np.uint64(ID_BITS // 2)
    return mixed.view(np.int64)


def _arrow(columns: list[NDArray[Any]], lists: list[pa.Array]) -> list[pa.Array]:
    """The id as it is, and each variable as positions in its list of codes."""
    ids, *positions = columns
    coded_columns = (
        pa.DictionaryArray.from_arrays(pa.array(column), codes, safe=False)
        for column, codes in zip(positions, lists, strict=True)
    )
    return [pa.array(ids), *coded_columns]


def census_description(
    rows: int = ROWS, *, seed: int = SEED, mapped: bool = False, most_areas: int | None = None
) -> str:
    """The text of the `dataset.toml` of a census with `rows` records.

    Args:
        rows: The number of persons.
        seed: Of the records.
        mapped: Whether it names the files of its boundaries: "region.geojson" and so on.
        most_areas: The maximum number of small areas.

    >>> census_description(1000).splitlines()[0]
    'id = "census"'
    """
    about = {
        "id": "census",
        "label": f"Census of {COUNTRY} 2026 (synthetic)",
        "description": "Everybody in an invented country by place, sex, age, work, education and "
        "birthplace. Made for trying out tables: the dependence looks real, the persons are not.",
    }
    # Rules chosen so that every one shows itself. The noise leaves no counts of 1 and 2: small are those up to 4.
    german = {
        "label": f"Volkszählung von {COUNTRY} 2026 (synthetisch)",
        "description": "Alle Personen eines erfundenen Landes nach Ort, Geschlecht, Alter, Arbeit, Bildung und "
        "Geburtsland. Gemacht, um Tabellen auszuprobieren: Die Zusammenhänge wirken echt, die Personen sind es nicht.",
    }
    protection = f"{data_text('census_rules.toml')}\n{PROTECTION}{PUBLISH}"
    return _description(rows, seed, about, german, protection, mapped=mapped, most_areas=most_areas)


def dp_census_batches(
    rows: int = DP_ROWS, *, seed: int = DP_SEED, chunk: int = CHUNK
) -> Iterator[pa.RecordBatch]:
    """The records of the census under `dp`: other persons than those of the other census."""
    return census_batches(rows, seed=seed, chunk=chunk)


def dp_census_description(rows: int = DP_ROWS, *, seed: int = DP_SEED, mapped: bool = False) -> str:
    """The text of the `dataset.toml` of the census under `dp`."""
    about = {
        "id": "census-dp",
        "label": f"Census of {COUNTRY} under differential privacy (synthetic)",
        "description": "Another half a million invented persons. All tables of up to two variables, and three of "
        "three, share one privacy budget: everything that is ever said is bounded together.",
    }
    german = {
        "label": f"Volkszählung von {COUNTRY} unter Differential Privacy (synthetisch)",
        "description": "Eine weitere halbe Million erfundener Personen. Alle Tabellen mit bis zu zwei Merkmalen und drei "
        "mit drei Merkmalen teilen ein Vertraulichkeitsbudget: Alles, was je gesagt wird, ist gemeinsam begrenzt.",
    }
    return _description(rows, seed, about, german, "\n" + data_text("census_dp.toml"), mapped=mapped)


def _description(
    rows: int,
    seed: int,
    about: dict[str, str],
    german: dict[str, str],
    protection: str,
    *,
    mapped: bool,
    most_areas: int | None = None,
) -> str:
    _check_rows(rows)
    top = header(
        {
            **about,
            "source": f"Synthetic data made by Discreet from seed {seed}: no real person is among them.",
            "version": "2026",
            "reference_date": "2026-03-01",
            "unit": "persons",
            "population": f"All usual residents of {COUNTRY}, an invented country, on census day",
            "id_column": "person_id",
        }
    )
    told = header(
        {
            "publisher": f"The invented statistical office of {COUNTRY}",
            "contact": "tables@halvern.example",
            "spatial": COUNTRY,
            "temporal": "2026-03-01",
            "next_update": "2036-03-01",
        }
    )
    about_section = f'[about]\n{told}keywords = ["census", "population", "synthetic data"]\n'
    levels = ["region", "district", "area"]
    geography = hierarchy_block("geography", "Geography", levels, geography=True)
    variables = [
        variable_block(
            replace(each, boundaries=f"{each.name}.geojson") if mapped and each.name in levels else each
        )
        for each in census_variables(rows, most_areas)
    ]
    zeros = map(zero_block, census_zeros())
    labels = header(
        {
            **german,
            "source": f"Synthetische Daten, von Discreet aus dem Startwert {seed} gemacht: Keine echte Person ist darunter.",
            "unit": "Personen",
            "population": f"Alle Personen mit üblichem Aufenthalt in {COUNTRY}, einem erfundenen Land, am Stichtag",
        }
    )
    topics = 'topics = { People = "Personen", Work = "Arbeit", Education = "Bildung" }'
    translated = f"[labels.de]\n{labels}{topics}\n\n{data_text('census_labels.toml')}"
    return "\n".join([top, about_section, *variables, geography, *zeros, translated, protection])
