"""From withheld areas to suppressed cells: the verdict of the unfiltered table, applied to the requested one.

A cell counts the people of a set of areas: one area, a coarser one, those of a filter, or all. The verdict applies if it is
about that very set. Any other union is never counted: two of them, or one and a declared level, could differ by a withheld
area. If the table lists the areas of a union, the sum of those shown replaces it (`Layout.add_shown`); otherwise the union
is withheld as soon as one of its areas is. Therefore, where a rule may withhold areas, a request that filters areas lists
them (`list_areas`):

    a filter of several areas that the table does not show   the areas become rows
    a filter on areas that are shown at a coarser level      their own level is shown, too

Levels, code lists and single areas are declared, and are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TableNotReleased
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors_or_self, coarser, finest
from discreet.model.messages.text import message
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import Dimension, TableShape
from discreet.rules.verdict import Verdict, advice_on


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The unions along one axis: for each output the positions of its finest areas, and the cells that are such sums."""

    axis: int
    parts: tuple[tuple[int, ...], ...]
    cells: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The treatment of each cell: withheld, or added up from the areas shown."""

    withheld: NDArray[np.bool_]
    sums: tuple[Sums, ...] = ()

    @property
    def added(self) -> NDArray[np.bool_]:
        """Cells that are sums of the areas shown."""
        added = np.zeros_like(self.withheld)
        for sums in self.sums:
            added |= sums.cells
        return added

    def add_shown(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values, with the sum of the areas shown in place of a requested union."""
        for sums in self.sums:
            shown = np.moveaxis(np.where(self.withheld, 0, values), sums.axis, 0)
            added = np.stack([shown[list(parts)].sum(axis=0) for parts in sums.parts], axis=sums.axis)
            values = np.where(sums.cells, added, values)
        return values


def lay_out(verdict: Verdict, shape: TableShape, dataset: Dataset, *, sums: bool = False) -> Layout:
    """The cells of a requested shape that are withheld, and those that are sums of the areas shown.

    The verdict is on the unfiltered table of the same request. Where totals are `sums` of cells (additivity `interior` or
    `fitted`), a withheld cell would follow by subtraction without noise: every union that contains it is withheld with it.

    Raises:
        ValueError: The verdict is of a table with another geography.
    """
    if verdict.table_error is not None:
        return Layout(np.ones(shape.lengths, dtype=np.bool_))
    owners = {d.name: _owner(d.name, verdict, dataset) for d in shape.dimensions if d.geography}
    mask = verdict.mask
    axes: list[int] = []
    added = []
    for place in verdict.places:
        own = [axis for axis, d in enumerate(shape.dimensions) if owners.get(d.name) == place.name]
        lookup = _Lookup(np.moveaxis(mask, len(axes), 0), place, sums=sums)
        laid, unions = _laid_out(lookup, [shape.dimensions[a] for a in own], shape, dataset)
        mask = np.moveaxis(laid, range(len(own)), range(len(axes), len(axes) + len(own)))
        axes += own
        if unions is not None and unions.any():
            listing = next(axis for axis in own if shape.dimensions[axis].name == place.name)
            added.append(_sums(listing, _spread_out(unions, own, shape), shape))
    return Layout(_spread_out(mask, axes, shape), tuple(added))


def _spread_out(mask: NDArray[np.bool_], axes: list[int], shape: TableShape) -> NDArray[np.bool_]:
    """A mask along some axes of a shape, in their order, as a mask of all its cells."""
    free = [axis for axis in range(len(shape.dimensions)) if axis not in axes]
    laid = mask.reshape(mask.shape + (1,) * len(free)).transpose(np.argsort([*axes, *free]))
    return np.broadcast_to(laid, shape.lengths).copy()


def _sums(axis: int, cells: NDArray[np.bool_], shape: TableShape) -> Sums:
    dimension = shape.dimensions[axis]
    # The positions of the finest areas; of two names for the same area, the finer one.
    leaf = {output.members[0]: at for at, output in enumerate(dimension.outputs) if len(output.members) == 1}
    parts = (tuple(leaf[member] for member in members if member in leaf) for members in dimension.members())
    return Sums(axis, tuple(parts), cells)


def layout_for(verdict: Verdict | None, shape: TableShape, dataset: Dataset, additivity: str) -> Layout:
    """The layout of a request; everything is shown without a verdict.

    Fitted totals are the same in tables with and without areas, so that a withheld area would follow from the others by
    subtraction: with anything withheld, or added up from the areas shown, nothing is fitted.

    Raises:
        TableNotReleased: The table fails as a whole, or nothing of it could be shown.
    """
    if verdict is None:
        return Layout(np.zeros(shape.lengths, dtype=np.bool_))
    layout = lay_out(verdict, shape, dataset, sums=additivity != "independent")
    if verdict.table_error is not None or layout.withheld.all():
        raise _refusal(verdict, dataset)
    if additivity == "fitted" and layout.withheld.any():
        raise TableNotReleased(
            message("Some areas are withheld, and totals that cells are fitted to would give them away."),
            message("Ask for additivity=independent, or use larger areas."),
        )
    if additivity == "fitted" and layout.sums:
        raise TableNotReleased(
            message("A total of chosen areas is not published, so cells cannot be fitted to it."),
            message("Ask for additivity=independent, or for all areas, or use a coarser level."),
        )
    return layout


def _refusal(verdict: Verdict, dataset: Dataset) -> TableNotReleased:
    """The refusal with one reason, the first; the verdict of a dry run has all of them."""
    advice = verdict.rules[0]["advice"] if verdict.rules else advice_on(verdict.places, dataset)
    reason: str
    if verdict.table_error is None:
        reason = message("None of the areas asked for can be shown.")
    elif verdict.passed or not verdict.rules:
        reason = verdict.table_error
    else:  # that nothing can be shown is in the title of the error
        reason = verdict.rules[0]["message"]
    return TableNotReleased(reason, advice)


def _owner(name: str, verdict: Verdict, dataset: Dataset) -> str:
    """The dimension of the verdict that covers a dimension of the requested shape."""
    for place in verdict.places:
        if name == place.name or name in coarser(dataset, place.name):
            return place.name
    raise ValueError(f'the verdict is of another table: nothing is known of "{name}"')


def _laid_out(
    lookup: _Lookup, shown: list[Dimension], shape: TableShape, dataset: Dataset
) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """The answers along the requested dimensions, in place of the verdict's first axis; and the unions.

    The unions have the requested dimensions only; None where the table does not list the verdict's areas.
    """
    place = lookup.place
    kept = np.ones(len(place.base), dtype=np.bool_)
    for hidden in shape.filters:
        if hidden.name == place.name or hidden.name in coarser(dataset, place.name):
            kept &= _spread(hidden.members, hidden.name, place, dataset)
    wide = [d for d in shown if d.name != place.name]
    fine = next((d for d in shown if d.name == place.name), None)
    parts, unions = [], []
    for members in product(*(d.members() for d in wide)):
        inside = kept.copy()
        for dimension, each in zip(wide, members, strict=True):
            inside &= _spread(each, dimension.name, place, dataset)
        rows, added = lookup.along(fine, inside)
        parts.append(rows)
        unions.append(added)
    lengths = [d.length for d in wide] + ([fine.length] if fine else [])
    order = [[*wide, *([fine] if fine else [])].index(d) for d in shown]
    laid = np.concatenate(parts).reshape((*lengths, *lookup.known.shape[1:]))
    laid = laid.transpose(*order, *range(len(shown), laid.ndim))
    if fine is None:
        return laid, None
    return laid, np.concatenate(unions).reshape(lengths).transpose(order)


def _spread(members: tuple[int, ...], name: str, place: Dimension, dataset: Dataset) -> NDArray[np.bool_]:
    chosen = np.zeros(len(dataset.variable(name)), dtype=np.bool_)
    chosen[list(members)] = True
    return chosen if name == place.name else chosen[ancestors_or_self(dataset, place.name, name)]


class _Lookup:
    """The verdict along one dimension, by set of areas."""

    def __init__(self, known: NDArray[np.bool_], place: Dimension, *, sums: bool) -> None:
        self.known = known
        self.place = place
        self.sums = sums
        self.single = np.full(len(place.base), -1, dtype=np.int64)
        alone = np.flatnonzero(place.singles >= 0)
        self.single[place.singles[alone]] = alone
        members = place.members()
        self.unions = {
            np.array(sorted(members[number]), dtype=np.int64).tobytes(): number
            for number in np.flatnonzero(place.singles < 0).tolist()
        }

    def along(
        self, fine: Dimension | None, inside: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For every output of a dimension restricted to some areas, its answer, and whether it is added up."""
        if fine is None:
            return self.of(np.flatnonzero(inside))[None], np.zeros(1, dtype=np.bool_)
        unions = fine.members()
        rows = np.zeros((len(unions), *self.known.shape[1:]), dtype=np.bool_)
        added = np.zeros(len(unions), dtype=np.bool_)
        lone = fine.singles
        alone = (lone >= 0) & (self.single[lone] >= 0)
        counted = alone & inside[lone]
        rows[counted] = self.known[self.single[lone[counted]]]
        leaves = np.zeros(len(inside), dtype=np.bool_)
        own = lone[: len(fine.outputs)]
        leaves[own[own >= 0]] = True
        for number in np.flatnonzero(~alone):
            members = np.array(unions[number], dtype=np.int64)
            areas = np.sort(members[inside[members]])
            known = len(areas) < 2 or areas.tobytes() in self.unions  # the verdict is about this very set
            added[number] = not known and bool(leaves[areas].all())
            rows[number] = self.known[self.single[areas]].all(axis=0) if added[number] else self.of(areas)
        return rows, added

    def of(self, areas: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a set of areas is withheld; an empty set is not."""
        return np.asarray(self.known[self._answering(np.sort(areas))].any(axis=0))

    def _answering(self, areas: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index of the set itself if the verdict has it, else those of the areas, or else groups, that it touches."""
        numbers = self.single[areas]
        if len(areas) == 1 and numbers[0] >= 0:
            return numbers
        union = self.unions.get(areas.tobytes())
        found = set() if union is None else {union}
        if union is None or self.sums:
            wanted = set(areas[numbers < 0].tolist())
            found |= set(numbers[numbers >= 0].tolist())
            found |= {
                n for key, n in self.unions.items() if wanted & set(np.frombuffer(key, np.int64).tolist())
            }
        return np.array(sorted(found), dtype=np.int64)


#: The label of a total over the areas shown.
LABEL = "Sum of the areas shown"
#: The note about such a total.
NOTE = (
    "The areas that were chosen are not counted together: their total is the sum of the areas shown, "
    "and those that are not available are not in it."
)


def list_areas(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The canonical request that lists every area of its filters."""
    filters = dict(request.filters)
    for name in finest(dataset, request.used & dataset.geography):
        if name not in request.variables and len(filters[name]) > 1:
            request = replace(request, rows=(*request.rows, name))
        elif name in filters or any(level in filters for level in coarser(dataset, name)):
            levels = ((each, (*shown, name) if each == name else shown) for each, shown in request.levels)
            request = replace(request, levels=tuple(levels))
    return canonical(request, dataset)


def label_sums(dimensions: tuple[Dimension, ...], layout: Layout) -> tuple[Dimension, ...]:
    """Label the sums of the areas shown, in the dimensions that have one."""
    named = list(dimensions)
    for sums in layout.sums:
        added = [bool(cells.any()) for cells in np.moveaxis(sums.cells, sums.axis, 0)]
        dimension = named[sums.axis]
        outputs = tuple(
            replace(output, label=f"{output.label} ({LABEL.lower()})") if is_sum else output
            for output, is_sum in zip(dimension.outputs, added, strict=False)
        )
        total = LABEL if dimension.total and added[-1] else dimension.total_label
        named[sums.axis] = replace(dimension, outputs=outputs, total_label=total)
    return tuple(named)
