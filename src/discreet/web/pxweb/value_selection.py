"""From a client's selection to a table request: which variables, which values, and their placement.

A variable that is not named, or named without a value, is eliminated: the table has no such variable. A selection of
values takes cells of the table of its variables and is never a filter (`model/release.py`). Without a selection, the
first variable that is allowed alone is selected.
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
    """The selected values of one variable."""

    dimension: Dimension
    codes: tuple[str, ...]
    code_list: CodeList | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """A resolved selection.

    Args:
        chosen: The variables of the table, in the order of the dataset.
        contents: The selected contents.
        heading: The variables along the top, the contents variable among them or in the stub.
        stub: The variables down the side.
    """

    chosen: tuple[Chosen, ...]
    contents: tuple[Content, ...]
    heading: tuple[str, ...]
    stub: tuple[str, ...]

    @property
    def cells(self) -> int:
        """The number of selected cells."""
        return math.prod(len(each.codes) for each in self.chosen) * len(self.contents)

    def request(self, dataset: str, measure: str) -> TableRequest:
        """The request of the whole table."""
        names = {each.dimension.name for each in self.chosen}
        levels = tuple(
            (each.dimension.name, each.code_list.levels)
            for each in self.chosen
            if each.code_list is not None and each.code_list.levels
        )
        rows, columns = (tuple(n for n in placed if n in names) for placed in (self.stub, self.heading))
        return TableRequest(dataset, rows=rows, columns=columns, levels=levels, measure=measure)


def canonical_selection(service: DatasetService, selected: Selected) -> RawSelection:
    """The selection with every code spelt out."""
    picks = [
        Pick(each.dimension.name, each.codes, each.code_list.id if each.code_list else "")
        for each in selected.chosen
    ]
    contents = Pick(contents_name(service.dataset), tuple(content.code for content in selected.contents))
    return RawSelection((*picks, contents), selected.heading, selected.stub)


def select(service: DatasetService, selection: RawSelection) -> Selected:
    """Resolve a selection.

    Raises:
        UnknownVariable, UnknownCategory, NotFound: The table does not have what it names.
        BadRequest: It cannot be parsed.
    """
    contents = contents_name(service.dataset)
    known = [*(variable.name for variable in service.dataset.variables), contents]
    picks: dict[str, Pick] = {}
    for pick in selection.picks:
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
        _choose(service, name, picks[name]) for name in known if name in picks and picks[name].expressions
    )
    if not chosen:
        chosen = (default_choice(service, total=bool(selection.picks)),)
    order = [each.dimension.name for each in chosen]
    heading, stub = _placement(selection, [*order, contents])
    return Selected(chosen, _contents(service, contents, measured), heading, stub)


def any_case(name: str, known: Iterable[str]) -> str | None:
    """The known name that equals a name, or the only one that differs by case alone."""
    names = list(known)
    if name in names:
        return name
    alike = [other for other in names if other.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _choose(service: DatasetService, name: str, pick: Pick) -> Chosen:
    code_list = find_code_list(service, name, pick.code_list) if pick.code_list else None
    dimension = dimension_of(service, name, code_list.levels if code_list else ())
    return Chosen(dimension, expand(name, pick.expressions, dimension.codes), code_list)


def find_code_list(service: DatasetService, variable: str, wanted: str) -> CodeList:
    """The code list of a variable.

    Raises:
        BadRequest: The variable does not have it.
    """
    lists = {each.id: each for each in code_lists(service.dataset, variable)}
    found = any_case(wanted, lists)
    if found is None:
        advice = nearest(wanted, lists) if lists else "Leave the code list out."
        raise BadRequest(f'"{variable}" has no code list "{wanted}".', advice)
    return lists[found]


def default_choice(service: DatasetService, *, total: bool = False) -> Chosen:
    """The first variable that is allowed alone, geography last; or its total, where all variables are eliminated.

    Raises:
        DiscreetError: None is allowed alone; why the first is not.
    """
    dataset = service.dataset
    names = [variable.name for variable in dataset.variables]
    refusals: list[DiscreetError] = []
    for name in sorted(names, key=lambda name: name in dataset.geography):
        try:
            service.check(TableRequest(dataset.id, rows=(name,), measure=contents_of(dataset)[0].measure))
        except DiscreetError as refusal:
            refusals.append(refusal)
            continue
        dimension = dimension_of(service, name)
        return Chosen(dimension, (TOTAL,) if total else dimension.codes)
    raise refusals[0] if refusals else NotFound("The table has no variable.", "Choose another table.")


def _contents(service: DatasetService, name: str, pick: Pick | None) -> tuple[Content, ...]:
    known = {content.code: content for content in contents_of(service.dataset)}
    if pick is None or not pick.expressions:
        return (next(iter(known.values())),)
    return tuple(known[code] for code in expand(name, pick.expressions, list(known)))


def _placement(selection: RawSelection, order: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Heading and stub as sent, the rest in the stub; by default the last variable and the contents are the heading."""

    def known(name: str) -> str:
        found = any_case(name, order)
        if found is None:
            raise BadRequest(f'"{name}" is placed and not selected.', nearest(name, order))
        return found

    heading, stub = (list(map(known, names)) for names in (selection.heading, selection.stub))
    if len({*heading, *stub}) < len(heading) + len(stub):
        raise BadRequest("A variable is placed twice.", "Place each variable once.")
    rest = [name for name in order if name not in {*heading, *stub}]
    if not heading and not stub:
        return tuple(order[-2:]), tuple(order[:-2])
    if not heading:
        return tuple(rest), tuple(stub)
    return tuple(heading), (*stub, *rest)
