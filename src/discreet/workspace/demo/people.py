"""Who the people of the synthetic census are: one conditional distribution after the other.

    P(person | area) = P(age, sex | kind) P(birthplace | region, origin, age)
                       P(education | milieu, birthplace, sex, age)
                       P(employment | milieu, birthplace, sex, age, education)
                       P(occupation | economy, birthplace, sex, age class, education, employment).

Each factor is a base distribution times multipliers, written out below as small tables, and becomes a `Dice`
with one die for each combination of what it is given. What cannot occur has weight zero: under 15 there is
only "not applicable", from 15 on never; who is employed has an occupation; no master's degree before 20.

Comes from: invented figures in the style of a European census; no real person or file was used.
Goes to: `census`. Source: the variables of Rinott et al. (2018), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.workspace.demo.chance import Dice
from discreet.workspace.demo.geography import Kind, Milieu
from discreet.workspace.demo.places import REGIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

BANDS = 21
ADULT = 3  # the band 15-19
MALE, FEMALE = 0, 1
EMPLOYED, UNEMPLOYED, STUDENT, INACTIVE, CHILD_EMPLOYMENT = range(5)
NO_OCCUPATION, CHILD_OCCUPATION = 10, 11
MASTER, CHILD_EDUCATION = 7, 8

# Age pyramid, per thousand: births fell a generation ago, and women outlive men.
_MEN = [28, 30, 32, 29, 25.5, 32, 34, 34, 32, 31, 33, 34, 30.5, 26, 23, 17, 11, 6.2, 2.4, 0.55, 0.045]
_WOMEN = [26.6, 28.5, 30.4, 27.6, 25, 32, 34.4, 34.8, 33, 32, 34, 35, 32, 28, 26, 20.5, 15.2, 10, 5, 1.7, 0.2]

# How the kinds of neighbourhood differ: 0-14, 15-19, 20-24, 25-34, 35-49, 50-64, 65-79, 80 and over.
_PYRAMID_BANDS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 3, 5])
_PYRAMID = {
    Kind.TOWN: [1, 1, 1, 1, 1, 1, 1, 1],
    Kind.SUBURB: [1.25, 1.1, 0.7, 0.95, 1.3, 1, 0.8, 0.7],
    Kind.ESTATE: [1.2, 1.15, 1.1, 1.1, 0.95, 0.95, 0.85, 0.75],
    Kind.INNER_CITY: [0.7, 0.7, 1.6, 2.2, 1.1, 0.7, 0.5, 0.45],
    Kind.CAMPUS: [0.35, 3, 7, 1.6, 0.5, 0.4, 0.3, 0.3],
    Kind.RETIREMENT: [0.6, 0.7, 0.6, 0.6, 0.75, 1.2, 1.9, 2.3],
    Kind.VILLAGE: [0.9, 0.95, 0.65, 0.7, 0.95, 1.3, 1.25, 1],
    Kind.GARRISON: [1.2, 1.4, 2.6, 1.8, 1, 0.5, 0.3, 0.2],
}

# Born elsewhere: how the neighbourhood multiplies it, and how it changes with age.
_ORIGIN = np.array([0.4, 0.8, 1.6, 3])
_RECENT = [0.2, 0.3, 0.35, 0.5, 1.2, 1.7, 1.9, 1.8, 1.5, 1.2, 1, 0.85, 0.75, 0.65, 0.6, *[0.5] * 6]
_SETTLED = [0.15, 0.25, 0.3, 0.45, 0.9, 1.2, 1.3, 1.3, 1.25, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, *[1.0] * 6]
_MIGRATION = np.array([_SETTLED, _RECENT, _RECENT, _RECENT])

# Highest education: none, primary, lower secondary, upper general, upper vocational, short tertiary,
# bachelor, master or doctor. From 25 on, a cohort lies between the young and the old.
_YOUNG = [[1, 2, 12, 14, 26, 10, 22, 13], [1, 2, 9, 14, 19, 11, 27, 17]]
_OLD = [[4, 22, 28, 6, 25, 6, 6, 3], [5, 31, 33, 7, 17, 4, 2.5, 0.7]]
_AGE_15 = [[3, 18, 62, 10, 6, 0.8, 0.1, 0], [2, 16, 63, 13, 5, 0.9, 0.1, 0]]
_AGE_20 = [[1.2, 2.3, 17, 38, 25, 7, 8.5, 1], [1, 1.8, 13, 42, 17, 8, 15, 2]]
_EDUCATION_BY_BIRTH = np.array(
    [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [1.1, 1.1, 1, 1, 1.1, 0.9, 1, 1.1],
        [1.4, 1.3, 0.9, 1.1, 1, 0.9, 1.1, 1.5],
        [3.5, 1.9, 0.9, 1.1, 0.5, 0.9, 1.2, 1.7],
        [3, 1.7, 1, 1.2, 0.6, 1, 1.1, 1.3],
    ]
)
_EDUCATION_BY_MILIEU = np.array(
    [
        [1.8, 1.5, 1.4, 0.9, 1.1, 0.8, 0.5, 0.35],
        [1, 1, 1, 1, 1, 1, 1, 1],
        [0.4, 0.5, 0.6, 1, 0.85, 1.1, 1.5, 2.2],
        [0.4, 0.4, 0.5, 2.5, 0.5, 1.2, 1.6, 2.2],
    ]
)

# Per thousand aged 15-19, 20-24, ..., 100+: employed, unemployed, in education; the rest are inactive.
_EMPLOYED = [
    [270, 620, 830, 880, 890, 890, 880, 860, 790, 560, 180, 70, 25, 9, 3, 1, 0.4, 0.2],
    [280, 600, 770, 770, 775, 790, 800, 780, 690, 430, 120, 40, 12, 4, 1.2, 0.4, 0.2, 0.1],
]
_UNEMPLOYED = [
    [45, 75, 55, 42, 37, 34, 33, 32, 32, 25, 5, 1, 0.2, 0.05, 0, 0, 0, 0],
    [40, 60, 45, 40, 36, 32, 30, 28, 25, 14, 2, 0.5, 0.1, 0.02, 0, 0, 0, 0],
]
_STUDYING = [
    [630, 250, 55, 18, 9, 6, 4, 3, 2, 1, 0.6, 0.3, 0.2, 0.1, 0, 0, 0, 0],
    [630, 260, 55, 20, 13, 10, 7, 5, 3, 2, 1, 0.4, 0.2, 0.1, 0, 0, 0, 0],
]
# Multipliers of employed, unemployed, in education, inactive.
_WORK_BY_EDUCATION = np.array(
    [
        [0.7, 1.9, 0.5, 2.2],
        [0.8, 1.7, 0.5, 1.7],
        [0.95, 1.4, 0.6, 1.25],
        [1, 1, 1.8, 1],
        [1, 0.9, 0.5, 0.9],
        [1, 0.8, 1, 0.8],
        [1, 0.65, 1, 0.65],
        [1.05, 0.55, 1, 0.5],
    ]
)
_WORK_BY_MILIEU = np.array(
    [[0.9, 1.8, 0.8, 1.35], [1, 1, 1, 1], [1.03, 0.6, 1.2, 0.85], [0.6, 0.7, 3.5, 0.8]]
)
_WORK_BY_BIRTH = np.array(
    [
        [[1, 1, 1, 1], [1, 1, 1, 1]],
        [[1, 1.1, 1, 1], [1, 1.1, 1, 1]],
        [[1.05, 1.2, 1.1, 0.9], [1, 1.3, 1.1, 1.1]],
        [[0.95, 1.5, 1.6, 1], [0.8, 1.5, 1.4, 1.6]],
        [[0.95, 1.7, 1.4, 1], [0.9, 1.6, 1.3, 1.3]],
    ]
)

# Occupations: managers, professionals, technicians, clerks, service and sales, agriculture, crafts, machine
# operators, elementary, armed forces. Per thousand men of middle age and education, then multipliers.
_OCCUPATION = np.array([125, 190, 145, 60, 115, 22, 165, 120, 100, 9])
_OCCUPATION_BY_SEX = np.array(
    [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0.55, 1.25, 0.95, 2.9, 2.6, 0.4, 0.1, 0.16, 1.05, 0.12]]
)
_OCCUPATION_BY_EDUCATION = np.array(
    [
        [0.15, 0.02, 0.1, 0.3, 0.9, 2, 1.2, 1.4, 3.5, 0.05],
        [0.25, 0.03, 0.15, 0.4, 1, 2, 1.3, 1.6, 3.2, 0.2],
        [0.5, 0.06, 0.35, 0.8, 1.4, 1.3, 1.3, 1.6, 2.2, 1],
        [0.9, 0.35, 1, 1.6, 1.4, 0.6, 0.6, 0.7, 1.1, 1.5],
        [0.7, 0.12, 0.9, 1, 1.2, 1.4, 2.2, 1.5, 0.8, 1.2],
        [1.2, 0.7, 2, 1.2, 0.8, 0.7, 0.7, 0.5, 0.4, 1],
        [1.5, 2.4, 1.4, 0.9, 0.45, 0.3, 0.15, 0.15, 0.2, 0.7],
        [1.7, 4, 1, 0.4, 0.15, 0.15, 0.05, 0.05, 0.08, 0.4],
    ]
)
# Age classes from 15: 15-19, 20-24, 25-34, 35-49, 50-64, 65-69, 70 and over; class 0 is childhood.
AGE_CLASS = np.repeat(np.arange(8), [3, 1, 1, 2, 3, 3, 1, 7])
_OCCUPATION_BY_AGE = np.array(
    [
        [0.05, 0.08, 0.35, 0.8, 2.6, 0.8, 0.9, 0.6, 2.6, 1.2],
        [0.25, 0.5, 0.8, 1.2, 1.6, 0.8, 1.1, 0.9, 1.4, 2.2],
        [0.8, 1.1, 1.1, 1, 1, 0.8, 1, 0.95, 0.9, 1.6],
        [1.2, 1.05, 1.05, 1, 0.95, 0.9, 1, 1.05, 0.95, 0.6],
        [1.2, 0.9, 0.95, 1.05, 0.9, 1.3, 1, 1.15, 1.05, 0.12],
        [1.4, 0.9, 0.8, 0.9, 0.8, 2.5, 0.8, 0.8, 1.2, 0.02],
        [1.6, 0.9, 0.7, 0.8, 0.6, 4, 0.6, 0.5, 1.1, 0.01],
    ]
)
_OCCUPATION_BY_ECONOMY = np.array(
    [
        [1.25, 1.4, 1.2, 1.1, 0.95, 0.04, 0.65, 0.5, 0.85, 0.3],
        [1, 1, 1, 1, 1, 0.5, 1, 0.95, 1, 0.4],
        [0.9, 0.9, 0.95, 1, 1, 0.35, 1.3, 1.6, 1.1, 0.35],
        [1, 0.8, 0.85, 0.85, 0.95, 6, 1.15, 1.05, 1.05, 0.4],
        [0.7, 0.7, 0.8, 0.8, 0.8, 0.3, 0.8, 0.6, 0.8, 60],
    ]
)
_OCCUPATION_BY_BIRTH = np.array(
    [
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        [0.95, 0.95, 1, 0.95, 1, 0.8, 1.3, 1.1, 1.1, 0.2],
        [0.85, 1.05, 0.9, 0.8, 1.1, 0.9, 1.2, 1.4, 1.7, 0.1],
        [0.9, 1.15, 0.9, 0.75, 1.4, 0.1, 0.5, 1.1, 1.2, 0.08],
        [0.7, 1, 0.9, 0.85, 1.5, 0.1, 0.7, 1.1, 1.6, 0.2],
    ]
)
# Share without an occupation in the past five years, by age class from 15.
_NO_OCCUPATION = {
    EMPLOYED: [0, 0, 0, 0, 0, 0, 0],
    UNEMPLOYED: [0.75, 0.35, 0.15, 0.12, 0.12, 0.15, 0.3],
    STUDENT: [0.82, 0.5, 0.3, 0.25, 0.25, 0.4, 0.8],
    INACTIVE: [0.9, 0.65, 0.5, 0.5, 0.5, 0.8, 0.985],
}


@dataclass(frozen=True, slots=True)
class People:
    """The five dice that make a person, each thrown given what is known before it."""

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
    tilt = np.array([_PYRAMID[kind] for kind in Kind])[:, _PYRAMID_BANDS]
    weights: NDArray[np.float64] = tilt[:, None, :] * np.array([_MEN, _WOMEN])
    weights[Kind.GARRISON, MALE, ADULT:10] *= 1.8
    return weights.reshape(len(Kind), 2 * BANDS)


def birthplace_weights() -> NDArray[np.float64]:
    """By region, origin level of the neighbourhood and age: weights of the five birthplaces."""
    elsewhere = np.array([region.born_elsewhere for region in REGIONS])
    foreign = elsewhere[:, None, None, :] * _ORIGIN[:, None, None] * _MIGRATION.T
    home = np.broadcast_to(1 - elsewhere.sum(axis=1)[:, None, None, None], (*foreign.shape[:-1], 1))
    return np.concatenate([home, foreign], axis=-1)


def education_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex and age: weights of the nine educations."""
    adults = np.concatenate([np.array(_AGE_15)[:, None], np.array(_AGE_20)[:, None], _cohorts()], axis=1)
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9))
    tilt = _EDUCATION_BY_MILIEU[:, None, None, None] * _EDUCATION_BY_BIRTH[:, None, None]
    weights[..., ADULT:, :8] = tilt * adults
    weights[..., :ADULT, CHILD_EDUCATION] = 1
    return weights


def _cohorts() -> NDArray[np.float64]:
    """Education of those aged 25 and over, by sex and band: a straight line from young to old."""
    age = np.clip(np.arange(16) / 12, 0, 1)[:, None]
    line: NDArray[np.float64] = (1 - age) * np.array(_YOUNG)[:, None] + age * np.array(_OLD)[:, None]
    return line


def employment_weights() -> NDArray[np.float64]:
    """By milieu, birthplace, sex, age and education: weights of the five employments."""
    rest = 1000 - np.array(_EMPLOYED) - np.array(_UNEMPLOYED) - np.array(_STUDYING)
    base = np.stack([np.array(_EMPLOYED), np.array(_UNEMPLOYED), np.array(_STUDYING), rest], axis=-1)
    education = np.ones((len(base[0]), 9, 4))
    education[1:, :8] = _WORK_BY_EDUCATION  # at 15-19 a low education is only unfinished
    weights = np.zeros((len(Milieu), 5, 2, BANDS, 9, 5))
    tilt = _WORK_BY_MILIEU[:, None, None, None, None] * _WORK_BY_BIRTH[:, :, None, None]
    weights[..., ADULT:, :, :4] = tilt * base[:, :, None] * education
    weights[..., :ADULT, :, CHILD_EMPLOYMENT] = 1
    return weights


def occupation_weights() -> NDArray[np.float64]:
    """By economy, birthplace, sex, age class, education and employment: weights of the twelve occupations."""
    jobs = (
        _OCCUPATION
        * _OCCUPATION_BY_ECONOMY[:, None, None, None, None]
        * _OCCUPATION_BY_BIRTH[:, None, None, None]
        * _OCCUPATION_BY_SEX[:, None, None]
        * _OCCUPATION_BY_AGE[:, None]
        * _OCCUPATION_BY_EDUCATION
    )
    jobs /= jobs.sum(axis=-1, keepdims=True)
    weights = np.zeros((5, 5, 2, 8, 9, 5, 12))
    for employment, without in _NO_OCCUPATION.items():
        none = np.array(without)[:, None, None]
        weights[..., 1:, :8, employment, :NO_OCCUPATION] = (1 - none) * jobs
        weights[..., 1:, :8, employment, NO_OCCUPATION] = none[..., 0]
    # Childhood, and the rows that no person reaches, which still need a face to fall on.
    weights[..., CHILD_OCCUPATION] = weights.sum(axis=-1) == 0
    return weights
