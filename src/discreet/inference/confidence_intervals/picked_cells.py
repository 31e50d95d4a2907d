"""Some cells of a release with the noise distribution of each, for intervals of sums, shares and differences.

Under `dp` two cells can be sums of the same released base cells, as a total and a cell inside it. Their noise is then not
independent, and such cells are refused. The exception is a total that holds all the others: the remainder is a sum of the
other base cells (`rest_of`).
"""

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
        base: The source of each cell's noise (None: independent noise), and the cell's base categories.
        digest: The version of the records.
    """

    counts: NDArray[np.int64]
    distributions: tuple[CellDistribution, ...]
    base: tuple[tuple[Hashable | None, Members], ...] = ()
    digest: str = ""

    def __repr__(self) -> str:
        return one_line(self, f"{self.counts.size:,} cells")


def picked(release: Release, *cells: Sequence[str]) -> PickedCells:
    """Select cells of a release by their codes in the order of the dimensions; an impossible cell is exactly 0.

    Raises:
        BadRequest: A cell does not exist or is withheld, or two share people.
    """
    if release.request.measure != "count" or not cells:
        raise BadRequest(
            message("There is no count to take."), message("Give codes of cells of a table of counts.")
        )
    if release.unrounded is not None:
        raise BadRequest(
            message(
                "The cells of a joint table share noise, so the distribution of a sum does not follow from those of "
                "its cells."
            ),
            message("Ask for the interval of the table: it knows their covariances."),
        )
    places = [cell_place(release, codes) for codes in cells]
    members = [cell_members(release, place) for place in places]
    refuse_shared_people(combinations(members, 2))
    empty = {place for place in places if release.status[place] == NOT_APPLICABLE}
    counts = np.array([0 if place in empty else int(release.noisy[place]) for place in places])
    distributions = tuple(NO_NOISE if place in empty else release.distribution.at(*place) for place in places)
    sources = (release.distribution.source(*place) for place in places)
    return PickedCells(counts, distributions, tuple(zip(sources, members, strict=True)), release.digest)


def refuse_shared_noise(one: PickedCells, two: PickedCells) -> None:
    """Refuse two groups in which some cells add up the same released base cells."""
    if one.digest == two.digest:
        refuse_shared_people(
            (a[1], b[1]) for a in one.base for b in two.base if a[0] is not None and a[0] == b[0]
        )


def rest_of(whole: PickedCells, part: PickedCells) -> PickedCells | None:
    """A total minus cells inside it, where all of them add up the same released base cells.

    The remainder adds up the other base cells. Its count is the difference of the released counts, and its noise, which is
    independent of that of the cells, has the terms of the total that the cells do not have.

    Returns:
        The remainder as a cell; None if the total has independent noise or does not hold the cells.
    """
    source, outer = whole.base[0] if len(whole.base) == 1 else (None, {})
    inside = all(inner[name] <= outer.get(name, frozenset()) for _, inner in part.base for name in inner)
    if source is None or not inside or any(own != source for own, _ in part.base):
        return None
    total, parts = _terms(whole), _terms(part)
    left = sum(each.terms for each in total) - sum(each.terms for each in parts)
    distribution = SumDistribution(total[0].row, left) if left else NO_NOISE
    return PickedCells(whole.counts - part.counts.sum(), (distribution,), digest=whole.digest)


def _terms(cells: PickedCells) -> list[SumDistribution]:
    return [
        own
        for distribution in cells.distributions
        if distribution != NO_NOISE
        for own in distribution.distributions
        if isinstance(own, SumDistribution)
    ]


def cell_place(release: Release, codes: Sequence[str]) -> tuple[int, ...]:
    """The index of a cell in the arrays of a release."""
    place = place_of(release.dimensions, codes)
    if release.status[place] == WITHHELD:
        raise BadRequest(
            message("The cell ({codes:comma}) is withheld and has no value.", codes=tuple(map(repr, codes))),
            message("Choose another."),
        )
    return place


def place_of(dimensions: Sequence[Dimension], codes: Sequence[str]) -> tuple[int, ...]:
    """The index of a cell in the dimensions of a table."""
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
    """Refuse cells that overlap in every variable that both have."""
    for one, two in pairs:
        if all(one[name] & two[name] for name in one.keys() & two.keys()):
            raise BadRequest(
                message("Two of the cells share people, and under dp perhaps the same noise."),
                message("Take cells that do not overlap; for a share give the rest in place of the whole."),
            )
