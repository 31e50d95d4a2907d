"""From withheld areas to withheld cells: the verdict of the unfiltered table, laid on the requested one.

A cell counts the people of a set of areas: one area, a coarser one, those of a filter, or all. If the
verdict is about that very set, its answer holds. Any other union is withheld as soon as one of its areas is:
it could be differenced against the rest. So the total over all areas stays, unless it is too sparse itself,
and the total of a filter that keeps one withheld area does not.

Comes from: a `Verdict`. Goes to: `answer`, as the cells with status `c`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import TableNotReleased
from discreet.rules.places import ancestors, coarser
from discreet.rules.verdict import advice_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension, TableShape
    from discreet.rules.verdict import Verdict


def lay_out(
    verdict: Verdict, shape: TableShape, dataset: Dataset, *, sums: bool = False
) -> NDArray[np.bool_]:
    """Which cells of a requested shape are withheld.

    Args:
        verdict: On the unfiltered table of the same request.
        shape: The requested shape.
        dataset: Its dataset.
        sums: Whether totals are sums of what is shown (additivity `interior` or `fitted`): one withheld
            area could then be had by subtraction, so every union that holds it is withheld with it.

    Raises:
        ValueError: The verdict is of a table with another geography.
    """
    if verdict.table_error is not None:
        return np.ones(shape.lengths, dtype=np.bool_)
    owners = {d.name: _owner(d.name, verdict, dataset) for d in shape.dimensions if d.geography}
    mask = verdict.mask
    axes: list[int] = []
    for place in verdict.places:
        own = [axis for axis, d in enumerate(shape.dimensions) if owners.get(d.name) == place.name]
        lookup = _Lookup(np.moveaxis(mask, len(axes), 0), place, sums=sums)
        laid = _laid_out(lookup, [shape.dimensions[a] for a in own], shape, dataset)
        mask = np.moveaxis(laid, range(len(own)), range(len(axes), len(axes) + len(own)))
        axes += own
    free = [axis for axis in range(len(shape.dimensions)) if axis not in axes]
    laid = mask.reshape(mask.shape + (1,) * len(free)).transpose(np.argsort([*axes, *free]))
    return np.broadcast_to(laid, shape.lengths).copy()


def withheld_cells(
    verdict: Verdict | None, shape: TableShape, dataset: Dataset, additivity: str
) -> NDArray[np.bool_]:
    """Which cells are withheld; none where no rule on counts applies.

    Fitted totals are the same in tables with and without areas, so that a withheld area would follow from
    the others by subtraction: with anything withheld, nothing is fitted.

    Raises:
        TableNotReleased: The table fails as a whole, or nothing of it could be shown.
    """
    if verdict is None:
        return np.zeros(shape.lengths, dtype=np.bool_)
    withheld = lay_out(verdict, shape, dataset, sums=additivity != "independent")
    if verdict.table_error is not None or withheld.all():
        raise _refusal(verdict, dataset)
    if additivity == "fitted" and withheld.any():
        raise TableNotReleased(
            "Some areas are withheld, and totals that cells are fitted to would give them away.",
            "Ask for additivity=independent, or use larger areas.",
        )
    return withheld


def _refusal(verdict: Verdict, dataset: Dataset) -> TableNotReleased:
    advice = verdict.rules[0].advice if verdict.rules else advice_on(verdict.places, dataset)
    reasons = " ".join(finding.message for finding in verdict.rules)
    error = verdict.table_error or "None of the areas asked for can be shown."
    return TableNotReleased(f"{error} {reasons}".strip(), advice)


def _owner(name: str, verdict: Verdict, dataset: Dataset) -> str:
    """The dimension of the verdict that says where a dimension of the requested shape lies."""
    for place in verdict.places:
        if name == place.name or name in coarser(dataset, place.name):
            return place.name
    raise ValueError(f'the verdict is of another table: nothing is known of "{name}"')


def _laid_out(
    lookup: _Lookup, shown: list[Dimension], shape: TableShape, dataset: Dataset
) -> NDArray[np.bool_]:
    """The answers along the requested dimensions in place of the verdict's one, which stands first."""
    place = lookup.place
    kept = np.ones(len(place.base), dtype=np.bool_)
    for hidden in shape.filters:
        if hidden.name == place.name or hidden.name in coarser(dataset, place.name):
            kept &= _spread(hidden.members, hidden.name, place, dataset)
    wide = [d for d in shown if d.name != place.name]
    fine = next((d for d in shown if d.name == place.name), None)
    parts = []
    for members in product(*(d.members() for d in wide)):
        inside = kept.copy()
        for dimension, each in zip(wide, members, strict=True):
            inside &= _spread(each, dimension.name, place, dataset)
        parts.append(lookup.along(fine, inside))
    lengths = [d.length for d in wide] + ([fine.length] if fine else [])
    laid = np.concatenate(parts).reshape((*lengths, *lookup.known.shape[1:]))
    order = [[*wide, *([fine] if fine else [])].index(d) for d in shown]
    return laid.transpose(*order, *range(len(shown), laid.ndim))


def _spread(members: tuple[int, ...], name: str, place: Dimension, dataset: Dataset) -> NDArray[np.bool_]:
    """Categories of a level as a set of areas of the verdict's one."""
    chosen = np.zeros(len(dataset.variable(name)), dtype=np.bool_)
    chosen[list(members)] = True
    return chosen if name == place.name else chosen[ancestors(dataset, place.name, name)]


class _Lookup:
    """What the verdict says along one dimension, by the set of areas."""

    def __init__(self, known: NDArray[np.bool_], place: Dimension, *, sums: bool) -> None:
        self.known = known
        self.place = place
        self.sums = sums
        self.single = np.full(len(place.base), -1, dtype=np.int64)
        self.unions: dict[bytes, int] = {}
        for number, members in enumerate(place.members()):
            if len(members) == 1:
                self.single[members[0]] = number
            else:
                self.unions[np.array(sorted(members), dtype=np.int64).tobytes()] = number

    def along(self, fine: Dimension | None, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The answer for every output of a dimension when only some areas count; one row if it is not shown."""
        if fine is None:
            return self.of(np.flatnonzero(inside))[None]
        unions = fine.members()
        rows = np.zeros((len(unions), *self.known.shape[1:]), dtype=np.bool_)
        lone = np.array([members[0] if len(members) == 1 else -1 for members in unions])
        alone = (lone >= 0) & (self.single[lone] >= 0)
        counted = alone & inside[lone]
        rows[counted] = self.known[self.single[lone[counted]]]
        for number in np.flatnonzero(~alone):
            members = np.array(unions[number], dtype=np.int64)
            rows[number] = self.of(members[inside[members]])
        return rows

    def of(self, areas: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a set of areas is withheld; a set without people in it is not."""
        return np.asarray(self.known[self._answering(np.sort(areas))].any(axis=0))

    def _answering(self, areas: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the answer for a set stands: at the set itself if the verdict has it, else at all that it touches."""
        if len(areas) == 1 and self.single[areas[0]] >= 0:
            return self.single[areas]
        union = self.unions.get(areas.tobytes())
        own = set() if union is None else {union}
        if union is None or self.sums:
            own |= self._touching(areas)
        return np.array(sorted(own), dtype=np.int64)

    def _touching(self, areas: NDArray[np.int64]) -> set[int]:
        """The areas of the verdict, and where it has groups only the groups, that a set touches."""
        numbers = self.single[areas]
        found = set(numbers[numbers >= 0].tolist())
        if (numbers < 0).any():
            wanted = set(areas[numbers < 0].tolist())
            for key, number in self.unions.items():
                if wanted & set(np.frombuffer(key, dtype=np.int64).tolist()):
                    found.add(number)
        return found
