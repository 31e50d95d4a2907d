"""The survey of Spudlandia: who likes potatoes, and how often they eat them, with survey weights.

A stratified sample of n = 1,500 of N = 1,000,000: small states are sampled more densely, and a person's weight is that of
the state, N_h / n_h. Weights have four decimals and add up to N exactly (largest remainders). The studies also rake them
to the known populations of age groups and sexes (`raked_weights`).

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
#: Of the population and of its answers; the file says what each one is.
FIGURES = {k: np.array(each) for k, each in tomllib.loads(data_text("spudlandia_people.toml")).items()}
#: From the youngest to the oldest, around the middle.
_STEPS = np.arange(-4, 5)


def spudlandia_batches(*, seed: int = SEED) -> Iterator[pa.RecordBatch]:
    """The 1,500 respondents in one batch, in random order.

    Returns:
        One batch: an int64 `person_id`, a dictionary column for each variable, a float64 `weight`.

    >>> next(spudlandia_batches()).num_rows
    1500
    """
    columns = _respondents(seed)
    by_state = FIGURES["state_population"] / FIGURES["state_sample"]
    weight = apportion(POPULATION * 10**WEIGHT_DECIMALS, by_state[columns[2]])
    ids = person_ids(seed, 0, SAMPLE)
    order = np.argsort(ids)
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(column[order].astype(np.int8)), pa.array(codes, pa.string()))
        for column, codes in zip(columns, CODES.values(), strict=True)
    ]
    batch = [pa.array(ids[order]), *arrays, pa.array(weight[order] / 10**WEIGHT_DECIMALS)]
    return iter([pa.RecordBatch.from_arrays(batch, names=["person_id", *CODES, "weight"])])


def _respondents(seed: int) -> list[NDArray[np.int64]]:
    """Positions of the categories of age, gender, state, likes and frequency of each respondent."""
    chance = philox_words(seed, RECORDS, 0, SAMPLE)
    state = np.repeat(np.arange(3), FIGURES["state_sample"])
    # One die for each state; its faces are the combinations of age and gender.
    answers = FIGURES["answer_by_age"][:, None] * FIGURES["answer_by_gender"]
    dice = Dice.with_weights((_population() * answers).reshape(3, -1))
    who = dice.throw(state, chance[:, 0]).astype(np.int64)
    age, gender = who // 3, who % 3
    dislikes = Dice.with_weights(_likes_weights()).throw((state * 9 + age) * 3 + gender, chance[:, 1])
    by_age = np.exp(np.outer(_STEPS, FIGURES["often_tilt_by_age"]))
    often = FIGURES["often"][None, :, None] * FIGURES["often_by_state"][:, None, None] * by_age
    frequency = Dice.with_weights(often).throw((state * 2 + dislikes) * 9 + age, chance[:, 2])
    return [age, gender, state, dislikes.astype(np.int64), frequency.astype(np.int64)]


def _population() -> NDArray[np.float64]:
    """The persons of Spudlandia by state, age and gender: what the survey is raked to."""
    ages = FIGURES["age"] * np.exp(FIGURES["age_tilt_by_state"][:, None] * _STEPS)
    genders = np.ones((9, 3)) * FIGURES["gender"]
    genders[:, 2] *= FIGURES["others_by_age"]
    genders[:, 1] *= FIGURES["women_by_age"]
    persons = ages[:, :, None] * genders
    shares = persons / persons.sum(axis=(1, 2), keepdims=True)
    scaled: NDArray[np.float64] = shares * FIGURES["state_population"][:, None, None]
    return scaled


def _likes_weights() -> NDArray[np.float64]:
    """By state, age and gender: the chance to like potatoes, a logistic model, and the chance not to."""
    by_person = FIGURES["likes_by_state"][:, None, None] + FIGURES["likes_by_age"][:, None]
    score = by_person + FIGURES["likes_by_gender"] + FIGURES["likes_mean"]
    chance = 1 / (1 + np.exp(-score))
    return np.stack([chance, 1 - chance], axis=-1)


def raked_weights(
    age: NDArray[np.int64], gender: NDArray[np.int64], state: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Raked weights in ten-thousandths; their sum is N exactly.

    Ages are raked in four groups and gender as men and others, so that no group is too small to carry its
    population. Twenty rounds bring every group within a millionth of it.
    """
    persons = _population()
    group = FIGURES["age_groups"]
    sides = [
        (state, FIGURES["state_population"].astype(np.float64)),
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
