"""The synthetic census of Halvern: seven variables and three levels of geography, from a seed.

Records are sorted by area; record i throws five dice with its own random words (`dice.py`), each given the values before it.
Only the list of areas grows with the number of records.

    person_id = a bijection of i on 48 bits, so that the order of ids reveals nothing, and 15 digits hold them.

    P(person | area) = P(age, sex | kind) P(birthplace | region, origin, age)
                       P(education | milieu, birthplace, sex, age)
                       P(employment | milieu, birthplace, sex, age, education)
                       P(occupation | economy, birthplace, sex, age class, education, employment).

Each factor is a base distribution times multipliers, small tables in `data/people.toml`, and becomes a `Dice` with one
die for each combination of its conditions. Impossible combinations have weight zero: "not applicable" under 15 only;
employed people have an occupation; no master's degree before 20. All figures are invented, in the style of a European
census.

Source: the variables of Rinott et al. (2018), section 3. All records are invented.
"""

import tomllib
from collections.abc import Iterator
from functools import cache, partial
from string import Template
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.records.draft.toml_text import PROTECTION
from discreet.workspace.demo.dice import RECORDS, Dice, philox_words
from discreet.workspace.demo.geography import (
    ORIGIN_LEVELS,
    REGIONS,
    Areas,
    Kind,
    Milieu,
    census_places,
    data_text,
    draw_areas,
    variable_block,
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
    places = {each.name: list(each.codes) for each in census_places(rows, most_areas)}
    asked = tomllib.loads(data_text("census_questions.toml"))["variable"]
    places |= {each["name"]: [category["code"] for category in each["categories"]] for each in asked}
    lists = {name: pa.array(codes, pa.string()) for name, codes in places.items()}
    names, codes = ["person_id", *lists], list(lists.values())
    parts = (_records(areas, seed, at, min(at + chunk, rows)) for at in range(0, rows, chunk))
    return (pa.RecordBatch.from_arrays(_arrow(part, codes), names=names) for part in parts)


def _check_rows(rows: int) -> None:
    if not 1 <= rows < 1 << ID_BITS:
        raise BadRequest(f"The census has {rows} records.", f"Ask for 1 to 2^{ID_BITS} - 1 records.")


def _records(areas: Areas, seed: int, first: int, last: int) -> list[NDArray[Any]]:
    """Ids and category positions of the records `first` to `last` - 1, in the order of the columns."""
    area = areas.of_records(first, last)
    chance = philox_words(seed, RECORDS, first, last - first)
    places: list[NDArray[Any]] = [areas.region[area], areas.district[area], area]
    return [person_ids(seed, first, last), *places, *_persons(areas, area, chance)]


def _persons(areas: Areas, area: NDArray[np.int32], chance: NDArray[np.uint32]) -> list[NDArray[np.int8]]:
    """Throw each of the dice on the row that its weights number."""
    of_age_sex, of_birthplace, of_education, of_employment, of_occupation = _dice()
    age_sex = of_age_sex.throw(_wide(areas.kind[area]), chance[:, 0])
    sex = (age_sex >= BANDS).astype(np.int8)
    age = (age_sex - BANDS * sex).astype(np.int8)
    origin = _wide(areas.region[area]) * ORIGIN_LEVELS + areas.origin[area]
    birthplace = of_birthplace.throw(origin * BANDS + age, chance[:, 1])
    person = (_wide(areas.milieu[area]) * 5 + birthplace) * (2 * BANDS) + age_sex
    education = of_education.throw(person, chance[:, 2])
    employment = of_employment.throw(person * 9 + education, chance[:, 3])
    worker = (_wide(areas.economy[area]) * 5 + birthplace) * 16 + _SEX_AND_CLASS[age_sex]
    occupation = of_occupation.throw((worker * 9 + education) * 5 + employment, chance[:, 4])
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
    ids, *positions = columns
    coded = map(partial(pa.DictionaryArray.from_arrays, safe=False), positions, lists)
    return [pa.array(ids), *coded]


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
    protection = f"{data_text('census_rules.toml')}\n{PROTECTION}{PUBLISH}"
    return _description("census", rows, seed, protection, mapped=mapped, most_areas=most_areas)


def dp_census_batches(
    rows: int = DP_ROWS, *, seed: int = DP_SEED, chunk: int = CHUNK
) -> Iterator[pa.RecordBatch]:
    """The records of the census under `dp`: other persons than those of the other census."""
    return census_batches(rows, seed=seed, chunk=chunk)


def dp_census_description(rows: int = DP_ROWS, *, seed: int = DP_SEED, mapped: bool = False) -> str:
    """The text of the `dataset.toml` of the census under `dp`."""
    return _description("census-dp", rows, seed, "\n" + data_text("census_dp.toml"), mapped=mapped)


def _description(
    name: str, rows: int, seed: int, protection: str, *, mapped: bool, most_areas: int | None = None
) -> str:
    _check_rows(rows)
    texts = tomllib.loads(data_text("census_texts.toml"))[name]
    places = (variable_block(each, mapped=mapped) for each in census_places(rows, most_areas))
    return Template(data_text("census.template")).substitute(
        texts,
        id=name,
        seed=seed,
        places="\n".join(places),
        questions=data_text("census_questions.toml"),
        protection=protection,
    )


BANDS = 21
ADULT = 3  # the band 15-19
MALE, FEMALE = 0, 1
EMPLOYED, UNEMPLOYED, STUDENT, INACTIVE, CHILD_EMPLOYMENT = range(5)
NO_OCCUPATION, CHILD_OCCUPATION = 10, 11
MASTER, CHILD_EDUCATION = 7, 8

#: Base distributions and multipliers; the file says what each one is.
_FIGURES = {name: np.array(figures) for name, figures in tomllib.loads(data_text("people.toml")).items()}
# The age bands of the multipliers by kind of neighbourhood: 0-14, 15-19, 20-24, 25-34, 35-49, 50-64, 65-79, 80 and over.
_PYRAMID_BANDS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 3, 5])
# Age classes from 15: 15-19, 20-24, 25-34, 35-49, 50-64, 65-69, 70 and over; class 0 is childhood.
AGE_CLASS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 1, 7])
# The sex and the age class of the 42 combinations of sex and band, as `occupation_weights` numbers them.
_SEX_AND_CLASS = np.concatenate([AGE_CLASS, AGE_CLASS + 8]).astype(np.int64)


@cache
def _dice() -> list[Dice]:
    """The five dice that make a person, each conditional on the values before it."""
    weights = age_sex_weights, birthplace_weights, education_weights, employment_weights, occupation_weights
    return [Dice.with_weights(each()) for each in weights]


def age_sex_weights() -> NDArray[np.float64]:
    """By kind of neighbourhood: weights of men and women in the 21 bands; a garrison has more young men."""
    tilt = _FIGURES["pyramid"][:, _PYRAMID_BANDS]
    weights: NDArray[np.float64] = tilt[:, None, :] * np.array([_FIGURES["men"], _FIGURES["women"]])
    weights[Kind.GARRISON, MALE, ADULT:10] *= 1.8
    return weights.reshape(len(Kind), 2 * BANDS)


def birthplace_weights() -> NDArray[np.float64]:
    """By region, origin level of the neighbourhood and age: weights of the five birthplaces."""
    elsewhere = np.array([region.born_elsewhere for region in REGIONS])
    migration = np.array([_FIGURES["settled"], *[_FIGURES["recent"]] * 3])
    foreign = elsewhere[:, None, None, :] * _FIGURES["origin"][:, None, None] * migration.T
    home = np.broadcast_to(1 - elsewhere.sum(axis=1)[:, None, None, None], (*foreign.shape[:-1], 1))
    return np.concatenate([home, foreign], axis=-1)


def education_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex and age: weights of the nine educations."""
    age = np.clip(np.arange(16) / 12, 0, 1)[:, None]  # from 25 on, a straight line from young to old
    line = (1 - age) * _FIGURES["young"][:, None] + age * _FIGURES["old"][:, None]
    adults = np.concatenate([_FIGURES["age_15"][:, None], _FIGURES["age_20"][:, None], line], axis=1)
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9))
    tilt = (
        _FIGURES["education_by_milieu"][:, None, None, None] * _FIGURES["education_by_birth"][:, None, None]
    )
    weights[..., ADULT:, :8] = tilt * adults
    weights[..., :ADULT, CHILD_EDUCATION] = 1
    return weights


def employment_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex, age and education: weights of the five employments."""
    rest = 1000 - _FIGURES["employed"] - _FIGURES["unemployed"] - _FIGURES["studying"]
    base = np.stack([_FIGURES["employed"], _FIGURES["unemployed"], _FIGURES["studying"], rest], axis=-1)
    education = np.ones((len(base[0]), 9, 4))
    education[1:, :8] = _FIGURES["work_by_education"]  # at 15-19 a low education is only unfinished
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9, 5))
    tilt = _FIGURES["work_by_milieu"][:, None, None, None, None] * _FIGURES["work_by_birth"][:, :, None, None]
    weights[..., ADULT:, :, :4] = tilt * base[:, :, None] * education
    weights[..., :ADULT, :, CHILD_EMPLOYMENT] = 1
    return weights


def occupation_weights() -> NDArray[np.float64]:
    """By economy, birthplace, sex, age class, education and employment: weights of the twelve occupations."""
    jobs = (
        _FIGURES["occupation"]
        * _FIGURES["occupation_by_economy"][:, None, None, None, None]
        * _FIGURES["occupation_by_birth"][:, None, None, None]
        * _FIGURES["occupation_by_sex"][:, None, None]
        * _FIGURES["occupation_by_age"][:, None]
        * _FIGURES["occupation_by_education"]
    )
    jobs /= jobs.sum(axis=-1, keepdims=True)
    weights = np.zeros((5, 5, 2, 8, 9, 5, 12))
    for employment, without in enumerate(_FIGURES["no_occupation"]):
        none = without[:, None, None]
        weights[..., 1:, :8, employment, :NO_OCCUPATION] = (1 - none) * jobs
        weights[..., 1:, :8, employment, NO_OCCUPATION] = none[..., 0]
    # Childhood, and the rows that no person reaches, which still need a face to fall on.
    weights[..., CHILD_OCCUPATION] = weights.sum(axis=-1) == 0
    return weights
