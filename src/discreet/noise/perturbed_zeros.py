"""Empty cells that show small counts, and small counts that become zero in their place.

    row 0        shows js+1, js+2, js+3 (as far as D reaches) with the chances 4 : 2 : 1, together `made_up`
    rows 1, 2    with the chance `dropped` the count becomes zero; else its own noise

Where zeros stay, whoever sees a count knows that somebody is there. Here he does not. The price is a bias:

    E(shown - true) = made_up·m of an empty cell, m the mean of what it shows;   -dropped·i of a count i = 1, 2.

A table with e empty cells, n1 ones and n2 twos is unbiased as a whole where e·made_up·m = dropped·(n1 + 2 n2). The
design says that ratio; no table has it exactly.

Source: the perturbed zeros of ONS (2021 census of England and Wales), as its methodology describes them; the law is ours.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InfeasibleDesign
from discreet.noise.ideal import row_from_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.ideal import IdealRow, IdealTable

#: How often an empty cell shows js+1, js+2, js+3, in proportion: like small counts, which are rarer the larger they are.
CHANCES = (4, 2, 1)
#: More than half of the empty cells, or of the ones and twos, would be another table.
MOST = 0.5


def with_made_up(design: IdealTable, made_up: float, dropped: float, js: int, D: int) -> IdealTable:
    """A design that shows some empty cells with people and some people as empty cells.

    Args:
        design: The design that keeps zeros.
        made_up: The chance that an empty cell shows a small count.
        dropped: The chance that a count of one or two becomes zero, beside its own noise.
        js: Released counts are never 1..js.
        D: Largest change: what an empty cell shows is not above it.

    Raises:
        InfeasibleDesign: A chance lies outside its range, or no small count can be shown.
    """
    for name, chance in (("made_up", made_up), ("dropped", dropped)):
        if not 0 < chance <= MOST:
            raise InfeasibleDesign(
                f"{name} = {chance}: it is a chance above 0 and at most {MOST}.",
                "An empty cell is made up with `made_up`, a one or two becomes zero with `dropped`: give both.",
            )
    shown = [js + place for place in (1, 2, 3) if js + place <= D]
    weights = CHANCES[: len(shown)]
    rows = (
        _mixed((0, *shown), (0, *weights), Fraction(made_up)),
        *(_dropped(row, count, Fraction(dropped)) for count, row in enumerate(design.rows[1:3], 1)),
        *design.rows[3:],
    )
    mean = Fraction(made_up) * sum(v * w for v, w in zip(shown, weights, strict=True)) / sum(weights)
    balance = float(Fraction(dropped) / mean)
    note = (
        f"An empty cell shows {shown[0]} to {shown[-1]} with probability {made_up:g}: {float(mean):.6g} people on average. "
        f"Ones and twos become zero with probability {dropped:g} beside their own noise. The two cancel in a table with "
        f"{balance:.4g} empty cells for each person who is alone in a cell or one of two."
    )
    return replace(design, rows=rows, notes=(*design.notes, note))


def _mixed(values: Sequence[int], weights: Sequence[int], chance: Fraction) -> IdealRow:
    """The row that shows the values in proportion to their weights with a chance, and nothing new otherwise."""
    stay, move = (chance.denominator - chance.numerator) * sum(weights), chance.numerator
    return row_from_weights(values, (stay, *(move * weight for weight in weights[1:])))


def _dropped(row: IdealRow, count: int, chance: Fraction) -> IdealRow:
    """A row that gives a chance more to zero: each weight in proportion, the value -count on top."""
    weights = row.exact_weights()
    if row.values[0] != -count:
        raise InfeasibleDesign(f"The row of count {count} never shows zero.", "Take a larger D or V.")
    kept = [weight * (chance.denominator - chance.numerator) for weight in weights]
    kept[0] += chance.numerator * sum(weights)
    return row_from_weights(row.values, kept)
