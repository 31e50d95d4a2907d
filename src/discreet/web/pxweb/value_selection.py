"""From what a program sends to what it asks: which variables, which of their values, placed where.

    Wanted      as it was sent (`wanted.py`)
    Selected    as it is understood: codes of the dataset, in its order

A variable that is not named, or named without a value, is eliminated: the table is asked without it. A selection of
values is a cut of the table of its variables, and never a filter (`model/release.py`). Without any selection the
default is meant: the first variable that can be asked alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import BadRequest, DiscreetError, NotFound, UnknownVariable
from discreet.model.messages.text import nearest
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.release.dataset_service import DatasetService
from discreet.web.pxweb.metadata import (
    CodeList,
    Content,
    code_lists,
    contents_name,
    contents_of,
    dimension_of,
)
from discreet.web.pxweb.selection_syntax import Pick, RawSelection, expand


@dataclass(frozen=True, slots=True)
class Chosen:
    """The values of one variable that are asked for."""

    dimension: Dimension
    codes: tuple[str, ...]
    code_list: CodeList | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """A selection as it is understood.

    Args:
        chosen: The variables of the table, in the order of the dataset.
        contents: What its numbers say.
        heading: Which variables stand along the top, the contents among them.
        stub: Which ones stand down the side.
    """

    chosen: tuple[Chosen, ...]
    contents: tuple[Content, ...]
    heading: tuple[str, ...]
    stub: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many numbers are asked for."""
        return math.prod(len(each.codes) for each in self.chosen) * len(self.contents)

    def request(self, dataset: str, measure: str) -> TableRequest:
        """The question of the whole table."""
        names = {each.dimension.name for each in self.chosen}
        levels = tuple(
            (each.dimension.name, each.code_list.levels)
            for each in self.chosen
            if each.code_list is not None and each.code_list.levels
        )
        rows, columns = (tuple(n for n in placed if n in names) for placed in (self.stub, self.heading))
        return TableRequest(dataset, rows=rows, columns=columns, levels=levels, measure=measure)


def canonical_selection(door: DatasetService, selected: Selected) -> RawSelection:
    """What was understood, in the words of a selection: every code by itself."""
    picks = [
        Pick(each.dimension.name, each.codes, each.code_list.id if each.code_list else "")
        for each in selected.chosen
    ]
    contents = Pick(contents_name(door.dataset), tuple(content.code for content in selected.contents))
    return RawSelection((*picks, contents), selected.heading, selected.stub)


def select(door: DatasetService, wanted: RawSelection) -> Selected:
    """Understand a selection.

    Raises:
        UnknownVariable, UnknownCategory, NotFound: It names what the table does not have.
        BadRequest: It cannot be read.
    """
    contents = contents_name(door.dataset)
    known = [*(variable.name for variable in door.dataset.variables), contents]
    picks: dict[str, Pick] = {}
    for pick in wanted.picks:
        name = any_case(pick.variable, known)
        if name is None:
            raise UnknownVariable(
                f'The table has no variable "{pick.variable}".', nearest(pick.variable, known)
            )
        if name in picks:
            raise BadRequest(f'The variable "{name}" is selected twice.', "Give all its values together.")
        picks[name] = pick
    measured = picks.pop(contents, None)
    chosen = tuple(
        _choose(door, name, picks[name]) for name in known if name in picks and picks[name].expressions
    )
    if not chosen:
        chosen = (default_choice(door, total=bool(wanted.picks)),)
    order = [each.dimension.name for each in chosen]
    heading, stub = _placement(wanted, [*order, contents])
    return Selected(chosen, _contents(door, contents, measured), heading, stub)


def any_case(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant: the same, or the only one that differs by case alone."""
    names = list(known)
    if name in names:
        return name
    alike = [other for other in names if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _choose(door: DatasetService, name: str, pick: Pick) -> Chosen:
    code_list = find_code_list(door, name, pick.code_list) if pick.code_list else None
    dimension = dimension_of(door, name, code_list.levels if code_list else ())
    return Chosen(dimension, expand(name, pick.expressions, dimension.codes), code_list)


def find_code_list(door: DatasetService, variable: str, wanted: str) -> CodeList:
    """The code list of a variable.

    Raises:
        BadRequest: The variable does not have it.
    """
    lists = {each.id: each for each in code_lists(door.dataset, variable)}
    found = any_case(wanted, lists)
    if found is None:
        advice = nearest(wanted, lists) if lists else "Leave the code list out."
        raise BadRequest(f'"{variable}" has no code list "{wanted}".', advice)
    return lists[found]


def default_choice(door: DatasetService, *, total: bool = False) -> Chosen:
    """The first variable that can be asked alone, geography last; or its total, where all variables are eliminated.

    Raises:
        DiscreetError: None can be asked alone; why the first cannot.
    """
    dataset = door.dataset
    names = [variable.name for variable in dataset.variables]
    refusals: list[DiscreetError] = []
    for name in sorted(names, key=lambda name: name in dataset.geography):
        try:
            door.check(TableRequest(dataset.id, rows=(name,), measure=contents_of(dataset)[0].measure))
        except DiscreetError as refusal:
            refusals.append(refusal)
            continue
        dimension = dimension_of(door, name)
        return Chosen(dimension, (TOTAL,) if total else dimension.codes)
    raise refusals[0] if refusals else NotFound("The table has no variable.", "Choose another table.")


def _contents(door: DatasetService, name: str, pick: Pick | None) -> tuple[Content, ...]:
    known = {content.code: content for content in contents_of(door.dataset)}
    if pick is None or not pick.expressions:
        return (next(iter(known.values())),)
    return tuple(known[code] for code in expand(name, pick.expressions, list(known)))


def _placement(wanted: RawSelection, order: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Heading and stub: as wanted, and the rest down the side; by default the last variable and the contents on top."""
    heading, stub = (
        [_placement_name(name, order) for name in names] for names in (wanted.heading, wanted.stub)
    )
    if len({*heading, *stub}) < len(heading) + len(stub):
        raise BadRequest("A variable is placed twice.", "Place each variable once.")
    rest = [name for name in order if name not in {*heading, *stub}]
    if not heading and not stub:
        return tuple(order[-2:]), tuple(order[:-2])
    if not heading:
        return tuple(rest), tuple(stub)
    return tuple(heading), (*stub, *rest)


def _placement_name(name: str, order: list[str]) -> str:
    found = any_case(name, order)
    if found is None:
        raise BadRequest(f'"{name}" is placed and not selected.', nearest(name, order))
    return found
