"""The survey of Spudlandia: who likes potatoes, and how often they eat them, with survey weights.

A stratified sample of n = 1,500 of N = 1,000,000: small states are sampled more densely, the young and men respond less
often, and the weights are raked to the known populations of states, age groups and sexes:

    w_i = (N_h / n_h) g_i,   with sum over any of these groups of w_i = its population; sum of all w_i = N.

Weights have four decimals and add up to N exactly (largest remainders).

Source: the schema and the figures of Bailie (2020), sections 3 and 4. All answers are invented.
"""

import tomllib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.records.draft.toml_text import PROTECTION
from discreet.workspace.demo.census import person_ids
from discreet.workspace.demo.dice import RECORDS, Dice, apportion, philox_words
from discreet.workspace.demo.geography import data_text

SAMPLE = 1_500
POPULATION = 1_000_000
SEED = 1500
WEIGHT_DECIMALS = 4
#: The codes of each variable, in order.
CODES = {
    variable["name"]: [category["code"] for category in variable["categories"]]
    for variable in tomllib.loads(data_text("spudlandia.toml"))["variable"]
}
STATE_POPULATION = np.array([560_000, 310_000, 130_000])
STATE_SAMPLE = np.array([600, 500, 400])
#: Ages are raked in four groups, and gender as men and others.
AGE_GROUPS = (0, 0, 1, 1, 1, 2, 2, 3, 3)
# Per thousand of the population by age; a state's profile is tilted: Coliban is young, Exton old.
_AGE = np.array([118, 122, 135, 140, 132, 128, 108, 77, 40.0])
_AGE_BY_STATE = np.exp(np.array([-0.05, 0.0, 0.07])[:, None] * np.arange(-4, 5))
_GENDER = np.array([0.489, 0.495, 0.016])
_GENDER_BY_AGE = np.ones((9, 3)) * _GENDER
_GENDER_BY_AGE[:, 2] *= [0.2, 1.8, 2.2, 1.3, 0.8, 0.5, 0.4, 0.3, 0.2]
_GENDER_BY_AGE[:, 1] *= [0.97, 0.97, 0.99, 1, 1, 1.01, 1.04, 1.12, 1.45]
# Willingness to answer, by age and gender.
_ANSWER = np.array([0.9, 0.8, 0.72, 0.85, 0.95, 1.05, 1.2, 1.2, 0.95])[:, None] * np.array([0.94, 1.05, 1.0])
_LIKES_BY_STATE = np.array([0.25, -0.25, 0.65])
_LIKES_BY_AGE = np.array([-0.35, -0.25, -0.3, -0.1, 0.05, 0.15, 0.3, 0.45, 0.5])
_LIKES_BY_GENDER = np.array([0.12, -0.1, 0.0])
_LIKES_MEAN = 1.0
# Less than once a day, daily, more than once a day: for those who like potatoes and those who do not.
_OFTEN = np.array([[0.34, 0.47, 0.19], [0.78, 0.19, 0.03]])
_OFTEN_BY_STATE = np.array([[1, 1, 1], [1.3, 0.95, 0.6], [0.7, 1.1, 1.8]])
_OFTEN_BY_AGE = np.exp(np.outer(np.arange(-4, 5), [-0.05, 0.03, 0.02]))


def spudlandia_batches(*, seed: int = SEED) -> Iterator[pa.RecordBatch]:
    """The 1,500 respondents in one batch, in random order.

    Returns:
        One batch: an int64 `person_id`, a dictionary column for each variable, a float64 `weight`.

    >>> next(spudlandia_batches()).num_rows
    1500
    """
    columns = _respondents(seed)
    weight = _weights(*columns[:3]) / 10**WEIGHT_DECIMALS
    ids = person_ids(seed, 0, SAMPLE)
    order = np.argsort(ids)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column[order].astype(np.int8)), pa.array(codes, pa.string()))
        for column, codes in zip(columns, CODES.values(), strict=True)
    ]
    batch = [pa.array(ids[order]), *arrays, pa.array(weight[order])]
    return iter([pa.RecordBatch.from_arrays(batch, names=["person_id", *CODES, "weight"])])


def _respondents(seed: int) -> list[NDArray[np.int64]]:
    """Positions of the categories of age, gender, state, likes and frequency of each respondent."""
    chance = philox_words(seed, RECORDS, 0, SAMPLE)
    state = np.repeat(np.arange(3), STATE_SAMPLE)
    # One die for each state; its faces are the combinations of age and gender.
    dice = Dice.with_weights((_population() * _ANSWER).reshape(3, -1))
    who = dice.throw(state, chance[:, 0]).astype(np.int64)
    age, gender = who // 3, who % 3
    dislikes = Dice.with_weights(_likes_weights()).throw((state * 9 + age) * 3 + gender, chance[:, 1])
    often = _OFTEN[None, :, None] * _OFTEN_BY_STATE[:, None, None] * _OFTEN_BY_AGE
    frequency = Dice.with_weights(often).throw((state * 2 + dislikes) * 9 + age, chance[:, 2])
    return [age, gender, state, dislikes.astype(np.int64), frequency.astype(np.int64)]


def _population() -> NDArray[np.float64]:
    """The persons of Spudlandia by state, age and gender: what the survey is raked to."""
    persons = (_AGE * _AGE_BY_STATE)[:, :, None] * _GENDER_BY_AGE
    scaled: NDArray[np.float64] = (
        persons / persons.sum(axis=(1, 2), keepdims=True) * STATE_POPULATION[:, None, None]
    )
    return scaled


def _likes_weights() -> NDArray[np.float64]:
    """By state, age and gender: the chance to like potatoes, a logistic model, and the chance not to."""
    score = _LIKES_BY_STATE[:, None, None] + _LIKES_BY_AGE[:, None] + _LIKES_BY_GENDER + _LIKES_MEAN
    chance = 1 / (1 + np.exp(-score))
    return np.stack([chance, 1 - chance], axis=-1)


def _weights(
    age: NDArray[np.int64], gender: NDArray[np.int64], state: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Raked weights in ten-thousandths; their sum is N exactly.

    Ages are raked in four groups and gender as men and others, so that no group is too small to carry its
    population. Twenty rounds bring every group within a millionth of it.
    """
    persons = _population()
    group = np.array(AGE_GROUPS)
    sides = [
        (state, STATE_POPULATION.astype(np.float64)),
        (group[age], np.bincount(group, persons.sum(axis=(0, 2)))),
        ((gender > 0).astype(np.int64), np.array([persons[..., 0].sum(), persons[..., 1:].sum()])),
    ]
    weight = np.ones(len(state))
    for _ in range(20):
        for place, known in sides:
            weight *= (known / np.bincount(place, weight))[place]
    return apportion(POPULATION * 10**WEIGHT_DECIMALS, weight)


def spudlandia_description() -> str:
    """The text of the `dataset.toml` of the survey.

    >>> spudlandia_description().splitlines()[0]
    'id = "spudlandia"'
    """
    return f"{data_text('spudlandia.toml')}\n{PROTECTION}"
