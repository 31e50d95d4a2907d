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
    """Query both versions for every table and guess the attributes of one removed person per place."""
    random = np.random.default_rng(coins)
    scores = {name: np.zeros((place[1], categories)) for name, categories in attributes.items()}
    guesses, certain = [], []
    for names in questions(list(attributes)):
        request = TableRequest(dataset, (place[0],), names[:1], names[1:], totals=False)
        difference = versions.before.ask(request).values - versions.after.ask(request).values
        for axis, name in enumerate(names, start=1):
            others = tuple(other for other in range(1, difference.ndim) if other != axis)
            if versions.same_keys:
                scores[name] += (difference != 0).any(axis=others)
            else:
                cells = np.prod([difference.shape[other] for other in others], dtype=np.int64)
                scores[name] += difference.sum(axis=others) / cells
        # Ties are broken at random.
        best = [np.argmax(each + random.random(each.shape) * 1e-9, axis=1) for each in scores.values()]
        guesses.append(np.stack(best, axis=1))
        # With the same keys, cells that differ hold no one else.
        proofs = [(np.count_nonzero(each, axis=1) == 1) & versions.same_keys for each in scores.values()]
        certain.append(np.stack(proofs, axis=1))
    return Findings(np.stack(guesses), np.stack(certain))
