"""The key of a data query: which codes of each dimension are wanted.

    1+2..R01      the codes 1 and 2 of the first dimension, all of the second, R01 of the third
    all           everything

An empty position, or `*`, means all codes of its dimension, totals (`_T`) included: as SDMX has it. In the dataflow of
a whole dataset a dimension that is `_T` and nothing else is no variable of the table: so a key chooses the table. A
selection of codes is a cut of that table, never a filter.

Source: SDMX REST 1.5, "Data queries", the parameter key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.nearest import nearest
from discreet.model.sdmx import sdmx_id
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from discreet.model.variable import Variable
    from discreet.server.sdmx.flows import DescribedFlow

#: For each dimension of which not everything is wanted, the codes that are.
Wanted = dict[str, tuple[str, ...]]


def read_key(described: DescribedFlow, key: str) -> Wanted:
    """The codes that a key names.

    Raises:
        BadRequest: It does not have one position for each dimension.
        UnknownCategory: With the nearest code.
    """
    names = described.flow.dimensions
    if key in {"", "all", "*"}:
        return {}
    positions = key.split(".")
    if len(positions) != len(names):
        raise BadRequest(
            f'The key "{key[:200]}" has {len(positions)} positions, and the dataflow has {len(names)} dimensions.',
            f"Write codes in the order {'.'.join(names)}; leave a position empty for all of its codes.",
        )
    return {
        name: _codes(described.dataset.variable(name), position)
        for name, position in zip(names, positions, strict=True)
        if position not in {"", "*"}
    }


def table_variables(described: DescribedFlow, wanted: Wanted) -> tuple[str, ...]:
    """The variables of the table that holds what is wanted, in the order of the dimensions; at least the smallest."""
    names = described.flow.dimensions
    if not described.is_whole:
        return names
    shown = tuple(name for name in names if wanted.get(name) != (TOTAL,))
    return shown or (min(names, key=lambda name: len(described.dataset.variable(name))),)


def _codes(variable: Variable, position: str) -> tuple[str, ...]:
    """The codes of one position, in the order of the variable, the total last."""
    known = {sdmx_id(code): code for code in variable.codes} | {TOTAL: TOTAL}
    asked = set(position.split("+"))
    for name in sorted(asked - set(known)):
        raise UnknownCategory(f'The dimension "{variable.name}" has no code "{name}".', nearest(name, known))
    return tuple(code for name, code in known.items() if name in asked)
