"""Some cells of a release, with the law of the noise of each: what a sum, a share or a difference is made of.

Under `dp` two cells may be sums of the same released base cells (a total and a cell in it): their noise is then
not independent, and no interval of their sum follows from their laws. Such cells are refused. Only where one is a total that
holds all the others does something follow: what it holds beyond them is a sum of the other base cells (`rest_of`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import message, one_line
from discreet.model.noise_distribution import CellDistribution
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release
from discreet.model.shape import Dimension
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE

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
    laws: tuple[CellDistribution, ...]
    base: tuple[tuple[Hashable | None, Members], ...] = ()
    digest: str = ""

    def __repr__(self) -> str:
        return one_line(self, f"{self.counts.size:,} cells")


def picked(release: Release, *cells: Sequence[str]) -> PickedCells:
    """Some cells of a release, each by its codes in the order of the dimensions; one that cannot occur is exactly 0.

    Raises:
        BadRequest: A cell that is not there or is withheld, or two that share people.
    """
    if release.request.measure != "count" or not cells:
        raise BadRequest(
            message("There is no count to take."), message("Give codes of cells of a table of counts.")
        )
    if release.unrounded is not None:
        raise BadRequest(
            message(
                "The cells of a joint table share noise, and their laws by themselves do not tell of sums."
            ),
            message("Ask for the interval of the table: it knows their covariances."),
        )
    places = [cell_place(release, codes) for codes in cells]
    members = [cell_members(release, place) for place in places]
    refuse_shared_people(combinations(members, 2))
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
        refuse_shared_people(
            (a[1], b[1]) for a in one.base for b in two.base if a[0] is not None and a[0] == b[0]
        )


def rest_of(whole: PickedCells, part: PickedCells) -> PickedCells | None:
    """What one total holds beyond cells in it, where all of them add up the same released base cells.

    The rest adds up the base cells that are left: its count is the difference of the counts, as released, and it has as
    many terms of noise as the total has more than its parts. This noise is independent of theirs.

    Returns:
        The rest as a cell; None where it does not follow, since the total has noise of its own or does not hold the cells.
    """
    source, outer = whole.base[0] if len(whole.base) == 1 else (None, {})
    inside = all(inner[name] <= outer.get(name, frozenset()) for _, inner in part.base for name in inner)
    if source is None or not inside or any(own != source for own, _ in part.base):
        return None
    total, parts = _terms(whole), _terms(part)
    left = sum(law.terms for law in total) - sum(law.terms for law in parts)
    law = SumDistribution(total[0].row, left) if left else NO_NOISE
    return PickedCells(whole.counts - part.counts.sum(), (law,), digest=whole.digest)


def _terms(cells: PickedCells) -> list[SumDistribution]:
    """The noise of cells that add up base cells; none for those that cannot occur."""
    return [
        own for law in cells.laws if law != NO_NOISE for own in law.laws if isinstance(own, SumDistribution)
    ]


def cell_place(release: Release, codes: Sequence[str]) -> tuple[int, ...]:
    """Where a cell stands in the arrays of a release.

    Raises:
        BadRequest: It is not there, or it is withheld.
    """
    place = place_of(release.dimensions, codes)
    if release.status[place] == WITHHELD:
        raise BadRequest(
            message("The cell ({codes:comma}) is withheld and has no value.", codes=tuple(map(repr, codes))),
            message("Choose another."),
        )
    return place


def place_of(dimensions: Sequence[Dimension], codes: Sequence[str]) -> tuple[int, ...]:
    """Where a cell stands along the variables of a table.

    Raises:
        BadRequest: It is not there.
    """
    lists = [dimension.codes for dimension in dimensions]
    if len(codes) != len(lists) or any(code not in known for code, known in zip(codes, lists, strict=True)):
        raise BadRequest(
            message("There is no cell ({codes:comma}).", codes=tuple(map(repr, codes))),
            message(
                "Give one code each of {names:comma}, such as {known:comma}.",
                names=tuple(d.name for d in dimensions),
                known=tuple(repr(known[0]) for known in lists),
            ),
        )
    return tuple(known.index(code) for code, known in zip(codes, lists, strict=True))


def cell_members(release: Release, place: tuple[int, ...]) -> Members:
    """The base categories of each variable that a cell holds."""
    return {d.name: frozenset(d.members()[at]) for d, at in zip(release.dimensions, place, strict=True)}


def refuse_shared_people(pairs: Iterable[tuple[Members, Members]]) -> None:
    """Refuse cells that overlap: no variable of both tells them apart."""
    for one, two in pairs:
        if all(one[name] & two[name] for name in one.keys() & two.keys()):
            raise BadRequest(
                message("Two of the cells share people, and under dp perhaps the same noise."),
                message("Take cells that do not overlap; for a share give the rest in place of the whole."),
            )
