"""Some cells of a release, with the law of the noise of each: what a sum, a share or a difference is made of.

Under `dp` two cells may be sums of the same released base cells (a total and a cell in it): their noise is then
not independent, and no interval of their sum follows from their laws. Such cells are refused.

Comes from: a `Release` and codes. Goes to: `noise_sum`, `intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.model.release import NOT_APPLICABLE, WITHHELD
from discreet.noise.table import NO_NOISE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.model.noise_law import CellLaw
    from discreet.model.release import Release

    #: The base categories of each variable.
    Members = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, eq=False)
class PickedCells:
    """Released cells that share no people.

    Args:
        counts: Their counts, as released.
        laws: The law of each cell's noise.
        base: Where each cell's noise comes from (None: it is its own), and the cell's categories.
        digest: Which version of the records they come from.
    """

    counts: NDArray[np.int64]
    laws: tuple[CellLaw, ...]
    base: tuple[tuple[Hashable | None, Members], ...] = ()
    digest: str = ""


def picked(release: Release, *cells: Sequence[str]) -> PickedCells:
    """Some cells of a release, each by its codes in the order of the dimensions; one that cannot occur is exactly 0.

    Raises:
        BadRequest: A cell that is not there or is withheld, or two that share people.
    """
    if release.request.measure != "count" or not cells:
        raise BadRequest("There is no count to take.", "Give codes of cells of a table of counts.")
    places = [_place(release, codes) for codes in cells]
    members = [_members(release, place) for place in places]
    _refuse_shared(combinations(members, 2))
    empty = [release.status[place] == NOT_APPLICABLE for place in places]
    counts = np.array(
        [0 if zero else int(release.noisy[place]) for zero, place in zip(empty, places, strict=True)]
    )
    laws = tuple(
        NO_NOISE if zero else release.law.at(*place) for zero, place in zip(empty, places, strict=True)
    )
    sources = (release.law.source(*place) for place in places)
    return PickedCells(counts, laws, tuple(zip(sources, members, strict=True)), release.digest)


def refuse_shared_noise(one: PickedCells, two: PickedCells) -> None:
    """Refuse two groups of which some cells add up the same released base cells."""
    if one.digest == two.digest:
        _refuse_shared((a[1], b[1]) for a in one.base for b in two.base if a[0] is not None and a[0] == b[0])


def _place(release: Release, codes: Sequence[str]) -> tuple[int, ...]:
    lists = [dimension.codes for dimension in release.dimensions]
    if len(codes) != len(lists) or any(code not in known for code, known in zip(codes, lists, strict=True)):
        raise BadRequest(
            f"There is no cell ({', '.join(map(repr, codes))}).",
            f"Give one code each of {', '.join(d.name for d in release.dimensions)}.",
        )
    place = tuple(known.index(code) for code, known in zip(codes, lists, strict=True))
    if release.status[place] == WITHHELD:
        raise BadRequest(
            f"The cell ({', '.join(map(repr, codes))}) is withheld and has no value.", "Choose another."
        )
    return place


def _members(release: Release, place: tuple[int, ...]) -> Members:
    return {d.name: frozenset(d.members()[at]) for d, at in zip(release.dimensions, place, strict=True)}


def _refuse_shared(pairs: Iterable[tuple[Members, Members]]) -> None:
    """Cells overlap unless a variable of both tells them apart."""
    for one, two in pairs:
        if all(one[name] & two[name] for name in one.keys() & two.keys()):
            raise BadRequest(
                "Two of the cells share people, and under dp perhaps the same noise.",
                "Take cells that do not overlap; for a share give the rest in place of the whole.",
            )
