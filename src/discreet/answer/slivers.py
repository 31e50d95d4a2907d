r"""Slivers: declared groups that differ by a handful of people, reported to the custodian before the version is served.

Whoever may ask for two groups learns about the people in one and not in the other. For every two declared
unions A and B of a variable's categories (its categories, coarser levels, code lists, everybody):

    |A \ B| + |B \ A|  in  1 ... k - 1      is reported.

This looks at true counts and is for the custodian's eyes only: nothing here reaches a release or a rule.

Source: Rinott et al. (2018), sections 2.2 and 8 (differencing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.records.engine import AggregateQuery
from discreet.rules.close_groups import close_groups
from discreet.rules.places import finer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.model.dataset import Dataset
    from discreet.records.engine import Engine


def cautions(dataset: Dataset, engine: Engine) -> tuple[str, ...]:
    """What a custodian should know of records before they are served, by the cell key method."""
    return () if dataset.protection.is_dp else slivers(dataset, _one_way_counts(dataset, engine))


def _one_way_counts(dataset: Dataset, engine: Engine) -> dict[str, dict[str, int]]:
    """True counts of single variables."""
    found = {}
    for name in counted_variables(dataset):
        cells = engine.aggregate(AggregateQuery((name,)))
        codes = dataset.variable(name).codes
        found[name] = {
            codes[c]: n for c, n in zip(cells.codes[0].tolist(), cells.counts.tolist(), strict=True)
        }
    return found


def counted_variables(dataset: Dataset) -> tuple[str, ...]:
    """The variables whose one-way counts `slivers` needs: finest levels, and those with code lists."""
    levels = {level for hierarchy in dataset.hierarchies for level in hierarchy.levels}
    lists = {code_list.variable for code_list in dataset.code_lists}
    needed = {name for name in levels if not finer(dataset, name)} | lists
    return tuple(v.name for v in dataset.variables if v.name in needed)


def slivers(
    dataset: Dataset, counts: Mapping[str, Mapping[str, int]], fewer_than: int = 10
) -> tuple[str, ...]:
    """Sentences that name each pair of declared groups with fewer than so many people between them.

    Args:
        dataset: The description.
        counts: By variable, by code, how many people; codes that are left out have none.
        fewer_than: k: the smallest difference that is not reported.
    """
    return tuple(
        sentence
        for name in counted_variables(dataset)
        if name in counts
        for sentence in _of_variable(dataset, name, counts[name], fewer_than)
    )


def _of_variable(dataset: Dataset, name: str, counts: Mapping[str, int], fewer_than: int) -> Iterator[str]:
    codes = dataset.variable(name).codes
    people = np.array([counts.get(code, 0) for code in codes], dtype=np.int64)
    for one, code, other, close, apart in close_groups(dataset, name, people, fewer_than):
        who = "one person" if apart == 1 else f"{apart} people"
        yield (
            f"{_named(one, code)} and {_named(other, close)} differ by {who} "
            f"(fewer than {fewer_than}): merge one with a neighbour, or declare only one of them."
        )


def _named(level: str, code: str) -> str:
    return code.capitalize() if level == "total" else f'{code!r} of "{level}"'
