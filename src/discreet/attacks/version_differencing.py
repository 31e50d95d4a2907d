"""Two versions of a dataset: the difference of the same tables reveals people who were corrected.

For attributes a and b the attacker has the tables (place, a) and (place, a, b) of both versions. In the cell of a
removed person the true count falls by one; all other cells stay.

    same keys        a cell without that person keeps its number: a cell that differs certainly holds the person
    other noise      the difference of a cell is noise of variance 2V, plus one where the person was; a category is
                     scored by the sum over tables of (difference over its cells) / (number of its cells)

The category with the highest score is the guess. The second rule is that of least squares; it is no upper bound on
possible attacks.

Source: Rinott et al. (2018), section 2.2 (differencing), applied to versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.knowledge import Interface
from discreet.model.request import TableRequest


@dataclass(frozen=True, slots=True)
class TwoVersions:
    """Two versions that answer the same queries; `same_keys` says whether both have the same keys, which is public."""

    before: Interface
    after: Interface
    same_keys: bool


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The result after each pair of tables.

    Args:
        guesses: The position of the guessed category, by pair of tables, place and attribute.
        certain: In the same order, whether a cell that differs proves it (one person per place, the same keys).
    """

    guesses: NDArray[np.int64]
    certain: NDArray[np.bool_]


def questions(attributes: Sequence[str]) -> list[tuple[str, ...]]:
    """The tables to query in addition to the place: every attribute, then every two.

    >>> questions(["sex", "age"])
    [('sex',), ('age',), ('sex', 'age')]
    """
    return [(name,) for name in attributes] + list(combinations(attributes, 2))


def attack(
    versions: TwoVersions, dataset: str, place: tuple[str, int], attributes: Mapping[str, int], coins: int
) -> Findings:
    """Query both versions for every table and guess the attributes of one removed person per place.

    Args:
        versions: The two versions.
        dataset: The dataset's id.
        place: The variable of the places, and how many there are.
        attributes: The attributes to guess, each with its number of categories.
        coins: The seed of the guesses where nothing is known.
    """
    random = np.random.default_rng(coins)
    scores = {name: np.zeros((place[1], categories)) for name, categories in attributes.items()}
    guesses, certain = [], []
    for names in questions(list(attributes)):
        request = TableRequest(dataset, (place[0],), names[:1], names[1:], totals=False)
        difference = versions.before.ask(request).values - versions.after.ask(request).values
        for axis, name in enumerate(names):
            scores[name] += _evidence(difference, axis + 1, same_keys=versions.same_keys)
        guesses.append(np.stack([_best(scores[name], random) for name in attributes], axis=1))
        certain.append(np.stack([_is_proof(scores[name], versions) for name in attributes], axis=1))
    return Findings(np.stack(guesses), np.stack(certain))


def _evidence(difference: NDArray[np.int64], axis: int, *, same_keys: bool) -> NDArray[np.float64]:
    """The evidence of one pair of tables for each place and category of the attribute along an axis."""
    others = tuple(other for other in range(1, difference.ndim) if other != axis)
    if same_keys:
        return np.asarray((difference != 0).any(axis=others), dtype=np.float64)
    cells = int(np.prod([difference.shape[other] for other in others], dtype=np.int64))
    return np.asarray(difference.sum(axis=others), dtype=np.float64) / cells


def _best(scores: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int64]:
    """The category with the highest score; ties are broken at random."""
    return np.asarray(np.argmax(scores + random.random(scores.shape) * 1e-9, axis=1), dtype=np.int64)


def _is_proof(scores: NDArray[np.float64], versions: TwoVersions) -> NDArray[np.bool_]:
    """Whether exactly one category has cells that differ: with the same keys they hold no one else."""
    one = np.asarray(np.count_nonzero(scores, axis=1) == 1)
    return one if versions.same_keys else np.zeros_like(one)
