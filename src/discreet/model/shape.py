"""The shape of a table: its cells and their labels, totals included, known before a record is read.

Each dimension lists its outputs. An output is a set of base categories: one category, a group, or a category of a coarser
level that contains the outputs below it. The total, if any, is last in the arrays. Sizes are Python integers, so that a
table of 10^300 cells can be refused before anything is allocated. `Dimension.labels` makes the label of a total.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape
from discreet.model.hierarchy import Group, ancestors, level_groups, level_label
from discreet.model.messages.text import message, one_line
from discreet.model.request import TableRequest
from discreet.model.selection import group_label
from discreet.model.variable import TOTAL, Variable


@dataclass(frozen=True, slots=True)
class Output:
    """One shown category of a dimension.

    `members` are positions of base categories, `parent` is the position of the output of a coarser level that contains it
    (-1 without one), and `depth` the number of outputs that contain it.
    """

    code: str
    label: str
    members: tuple[int, ...]
    parent: int = -1
    depth: int = 0

    def __repr__(self) -> str:
        return one_line(self, f"{self.code}: {self.label}")


@dataclass(frozen=True)
class Dimension:
    """One variable of a table; derived values are cached, because a table may have tens of thousands of areas.

    Args:
        outputs: The shown categories, each after its parent; disjoint except for parents.
        population: The base categories whose people count in the total.
        base: The codes of the variable's own categories.
        total: Whether there is a total, last.
        unit: For the label of a total that also counts people in no shown category.
        total_label: Replaces "Total" where the total does not count everyone, as in "Sum of the areas shown".
    """

    name: str
    label: str
    outputs: tuple[Output, ...]
    population: tuple[int, ...]
    base: tuple[str, ...]
    total: bool = True
    geography: bool = False
    unit: str = "records"
    total_label: str = ""

    def __hash__(self) -> int:
        """Hash the size only, which is cheap."""
        return hash((self.name, self.total, len(self.outputs), len(self.population)))

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """A cache for values derived by other modules."""
        return {}

    @property
    def length(self) -> int:
        """How many cells the dimension has, the total included."""
        return len(self.outputs) + self.total

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes in array order, the total last."""
        return tuple(output.code for output in self.outputs) + ((TOTAL,) if self.total else ())

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in array order, the total last; its label says if it counts more people than are shown."""
        total = self.total_label or (
            message("Total (all {unit})", unit=self.unit) if self.leaves_out else message("Total")
        )
        return tuple(output.label for output in self.outputs) + ((total,) if self.total else ())

    @cached_property
    def leaves_out(self) -> bool:
        """Whether the total counts people in no shown category."""
        shown = {member for output in self.outputs for member in output.members}
        return not shown.issuperset(self.population)

    @cached_property
    def wholes(self) -> Mapping[int, list[int]]:
        """The positions of the parts by the position of their whole: coarser levels, and the total."""
        parts: dict[int, list[int]] = {}
        for place, output in enumerate(self.outputs):
            if output.parent >= 0 or self.total:
                parts.setdefault(output.parent if output.parent >= 0 else len(self.outputs), []).append(place)
        return parts

    @property
    def leaves(self) -> list[int]:
        """The positions of the outputs that contain no others."""
        parents = {output.parent for output in self.outputs}
        return [place for place in range(len(self.outputs)) if place not in parents]

    def members(self) -> list[tuple[int, ...]]:
        """The base categories behind each code, in array order."""
        return [output.members for output in self.outputs] + ([self.population] if self.total else [])

    @cached_property
    def singles(self) -> NDArray[np.int64]:
        """For each position, the total included, its base category if it is just one; else -1."""
        members = self.members()
        return np.fromiter((each[0] if len(each) == 1 else -1 for each in members), np.int64, len(members))

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """The depth of each output."""
        return np.fromiter((each.depth for each in self.outputs), np.int64, len(self.outputs))

    def __repr__(self) -> str:
        return one_line(self, f"{self.name}: {self.label}, {self.length} categories")


@dataclass(frozen=True, slots=True)
class HiddenFilter:
    """A filter on a variable that the table does not show: only people in these base categories count."""

    name: str
    members: tuple[int, ...]
    base: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableShape:
    """All cells of a table: its dimensions, and the filters on variables that it does not show."""

    dimensions: tuple[Dimension, ...]
    filters: tuple[HiddenFilter, ...] = ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """The array shape, totals included."""
        return tuple(dimension.length for dimension in self.dimensions)

    @property
    def cells(self) -> int:
        """The number of cells, totals included, as an exact integer of any size."""
        return math.prod(self.lengths)

    def __repr__(self) -> str:
        return one_line(self, f"{self.cells:,} cells by {', '.join(each.name for each in self.dimensions)}")


def table_shape(request: TableRequest, dataset: Dataset) -> TableShape:
    """The shape of a canonical request."""
    filters = {name: _positions(dataset.variable(name), codes) for name, codes in request.filters}
    dimensions = tuple(_dimension(dataset, request, name, filters) for name in request.variables)
    hidden = tuple(
        HiddenFilter(name, positions, dataset.variable(name).codes)
        for name, positions in filters.items()
        if name not in request.variables
    )
    return TableShape(dimensions, hidden)


def structural_zeros(shape: TableShape, dataset: Dataset) -> NDArray[np.bool_]:
    """The structural zeros: cells whose base categories are all declared, for every variable of a combination."""
    axes = {dimension.name: axis for axis, dimension in enumerate(shape.dimensions)}
    hidden = {hidden.name: set(hidden.members) for hidden in shape.filters}

    def within(name: str, codes: frozenset[str]) -> tuple[int, NDArray[np.bool_]] | None:
        if name not in axes and name not in hidden:
            return None
        declared = set(_positions(dataset.variable(name), tuple(codes)))
        if name in axes:
            members = shape.dimensions[axes[name]].members()
            return axes[name], np.array([declared.issuperset(each) for each in members], dtype=np.bool_)
        return (NO_AXIS, np.array(True)) if hidden[name] <= declared else None

    return zero_cells(dataset, shape.lengths, within)


#: In place of an axis: one flag for all cells.
NO_AXIS = -1


def zero_cells(
    dataset: Dataset,
    lengths: tuple[int, ...],
    within: Callable[[str, frozenset[str]], tuple[int, NDArray[np.bool_]] | None],
) -> NDArray[np.bool_]:
    """The cells of any structural zero; `within` flags along an axis what lies within a variable's codes (None: nothing)."""
    empty = np.zeros(lengths, dtype=np.bool_)
    for zero in dataset.structural_zeros:
        inside: NDArray[np.bool_] | None = None
        for found in itertools.starmap(within, zero.where):
            if found is None:
                break  # the other variables need not be looked at
            flags = found[1].reshape([-1 if each == found[0] else 1 for each in range(len(lengths))])
            inside = flags if inside is None else inside & flags
        else:
            empty |= True if inside is None else inside
    return empty


def _dimension(
    dataset: Dataset, request: TableRequest, name: str, filters: Mapping[str, tuple[int, ...]]
) -> Dimension:
    """A dimension; without filters, groups or names it is cached."""
    if filters or name in dict(request.groups) or name in dict(request.names):
        return _make_dimension(dataset, request, name, filters)
    key = ("dimension", name, dict(request.levels).get(name), request.totals)
    if key not in dataset.cache:
        dataset.cache[key] = _make_dimension(dataset, request, name, filters)
    dimension: Dimension = dataset.cache[key]
    return dimension


def _make_dimension(
    dataset: Dataset, request: TableRequest, name: str, filters: Mapping[str, tuple[int, ...]]
) -> Dimension:
    variable = dataset.variable(name)
    groups, levels = dict(request.groups).get(name), dict(request.levels).get(name)
    plain, population = plain_outputs(variable), _population(dataset, name, filters)
    if groups is not None:
        outputs = tuple(
            plain[variable.position(group[0])]
            if len(group) == 1
            else Output(
                "+".join(map(escape, group)), group_label(variable, group), _positions(variable, group)
            )
            for group in groups
        )
    elif levels is not None:
        outputs = level_outputs(dataset, name, levels, population)
    else:
        outputs = plain if len(population) == len(plain) else tuple(plain[place] for place in population)
    if not outputs and not request.totals:
        raise BadRequest(
            message(
                'The table shows nothing of "{name}": its filter leaves out every category of the level.',
                name=name,
            ),
            message("Widen the filter, show another level, or ask for totals."),
        )
    names = {_positions(variable, codes): own for codes, own in dict(request.names).get(name, ()) if own}
    if names:
        outputs = tuple(replace(each, label=names.get(each.members, each.label)) for each in outputs)
    geography = name in dataset.geography
    label = variable.label if levels is None else level_label(dataset, levels[-1])
    return Dimension(
        name, label, outputs, population, variable.codes, request.totals, geography, dataset.unit
    )


def _population(dataset: Dataset, name: str, filters: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The categories that filters leave: on the variable, and on levels of its hierarchy.

    Under `filter=region=R01` the districts of other regions are no cells of the table.
    """
    open_ = np.zeros(len(dataset.variable(name)), dtype=np.bool_)
    open_[list(filters.get(name, range(open_.size)))] = True
    left = open_.copy()
    for other, members in filters.items():
        if other != name:
            left &= _overlapping(dataset, name, other, members)
    return tuple(np.flatnonzero(left if left.any() else open_).tolist())


def _overlapping(dataset: Dataset, name: str, other: str, members: tuple[int, ...]) -> NDArray[np.bool_]:
    """The categories of a variable that overlap categories of another level; all, if unrelated."""
    chosen = np.zeros(len(dataset.variable(other)), dtype=np.bool_)
    chosen[list(members)] = True
    up, down = ancestors(dataset, name, other), ancestors(dataset, other, name)
    if up is not None:
        return np.asarray(chosen[up])
    touched = np.full(len(dataset.variable(name)), down is None)
    if down is not None:
        touched[down[chosen]] = True
    return touched


def level_outputs(
    dataset: Dataset, name: str, levels: tuple[str, ...], population: tuple[int, ...]
) -> tuple[Output, ...]:
    """The outputs of nested levels, each after its parent; a code of two levels is prefixed with its level's name."""
    kept = set(population)
    nodes: list[tuple[str, Group, tuple[int, ...], int]] = []
    owner: dict[int, int] = {}
    for level in levels:
        finer: dict[int, int] = {}
        for group in level_groups(dataset, name, level):
            members = tuple(member for member in group.members if member in kept)
            if members:
                finer |= dict.fromkeys(members, len(nodes))
                nodes.append((level, group, members, owner.get(members[0], -1)))
        owner |= finer
    children: dict[int, list[int]] = {}
    for node, (_, _, _, parent) in enumerate(nodes):
        children.setdefault(parent, []).append(node)
    times = Counter(group.code for _, group, _, _ in nodes)
    outputs: list[Output] = []
    waiting = [(node, -1, 0) for node in reversed(children.get(-1, []))]
    while waiting:
        node, parent, depth = waiting.pop()
        level, group, members, _ = nodes[node]
        code = group.code if times[group.code] == 1 else f"{level}:{group.code}"
        waiting += [(child, len(outputs), depth + 1) for child in reversed(children.get(node, []))]
        outputs.append(Output(code, group.label, members, parent, depth))
    return tuple(outputs)


@lru_cache(maxsize=256)
def plain_outputs(variable: Variable) -> tuple[Output, ...]:
    """The categories of a variable, each as an output; cached, because areas are many."""
    return tuple(Output(c.code, c.label, (position,)) for position, c in enumerate(variable.categories))


def _positions(variable: Variable, codes: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sorted(variable.position(code) for code in codes))
