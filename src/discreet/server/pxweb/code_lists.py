"""Code lists: the levels at which a variable can be shown, other than its own categories.

vs_town_area                the categories themselves          Valueset
agg_town_area.region        a coarser level, or a declared     Aggregation
                            code list: each value adds up
                            categories (`valueMap`)
vs_town_area.region-area    all levels of a hierarchy, each    Valueset
                            followed by what lies within it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.answer.measures import default_measure
from discreet.model.levels import level_label, level_names
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension


@dataclass(frozen=True, slots=True)
class CodeList:
    """One code list of a variable.

    Args:
        id: Unlike all others of the server: no id of a dataset has an underscore, and no name of a variable a dot.
        label: How people call it.
        variable: Whose values it replaces.
        levels: What a request calls it; empty for the variable's own categories.
        aggregates: Whether its values add up categories.
    """

    id: str
    label: str
    variable: str
    levels: tuple[str, ...]
    aggregates: bool

    @property
    def type(self) -> str:
        """What PxWeb calls its kind."""
        return "Aggregation" if self.aggregates else "Valueset"


def code_lists(dataset: Dataset, variable: str) -> list[CodeList]:
    """The code lists of a variable; none if it can be shown in one way only."""
    coarser = level_names(dataset, variable)[:-1]
    if not coarser:
        return []
    start = f"{dataset.id}_{variable}"
    own = CodeList(f"vs_{start}", dataset.variable(variable).label, variable, (), aggregates=False)
    groups = [
        CodeList(f"agg_{start}.{level}", level_label(dataset, level), variable, (level,), aggregates=True)
        for level in coarser
    ]
    return [own, *groups, *_nested(dataset, variable)]


def _nested(dataset: Dataset, variable: str) -> list[CodeList]:
    found = []
    for hierarchy in dataset.hierarchies:
        levels = (
            hierarchy.levels[: hierarchy.levels.index(variable) + 1] if variable in hierarchy.levels else ()
        )
        if len(levels) > 1:
            label = " > ".join(level_label(dataset, level) for level in levels)
            name = f"vs_{dataset.id}_{variable}.{'-'.join(levels)}"
            found.append(CodeList(name, label, variable, levels, aggregates=False))
    return found


def dimension_of(door: Door, variable: str, levels: tuple[str, ...] = ()) -> Dimension:
    """The values of a variable at its levels, as every table of it has them; the total last."""
    dataset = door.dataset
    shown = ((variable, levels),) if levels else ()
    request = TableRequest(dataset.id, rows=(variable,), levels=shown, measure=default_measure(dataset))
    return door.read(request).shape.dimensions[0]


def code_list_document(door: Door, wanted: CodeList, links: list[dict[str, str]]) -> dict[str, Any]:
    """A code list as PxWebApi has it."""
    dimension = dimension_of(door, wanted.variable, wanted.levels)
    values = [
        {"code": code, "label": label, "valueMap": [dimension.base[place] for place in members]}
        for code, label, members in zip(dimension.codes, dimension.labels, dimension.members(), strict=True)
    ]
    return {
        "id": wanted.id,
        "label": wanted.label,
        "language": "en",
        "languages": ["en"],
        "type": wanted.type,
        "elimination": True,
        "eliminationValueCode": dimension.codes[-1],
        "values": values,
        "links": links,
    }
