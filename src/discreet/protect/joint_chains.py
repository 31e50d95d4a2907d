"""The variables of a joint universe as chains: the levels of one hierarchy together, coarse to fine; any other alone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadDescription
from discreet.margins.chain import Chain
from discreet.model.level_maps import ancestors

if TYPE_CHECKING:
    from discreet.margins.residual_space import Levels
    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin, Universe


def chain_names(dataset: Dataset, universe: Universe) -> tuple[tuple[str, ...], ...]:
    """The variables of a universe as chains: levels of one hierarchy together, coarse to fine.

    Raises:
        BadDescription: A variable is a level of two hierarchies of which the universe uses more levels.
    """
    used = universe.variables
    chains = [tuple(n for n in h.levels if n in used) for h in dataset.hierarchies]
    chains = [chain for chain in dict.fromkeys(chains) if len(chain) > 1]
    alone = [(name,) for name in used if not any(name in chain for chain in chains)]
    listed = [name for chain in chains for name in chain]
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise BadDescription(
            f'"{twice}" is a level of two hierarchies, and a joint universe takes it apart along one.',
            'Leave the other levels out of the universe, or write margins = "own".',
        )
    return tuple(sorted([*chains, *alone]))


def levels_of(names: tuple[tuple[str, ...], ...], margin: Margin) -> Levels:
    """A margin as a level of every chain."""
    return tuple(next((chain.index(n) + 1 for n in margin if n in chain), 0) for chain in names)


def margin_of(names: tuple[tuple[str, ...], ...], part: Levels) -> Margin:
    """The margin of a level of every chain."""
    return tuple(sorted(chain[level - 1] for chain, level in zip(names, part, strict=True) if level))


def chain_of(dataset: Dataset, names: tuple[str, ...]) -> Chain:
    """The levels of a chain, each with what holds its categories."""
    parents = [np.zeros(len(dataset.variable(names[0])), dtype=np.int64)]
    for coarse, fine in pairwise(names):
        up = ancestors(dataset, fine, coarse)
        parents.append(np.zeros(0, dtype=np.int64) if up is None else up)
    return Chain(tuple(parents))
