"""The people of the synthetic census: the questions of the form, and one conditional distribution after the other.

    P(person | area) = P(age, sex | kind) P(birthplace | region, origin, age)
                       P(education | milieu, birthplace, sex, age)
                       P(employment | milieu, birthplace, sex, age, education)
                       P(occupation | economy, birthplace, sex, age class, education, employment).

Each factor is a base distribution times multipliers, small tables in `data/people.toml`, and becomes a `Dice` with one
die for each combination of its conditions. Impossible combinations have weight zero: "not applicable" under 15 only;
employed people have an occupation; no master's degree before 20. All figures are invented, in the style of a European
census.

Source: the variables of Rinott et al. (2018), section 3.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.workspace.demo.description_writer import Category, Variable, Zero, number_categories
from discreet.workspace.demo.dice import Dice
from discreet.workspace.demo.geography import COUNTRY, REGIONS, Kind, Milieu, data_text

BANDS = 21
ADULT = 3  # the band 15-19
MALE, FEMALE = 0, 1
EMPLOYED, UNEMPLOYED, STUDENT, INACTIVE, CHILD_EMPLOYMENT = range(5)
NO_OCCUPATION, CHILD_OCCUPATION = 10, 11
MASTER, CHILD_EDUCATION = 7, 8

#: Base distributions and multipliers; the file says what each one is.
_PEOPLE_FIGURES = {
    name: np.array(figures) for name, figures in tomllib.loads(data_text("people.toml")).items()
}
# The age bands of the multipliers by kind of neighbourhood: 0-14, 15-19, 20-24, 25-34, 35-49, 50-64, 65-79, 80 and over.
_PYRAMID_BANDS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 3, 5])
# Age classes from 15: 15-19, 20-24, 25-34, 35-49, 50-64, 65-69, 70 and over; class 0 is childhood.
AGE_CLASS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 1, 7])


@dataclass(frozen=True, slots=True)
class People:
    """The five dice that make a person, each conditional on the values before it."""

    age_sex: Dice
    birthplace: Dice
    education: Dice
    employment: Dice
    occupation: Dice


@cache
def people() -> People:
    """The dice of the census; they depend neither on the seed nor on the number of records."""
    return People(
        Dice.with_weights(age_sex_weights()),
        Dice.with_weights(birthplace_weights()),
        Dice.with_weights(education_weights()),
        Dice.with_weights(employment_weights()),
        Dice.with_weights(occupation_weights()),
    )


def age_sex_weights() -> NDArray[np.float64]:
    """By kind of neighbourhood: weights of men and women in the 21 bands; a garrison has more young men."""
    tilt = _PEOPLE_FIGURES["pyramid"][:, _PYRAMID_BANDS]
    weights: NDArray[np.float64] = tilt[:, None, :] * np.array(
        [_PEOPLE_FIGURES["men"], _PEOPLE_FIGURES["women"]]
    )
    weights[Kind.GARRISON, MALE, ADULT:10] *= 1.8
    return weights.reshape(len(Kind), 2 * BANDS)


def birthplace_weights() -> NDArray[np.float64]:
    """By region, origin level of the neighbourhood and age: weights of the five birthplaces."""
    elsewhere = np.array([region.born_elsewhere for region in REGIONS])
    migration = np.array([_PEOPLE_FIGURES["settled"], *[_PEOPLE_FIGURES["recent"]] * 3])
    foreign = elsewhere[:, None, None, :] * _PEOPLE_FIGURES["origin"][:, None, None] * migration.T
    home = np.broadcast_to(1 - elsewhere.sum(axis=1)[:, None, None, None], (*foreign.shape[:-1], 1))
    return np.concatenate([home, foreign], axis=-1)


def education_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex and age: weights of the nine educations."""
    adults = np.concatenate(
        [_PEOPLE_FIGURES["age_15"][:, None], _PEOPLE_FIGURES["age_20"][:, None], _cohorts()], axis=1
    )
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9))
    tilt = (
        _PEOPLE_FIGURES["education_by_milieu"][:, None, None, None]
        * _PEOPLE_FIGURES["education_by_birth"][:, None, None]
    )
    weights[..., ADULT:, :8] = tilt * adults
    weights[..., :ADULT, CHILD_EDUCATION] = 1
    return weights


def _cohorts() -> NDArray[np.float64]:
    """Education of those aged 25 and over, by sex and band: a straight line from young to old."""
    age = np.clip(np.arange(16) / 12, 0, 1)[:, None]
    line: NDArray[np.float64] = (1 - age) * _PEOPLE_FIGURES["young"][:, None] + age * _PEOPLE_FIGURES["old"][
        :, None
    ]
    return line


def employment_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex, age and education: weights of the five employments."""
    rest = 1000 - _PEOPLE_FIGURES["employed"] - _PEOPLE_FIGURES["unemployed"] - _PEOPLE_FIGURES["studying"]
    base = np.stack(
        [_PEOPLE_FIGURES["employed"], _PEOPLE_FIGURES["unemployed"], _PEOPLE_FIGURES["studying"], rest],
        axis=-1,
    )
    education = np.ones((len(base[0]), 9, 4))
    education[1:, :8] = _PEOPLE_FIGURES["work_by_education"]  # at 15-19 a low education is only unfinished
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9, 5))
    tilt = (
        _PEOPLE_FIGURES["work_by_milieu"][:, None, None, None, None]
        * _PEOPLE_FIGURES["work_by_birth"][:, :, None, None]
    )
    weights[..., ADULT:, :, :4] = tilt * base[:, :, None] * education
    weights[..., :ADULT, :, CHILD_EMPLOYMENT] = 1
    return weights


def occupation_weights() -> NDArray[np.float64]:
    """By economy, birthplace, sex, age class, education and employment: weights of the twelve occupations."""
    jobs = (
        _PEOPLE_FIGURES["occupation"]
        * _PEOPLE_FIGURES["occupation_by_economy"][:, None, None, None, None]
        * _PEOPLE_FIGURES["occupation_by_birth"][:, None, None, None]
        * _PEOPLE_FIGURES["occupation_by_sex"][:, None, None]
        * _PEOPLE_FIGURES["occupation_by_age"][:, None]
        * _PEOPLE_FIGURES["occupation_by_education"]
    )
    jobs /= jobs.sum(axis=-1, keepdims=True)
    weights = np.zeros((5, 5, 2, 8, 9, 5, 12))
    for employment, without in enumerate(_PEOPLE_FIGURES["no_occupation"]):
        none = without[:, None, None]
        weights[..., 1:, :8, employment, :NO_OCCUPATION] = (1 - none) * jobs
        weights[..., 1:, :8, employment, NO_OCCUPATION] = none[..., 0]
    # Childhood, and the rows that no person reaches, which still need a face to fall on.
    weights[..., CHILD_OCCUPATION] = weights.sum(axis=-1) == 0
    return weights


AGES = [f"{5 * band}-{5 * band + 4}" for band in range(BANDS - 1)] + ["100+"]
SEX = Variable("sex", "Sex", number_categories("Male; Female"), "People", "Sex as stated on the census form.")
AGE = Variable(
    "age",
    "Age in years",
    tuple(Category(band, band.replace("-", "\N{EN DASH}")) for band in AGES),
    "People",
    "Completed years on census day, in groups of five.",
)
EMPLOYMENT = Variable(
    "employment",
    "Employment status",
    number_categories(
        "Employed; Unemployed; In education; Retired or otherwise inactive; Not applicable (under 15)"
    ),
    "Work",
    "What a person of 15 or more years mainly did in the week before census day.",
)
OCCUPATION = Variable(
    "occupation",
    "Occupation, current or last in the past five years",
    number_categories(
        "Managers; Professionals; Technicians and associate professionals; Clerical support workers; "
        "Service and sales workers; Skilled agricultural, forestry and fishery workers; "
        "Craft and related trades workers; Plant and machine operators; Elementary occupations; "
        "Armed forces; No occupation in the past five years; Not applicable (under 15)"
    ),
    "Work",
    "The main job by the kind of work, in the ten major groups of an international classification.",
)
EDUCATION = Variable(
    "education",
    "Highest education completed",
    number_categories(
        "None; Primary; Lower secondary; Upper secondary, general; Upper secondary, vocational; "
        "Short-cycle tertiary; Bachelor's degree; Master's degree or doctorate; "
        "Not applicable (under 15)"
    ),
    "Education",
    "The highest level of education that a person of 15 or more years has completed.",
)
BIRTHPLACE = Variable(
    "birthplace",
    "Country of birth",
    number_categories(
        f"{COUNTRY}; Neighbouring countries; Rest of Europe; Asia; Africa, the Americas and Oceania"
    ),
    "People",
    "The country in which a person was born, by its borders on census day.",
)

_UNDER_15, _FROM_15 = AGES[:3], AGES[3:]


def census_zeros() -> list[Zero]:
    """What cannot occur: stated in every pair of variables, so that no table shows noise there."""
    employment, occupation, education = EMPLOYMENT.codes, OCCUPATION.codes, EDUCATION.codes
    stated = {"employment": employment, "occupation": occupation, "education": education}
    words_for = {"employment": "employment status", "occupation": "occupation", "education": "education"}
    zeros = []
    for name, codes in stated.items():
        what = words_for[name]
        zeros.append(Zero(f"Children under 15 have no {what}", {"age": _UNDER_15, name: codes[:-1]}))
        zeros.append(
            Zero(f"From 15 on everybody has an answer for {what}", {"age": _FROM_15, name: codes[-1:]})
        )
    for one, other in combinations(stated, 2):
        for child, adult in ((one, other), (other, one)):
            label = f"Not applicable for {words_for[child]} means under 15, hence for {words_for[adult]} too"
            zeros.append(Zero(label, {child: stated[child][-1:], adult: stated[adult][:-1]}))
    zeros.append(Zero("Who is employed has an occupation", {"employment": ["1"], "occupation": ["11"]}))
    zeros.append(Zero("No master's degree before the age of 20", {"age": ["15-19"], "education": ["8"]}))
    return zeros
